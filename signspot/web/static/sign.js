// Sign to search: record with the camera, trim, and see the nearest words and locations, best first.
import { ask, element, exemplarThumbnail, exemplarVideo, path, problem, send, t, takeDrops } from "./workbench.js";
import { PageRecording } from "./page_recorder.js";
import { LiveRecording, openCamera, record } from "./recorder.js";
import { exemplarSkeleton, isLandmarks, livePreview, videoSkeleton } from "./skeleton.js";

const camera = document.getElementById("camera"), take = document.getElementById("take"), count = document.getElementById("count");
const dictionary = document.getElementById("dictionary"), button = document.getElementById("record"), trim = document.getElementById("trim");
const from = document.getElementById("from"), to = document.getElementById("to"), hint = document.getElementById("hint"), nothing = document.getElementById("nothing");
const inPage = document.getElementById("in-page"); // present if the server offers an estimator for the page
const LONGEST = 10; // seconds of a file that the page processes
let stream = null, file = null, seconds = 3, live = null, next = null, over = 0, searches = 0;
let early = null; // the search that began when the recording ended

async function open() {
  if (stream) return stream;
  stream = await openCamera();
  camera.srcObject = stream;
  next = newRecording(); // models are loaded while the person gets ready
  return stream;
}

const newRecording = () => (inPage && inPage.checked ? new PageRecording(camera, inView) : new LiveRecording(camera, inView));

// During the countdown: are person and hands visible?
function inView(visible) {
  if (!visible.processed || count.classList.contains("recording")) return;
  hint.textContent = !visible.person ? t("nobody") : visible.hands ? t("in_view") : t("no_hands");
}

async function start() {
  if (!dictionary.value) { problem(t("dictionary_first")); return; }
  problem(null);
  try { await open(); } catch { problem(t("no_camera")); return; }
  button.disabled = true;
  camera.hidden = false;
  take.hidden = true;
  if (live) live.remove();
  live = next && !next.error ? next : newRecording();
  next = null;
  seconds = Number(document.getElementById("seconds").value);
  const video = await record(live, stream, seconds, count, {
    loading: () => { hint.textContent = t("loading"); },
    started: () => { hint.textContent = t("go"); },
    ended: () => {
      over = performance.now();
      early = live.search(new URLSearchParams({ dictionary: dictionary.value })); // does not wait for the video
      early.catch(() => {}); // reported below
    },
  });
  button.disabled = false;
  await showTake(new File([video], "sign.webm"), seconds);
  next = newRecording();
}

async function showTake(recorded, length) {
  file = recorded;
  seconds = length;
  take.src = URL.createObjectURL(file);
  take.hidden = false;
  camera.hidden = true;
  if (!matchMedia("(prefers-reduced-motion: reduce)").matches) take.play().catch(() => {});
  from.value = "0";
  to.value = "100";
  trim.hidden = false;
  await search();
}

async function search() {
  const began = over || performance.now(), recording = live, begun = early;
  over = 0;
  early = null;
  nothing.hidden = false;
  nothing.textContent = t("searching");
  document.getElementById("unknown").hidden = true;
  problem(null);
  const query = new URLSearchParams({ dictionary: dictionary.value });
  if (from.value !== "0" || to.value !== "100") {
    query.set("start", String((Number(from.value) / 100) * seconds));
    query.set("end", String((Number(to.value) / 100) * seconds));
  }
  try {
    const answer = await (recording ? (begun || recording.search(query)).catch((error) => sendAgain(error, query)) : sendFile(query));
    nothing.hidden = true;
    show(answer, (performance.now() - began) / 1000);
  } catch (error) {
    nothing.textContent = "";
    problem(error);
  }
}

// The whole recording at once: of a file, or if the server could not process the frames.
function sendFile(query) {
  return send("PUT", `/api/sign?${query}&${new URLSearchParams({ name: file.name })}`, file);
}

function sendAgain(error, query) {
  if (live && live.stays) throw error; // its frames must not leave the page
  if (error.status === 422) throw error; // nobody is visible, or the word is unknown: the answer would be the same
  live = null;
  return sendFile(query);
}

