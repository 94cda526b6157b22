// Verification, keyboard first: a decision is one key; the next clips are loaded already, and no decision is lost.
import { ask, data, element, exemplarsOf, exemplarVideo, notify, path, problem, t } from "./workbench.js";
import { combobox } from "./combo.js";
import { exemplarSkeleton, isLandmarks, LandmarkPlayer, showSign, videoSkeleton } from "./skeleton.js";

const AHEAD = 4, FRAME = 0.04, CONTEXT = 1, REFRESH = 5000; // items that are loaded ahead; seconds; seconds before and after a sign; milliseconds
const work = document.getElementById("work"), which = document.getElementById("which"), nameDialog = document.getElementById("name"), nameField = document.getElementById("name-field");
const base = "/api/queues/" + data.queue, STORED = "signspot-decisions-" + data.queue;
let who = localStorage.getItem("signspot-who") || "", playing = !matchMedia("(prefers-reduced-motion: reduce)").matches;
let waiting = [], current = null, since = 0, count = 0, total = 0, half = false, fetching = null, pending = null, progress = null;

// Decisions that the server has not confirmed; they survive a reload of the page and a restart of the server.
const outbox = JSON.parse(localStorage.getItem(STORED) || "[]");
let sending = null;
function flush() {
  if (!sending) sending = drain().finally(() => { sending = null; });
  return sending;
}

async function drain() {
  while (outbox.length) {
    try {
      await ask("POST", base + "/decisions", outbox[0]);
      problem(null);
    } catch (error) {
      if (!error.status || error.status >= 500) { problem(t("offline")); setTimeout(flush, 1500); return; }
      problem(error);
    }
    outbox.shift();
    localStorage.setItem(STORED, JSON.stringify(outbox));
  }
  refreshProgress();
}

// "3 of 12", and how many decisions each person has made; other people work on the same queue.
async function refreshProgress() {
  clearTimeout(refreshProgress.timer);
  progress = await ask("GET", base + "/progress").catch(() => progress);
  showProgress();
  refreshProgress.timer = setTimeout(refreshProgress, REFRESH);
}

function showProgress() {
  if (!progress) return;
  const { items, people } = progress, decided = Math.min(items, progress.decided + outbox.length);
  document.getElementById("number").textContent = t("number_of", { number: current ? Math.min(decided + 1, items) : decided, items });
  Object.assign(document.getElementById("decided"), { max: Math.max(1, items), value: decided });
  document.getElementById("people").textContent = Object.entries(people).map(([name, number]) => `${name}: ${number}`).join(" · ");
}

// The player of an item: it repeats the sign with a second before and after, or more where the person asked for it.
function clip(item) {
  const spotting = item.spotting, begin = () => Math.max(0, spotting.start - item.before), end = () => spotting.end + item.after;
  Object.assign(item, { before: CONTEXT, after: CONTEXT });
  const player = isLandmarks(spotting.video)
    ? new LandmarkPlayer(element("canvas", { class: "skeleton", role: "img", "aria-label": spotting.video }), videoSkeleton(spotting.video))
    : element("video", { muted: true, playsInline: true, preload: "auto", src: "/api/media/" + path(spotting.video) });
  const first = () => { player.currentTime = Math.max(0, spotting.start - 0.4); }; // the first time without the whole second before
  if (player.root) player.time = Math.max(0, spotting.start - 0.4);
  else player.addEventListener("loadedmetadata", first);
  player.addEventListener("timeupdate", () => {
    if (player.currentTime > end() || player.currentTime < begin() - 0.5) player.currentTime = begin();
    if (current && current.player === player) showPosition(begin(), end());
  });
  player.addEventListener("ended", () => { player.currentTime = begin(); if (playing && current && current.player === player) player.play().catch(() => {}); }); // the video ends with the sign
  player.addEventListener("error", () => { player.replaceWith(element("p", { class: "no-video" }, spotting.video)); });
  return player;
}

// The bar below the clip: where the sign is in it, and what is playing now.
function showPosition(begin, end) {
  const { start, end: last } = current.spotting, share = (seconds) => `${Math.min(100, Math.max(0, (100 * (seconds - begin)) / (end - begin)))}%`;
  const sign = document.getElementById("clip-sign");
  sign.style.left = share(start);
  sign.style.width = `${(100 * (last - start)) / (end - begin)}%`;
  document.getElementById("clip-cursor").style.left = share(current.player.currentTime);
}

