// Try it: two signs recorded twice, then a sentence; the server searches the sentence for the signs. The videos stay in
// this page, and their landmarks in the server's memory, unless the person keeps them as a first dictionary.
import { ask, busy, data, element, path, problem, send, submitOnce, t } from "./workbench.js";
import { LiveRecording, openCamera, record } from "./recorder.js";
import { Timeline } from "./timeline.js";

const SECONDS = 2.5, FEW_HANDS = 0.5; // of a recorded sign; share of frames with hands below which a recording is poor
const camera = document.getElementById("camera"), count = document.getElementById("count"), hint = document.getElementById("hint"), sentence = document.getElementById("sentence");
const buttons = [...document.querySelectorAll("[data-take]")], searchButton = document.getElementById("search"), keep = document.getElementById("keep");
const takes = new Map(); // button → { recording, video, hands }
let stream = null, next = null, timeline = null, hits = [], dictionary = ""; // the dictionary that was created

const step = (button) => button.closest("li");
const isSentence = (button) => "sentence" in step(button).dataset;
const word = (button) => step(button).querySelector("input").value.trim();

async function start() {
  problem(null);
  try { stream = await openCamera(); } catch { problem(t("no_camera_try")); return; }
  camera.srcObject = stream;
  next = new LiveRecording(camera, inView, true); // loads the models
  document.getElementById("start").hidden = true;
  update();
}

function inView(visible) {
  if (!visible.processed || count.classList.contains("recording")) return;
  hint.textContent = !visible.person ? t("nobody") : visible.hands ? t("in_view") : t("no_hands");
}

async function take(button) {
  problem(null);
  if (!isSentence(button) && !word(button)) { problem(t("word_needed")); step(button).querySelector("input").focus(); return; }
  camera.scrollIntoView({ block: "nearest" }); // the person sees themselves, and a video out of sight may give no frames
  const recording = next && !next.error ? next : new LiveRecording(camera, inView, true);
  next = null;
  for (const other of [...buttons, searchButton]) other.disabled = true;
  const seconds = isSentence(button) ? Number(step(button).querySelector("select").value) : SECONDS;
  try {
    const video = await record(recording, stream, seconds, count, {
      loading: () => { hint.textContent = t("loading"); },
      started: () => { hint.textContent = isSentence(button) ? t("sign_sentence") : t("sign_word", { word: word(button) }); },
      ended: () => { hint.textContent = t("processing"); },
    });
    const about = await recording.end();
    const former = takes.get(button);
    if (former) former.recording.remove();
    takes.set(button, { recording, video, hands: about.hands });
    button.classList.add("taken");
    hint.textContent = about.hands < FEW_HANDS ? t("hands", { percent: Math.round(100 * about.hands) }) : t("take_good");
  } catch (error) {
    recording.remove();
    hint.textContent = "";
    problem(error);
  }
  next = new LiveRecording(camera, inView, true);
  update();
}

// Which recordings are there, and which comes next.
function update() {
  for (const item of document.querySelectorAll("#steps li")) {
    const buttonsOfSign = [...item.querySelectorAll("[data-take]")], recorded = buttonsOfSign.filter((button) => takes.has(button)).length;
    item.querySelector("[data-state]").textContent = recorded ? t("takes", { recorded, all: buttonsOfSign.length }) : "";
    item.classList.toggle("done", recorded === buttonsOfSign.length);
  }
  for (const button of buttons) button.disabled = false;
  const missing = buttons.find((button) => !takes.has(button));
  searchButton.disabled = Boolean(missing);
  (missing || searchButton).focus({ preventScroll: true });
}

async function search() {
  const signs = buttons.filter((button) => !isSentence(button)).map((button) => ({ word: word(button), recording: takes.get(button).recording.id }));
  const last = takes.get(buttons.find(isSentence));
  problem(null);
  searchButton.disabled = true;
  try {
    show(await busy(ask("POST", "/api/trial", { signs, sentence: last.recording.id }), t("searching")), last.video);
  } catch (error) { problem(error); }
  searchButton.disabled = false;
}