function show(answer, took) {
  hint.textContent = answer.hands < 0.5 ? t("hands", { percent: Math.round(100 * answer.hands) }) : "";
  document.getElementById("unknown").hidden = answer.known;
  document.getElementById("words").replaceChildren(...answer.words.map((word) => wordCard(answer.dictionary, word)));
  document.getElementById("locations").replaceChildren(...answer.locations.map(locationCard));
  const timing = document.getElementById("timing");
  timing.textContent = answer.locations.length ? "" : t("no_location");
  timing.title = t("timing", answer.seconds);
  timing.dataset.seconds = took.toFixed(2);
  timing.dataset.turn = String(++searches);
}

function card(href, image, name, about, preview) {
  const item = element("li", { class: "card" });
  item.append(element("a", { href }, livePreview(item, image, preview), element("strong", {}, name)), element("span", { class: "quiet" }, about));
  return item;
}

function wordCard(name, match) {
  const image = element("img", { alt: "", src: exemplarThumbnail(name, match.exemplar) });
  const video = match.playable ? exemplarVideo(name, match.exemplar) : null;
  const about = t("score", { score: match.score.toFixed(2) }) + (match.mirrored ? " ⇋" : "");
  return card("/compare?" + new URLSearchParams({ dictionary: name, word: match.word }), image, match.word, about, { video, skeleton: exemplarSkeleton(name, match.exemplar) });
}

function locationCard(hit) {
  const image = element("img", { alt: "", loading: "lazy", src: `/api/thumbnail/video/${path(hit.video)}?time=${hit.time}` });
  const video = isLandmarks(hit.video) ? null : "/api/media/" + path(hit.video);
  const about = `${clock(hit.time, 2)} · ${t("score", { score: hit.score.toFixed(2) })}`;
  return card("/spot?" + new URLSearchParams({ video: hit.video, dictionary: dictionary.value, at: hit.start }), image, hit.video, about, { video, skeleton: videoSkeleton(hit.video), span: [hit.start, hit.end] });
}

async function useFile(chosen) {
  if (!chosen) return;
  const probe = element("video", { src: URL.createObjectURL(chosen), preload: "metadata" });
  const length = await new Promise((resolve) => { probe.onloadedmetadata = () => resolve(probe.duration); probe.onerror = () => resolve(3); });
  problem(null);
  if (live) live.remove();
  const usable = Number.isFinite(length) ? length : 3;
  live = inPage && inPage.checked ? new PageRecording(probe, () => {}) : null;
  if (live) {
    nothing.hidden = false;
    nothing.textContent = t("searching");
    await live.processFile(Math.min(usable, LONGEST));
  }
  showTake(chosen, usable);
}

button.addEventListener("click", start);
document.getElementById("again").addEventListener("click", search);
for (const slider of [from, to]) slider.addEventListener("input", () => {
  if (Number(from.value) > Number(to.value) - 10) { if (slider === from) from.value = String(Number(to.value) - 10); else to.value = String(Number(from.value) + 10); }
  take.currentTime = (Number(slider.value) / 100) * seconds;
});
take.addEventListener("timeupdate", () => {
  if (take.currentTime > (Number(to.value) / 100) * seconds + 0.05) take.currentTime = (Number(from.value) / 100) * seconds;
});
document.getElementById("clip").addEventListener("change", (event) => useFile(event.target.files[0]));
takeDrops((files) => useFile(files[0]));
// The exemplars are embedded before anybody signs, so that the answer comes at once.
const warm = () => dictionary.value && ask("POST", "/api/warm?" + new URLSearchParams({ dictionary: dictionary.value })).catch(() => {});
dictionary.addEventListener("change", warm);
addEventListener("pagehide", () => { for (const recording of [live, next]) if (recording && recording.id) fetch(`/api/recordings/${recording.id}`, { method: "DELETE", headers: { "X-Signspot": "1" }, keepalive: true }); });
if (inPage) inPage.addEventListener("change", () => {
  document.getElementById("sent").hidden = inPage.checked;
  document.getElementById("stays").hidden = !inPage.checked;
  if (next) next.remove();
  if (stream) next = newRecording();
});
warm();
open().catch(() => problem(t("no_camera")));