async function more() {
  if (fetching || !who) return fetching;
  const loaded = new Set([current, ...waiting].filter(Boolean).map((item) => item.item));
  const query = new URLSearchParams({ annotator: who, count: String(AHEAD + outbox.length) });
  const decided = new Set(outbox.map((decision) => decision.item));
  fetching = ask("POST", `${base}/next?${query}`).then((items) => {
    for (const item of items) if (!loaded.has(item.item) && !decided.has(item.item)) waiting.push({ ...item, player: null });
    for (const item of waiting) if (!item.player) item.player = clip(item);
  }).catch((error) => { problem(error.status ? error : t("offline")); setTimeout(more, 2000); }).finally(() => { fetching = null; });
  return fetching;
}

async function next() {
  which.hidden = true;
  if (!waiting.length) {
    work.hidden = true; // until an item is there
    await more();
  }
  current = waiting.shift() || null;
  work.hidden = !current;
  document.getElementById("finished").hidden = Boolean(current) || !who;
  showProgress();
  if (!current) { if (who) setTimeout(() => { if (!current) next(); }, 4000); return; }
  show();
  if (waiting.length < AHEAD - 1) more();
}

function show() {
  const spotting = current.spotting;
  document.getElementById("question").textContent = t("is_it", { word: spotting.word });
  document.getElementById("slot").replaceChildren(current.player.root || current.player);
  play();
  const confidence = spotting.confidence ? " · " + t(spotting.confidence) : "";
  document.getElementById("location").textContent = `${spotting.video}, ${clock(spotting.time, 2)} · ${t("score", { score: spotting.score.toFixed(2) })}${confidence}`;
  showModel(spotting);
  showSpan();
  since = performance.now();
}

// The exemplar that matched, or the first one of the word: video or skeleton.
let model = null;
async function showModel(spotting) {
  const video = document.getElementById("model"), canvas = document.getElementById("model-skeleton"), figure = video.closest("figure");
  const exemplars = data.dictionary ? await exemplarsOf(data.dictionary, spotting.word) : [];
  if (!current || current.spotting !== spotting) return;
  const exemplar = exemplars.find(({ id }) => id === spotting.exemplar) || exemplars[0];
  figure.hidden = !exemplar;
  if (!exemplar) return;
  document.getElementById("model-name").textContent = exemplar.id + (exemplar.variant ? " · " + exemplar.variant : "");
  if (!model || model.id !== exemplar.id) {
    if (model) model.player.pause();
    model = { id: exemplar.id, player: showSign(video, canvas, exemplar.playable ? exemplarVideo(data.dictionary, exemplar.id) : null, exemplarSkeleton(data.dictionary, exemplar.id)) };
    model.player.loop = true;
  }
  for (const part of [video, canvas]) part.classList.toggle("mirrored", exemplar.id === spotting.exemplar && spotting.mirrored);
  play();
}

// Both players play at the chosen speed, or pause.
function play() {
  for (const player of [current && current.player, model && model.player]) {
    if (!player) continue;
    player.playbackRate = half ? 0.5 : 1;
    if (playing) Promise.resolve(player.play()).catch(() => {});
    else player.pause();
  }
  document.getElementById("play").setAttribute("aria-pressed", String(playing));
}

function togglePlay() {
  playing = !playing;
  play();
}

function toggleHalf() {
  half = !half;
  document.getElementById("half").setAttribute("aria-pressed", String(half));
  play();
}

function showSpan() {
  document.getElementById("span").textContent = `${clock(current.spotting.start, 2)} – ${clock(current.spotting.end, 2)}`;
}

function shift(side, frames) {
  const spotting = current.spotting, value = Math.max(0, spotting[side] + frames * FRAME);
  if (side === "start" ? value < spotting.end : value > spotting.start) spotting[side] = Math.round(value * 1000) / 1000;
  showSpan();
  current.player.currentTime = side === "start" ? spotting.start : Math.max(spotting.start, spotting.end - 0.4);
}