// What was found, what only may be, and what was not found at all.
function show(answer, video) {
  const above = (entry) => entry.hits.filter((hit) => hit.score >= entry.threshold);
  hits = answer.words.flatMap((entry) => {
    const sure = above(entry), best = [...entry.hits].sort((a, b) => b.score - a.score).slice(0, 1);
    return (sure.length ? sure : best.map((hit) => ({ ...hit, confidence: "check" }))).map((hit, index) => ({ ...hit, key: `${hit.word} ${index}` }));
  }).sort((a, b) => a.time - b.time);
  const lines = answer.words.map((entry) => {
    const number = above(entry).filter((hit) => hit.confidence !== "check").length;
    return number ? t("found_word", { word: entry.word, number }) : entry.hits.length ? t("perhaps_word", { word: entry.word }) : t("missing_word", { word: entry.word });
  });
  document.getElementById("results").hidden = false;
  document.getElementById("summary").textContent = lines.join(" ");
  sentence.src = URL.createObjectURL(video);
  document.getElementById("rows").replaceChildren(...hits.map(row));
  timeline = new Timeline(document.getElementById("timeline"), answer.duration, { go: (seconds) => { sentence.currentTime = seconds; }, choose: jump, viewed: () => {} });
  timeline.set(hits, answer.words.map((entry) => entry.word));
  document.getElementById("results-title").scrollIntoView({ block: "start" });
}

function row(hit) {
  const button = element("button", { "aria-label": t("play_at", { word: hit.word, time: clock(hit.time, 2) }) }, clock(hit.time, 2));
  const line = element("tr", {}, element("td", {}, button), element("td", {}, hit.word), element("td", {}, hit.score.toFixed(2)), element("td", { class: hit.confidence || "" }, hit.confidence ? t(hit.confidence) : ""));
  line.addEventListener("click", () => jump(hit));
  return line;
}

function jump(hit) {
  timeline.choose(hit);
  sentence.currentTime = hit.start;
  sentence.play().catch(() => {});
}

function follow() {
  if (timeline) timeline.at(sentence.currentTime);
  if (!sentence.paused) requestAnimationFrame(follow);
}

// Uploads the videos: signs into a new dictionary, the sentence into the folder.
async function keepAll({ name, signer }) {
  for (const button of buttons.filter((other) => !takes.get(other).stored)) { // after an error it goes on where it was
    const take = takes.get(button), { video } = take, suffix = video.type.includes("mp4") ? "mp4" : "webm";
    if (isSentence(button)) {
      const stored = await busy(send("PUT", `/api/uploads/${encodeURIComponent(`${t("sentence_file")}.${suffix}`)}`, video), t("adding", { name: t("sentence_file") }));
      await ask("POST", "/api/jobs", { kind: "prepare", video: stored.name });
    } else {
      const query = new URLSearchParams({ word: word(button), signer, file: `${button.dataset.take}.${suffix}`, ...(dictionary ? {} : { new: "true" }) });
      await busy(send("PUT", `/api/dictionaries/${path(dictionary || name.trim())}/exemplar?${query}`, video), t("adding", { name: word(button) }));
      dictionary = dictionary || name.trim();
    }
    take.stored = true;
  }
  forget();
  location.href = "/dictionary?" + new URLSearchParams({ name: dictionary });
}

function forget() {
  for (const { recording } of takes.values()) recording.remove();
  takes.clear();
}

function discard() {
  forget();
  hits = [];
  document.getElementById("results").hidden = true;
  sentence.removeAttribute("src");
  sentence.load();
  for (const button of buttons) button.classList.remove("taken");
  hint.textContent = t("discarded");
  update();
}

for (const button of buttons) button.addEventListener("click", () => take(button));
searchButton.addEventListener("click", search);
sentence.addEventListener("play", follow);
sentence.addEventListener("seeked", follow);
if (keep) {
  submitOnce(keep, keepAll);
  document.getElementById("discard").addEventListener("click", discard);
}
addEventListener("resize", () => { if (timeline) timeline.view(timeline.from, timeline.to); });
addEventListener("pagehide", () => { for (const recording of [next, ...[...takes.values()].map((entry) => entry.recording)]) if (recording && recording.id) fetch(`/api/recordings/${recording.id}`, { method: "DELETE", headers: { "X-Signspot": "1" }, keepalive: true }); });
document.getElementById("start").addEventListener("click", start);