// A second back or forward; what is repeated grows to include it.
function seek(seconds) {
  const { player, spotting } = current, wanted = Math.max(0, player.currentTime + seconds);
  current.before = Math.max(current.before, spotting.start - wanted);
  current.after = Math.max(current.after, wanted + CONTEXT - spotting.end);
  player.currentTime = wanted;
}

function decide(answer, word = "") {
  if (!current) return;
  if (!who) { askName(); return; }
  if (answer === "word" && !word) { which.hidden = false; pending = current; document.getElementById("which-word").focus(); return; }
  const seconds = (performance.now() - since) / 1000, spotting = current.spotting;
  outbox.push({ id: crypto.randomUUID ? crypto.randomUUID() : String(Math.random()).slice(2) + Date.now(), item: current.item, annotator: who, answer, word, start: spotting.start, end: spotting.end, seconds });
  localStorage.setItem(STORED, JSON.stringify(outbox));
  flush();
  count += 1;
  total += seconds;
  document.getElementById("tally").textContent = t("tally", { count, seconds: (total / count).toFixed(1) });
  current.player.pause();
  current = null;
  next();
}

async function undo() {
  await flush();
  if (outbox.length) return;
  try {
    const { item } = await ask("POST", `${base}/undo?${new URLSearchParams({ annotator: who })}`);
    if (!item) { notify(t("nothing_to_undo")); return; }
    if (current) { current.player.pause(); waiting.unshift(current); }
    waiting = waiting.filter((other) => other.item !== item.item);
    current = item;
    current.player = clip(current);
    work.hidden = false;
    document.getElementById("finished").hidden = true;
    show();
    notify(t("undone"));
    refreshProgress();
  } catch (error) { problem(error); }
}

// Decisions are stored with a name: the page asks for it once, and again on request.
function askName() {
  nameField.value = who;
  nameDialog.showModal();
  nameField.select();
}

nameDialog.addEventListener("cancel", (event) => { if (!who) event.preventDefault(); });
nameDialog.addEventListener("close", () => {
  const name = nameField.value.trim();
  if (!name) { if (!who) askName(); return; }
  if (name === who && current) return;
  who = name;
  localStorage.setItem("signspot-who", who);
  document.getElementById("who").textContent = who;
  if (current) current.player.pause();
  waiting = [];
  current = null;
  next();
});
document.getElementById("other-name").addEventListener("click", askName);
document.querySelectorAll("[data-answer]").forEach((button) => button.addEventListener("click", () => decide(button.dataset.answer)));
document.querySelectorAll("[data-shift]").forEach((button) => button.addEventListener("click", () => { const [side, frames] = button.dataset.shift.split(" "); shift(side, Number(frames)); }));
document.querySelectorAll("[data-seek]").forEach((button) => button.addEventListener("click", () => seek(Number(button.dataset.seek))));
document.getElementById("undo").addEventListener("click", undo);
document.getElementById("half").addEventListener("click", toggleHalf);
document.getElementById("play").addEventListener("click", togglePlay);
const field = document.getElementById("which-word");
function nameWord(word) {
  if (!word.trim() || pending !== current) return;
  field.value = "";
  field.blur();
  decide("word", word.trim());
}
combobox(field, document.getElementById("choices"), () => data.dictionary, nameWord);
which.addEventListener("submit", (event) => { event.preventDefault(); nameWord(field.value); });
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !which.hidden) { which.hidden = true; document.activeElement.blur(); return; }
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea, dialog") || (!current && event.key !== "z")) return;
  const answers = { y: "yes", n: "no", u: "unsure", v: "variant", w: "word" };
  const shifts = { "[": ["start", -1], "]": ["start", 1], ",": ["end", -1], ".": ["end", 1] };
  const seconds = { ArrowLeft: -1, ArrowRight: 1 };
  if (answers[event.key]) decide(answers[event.key]);
  else if (shifts[event.key]) shift(...shifts[event.key]);
  else if (seconds[event.key]) seek(seconds[event.key]);
  else if (event.key === "z") undo();
  else if (event.key === "h") toggleHalf();
  else if (event.key === "p") togglePlay();
  else return;
  event.preventDefault();
});
document.getElementById("who").textContent = who;
refreshProgress();
flush();
if (who) next();
else askName();
