// Verification, keyboard first: a decision is one key; the next clips are loaded already, and no decision is lost.
import { ask, data, element, exemplarFilm, path, problem, t, tell } from "./bench.js";
import { combobox } from "./combo.js";
import { exemplarBones, isBones, LandmarkFilm, onScreen, videoBones } from "./skeleton.js";

const AHEAD = 4, FRAME = 0.04, AROUND = 0.4;
const who = document.getElementById("who"), work = document.getElementById("work"), which = document.getElementById("which");
const base = "/api/queues/" + data.queue, KEPT = "signspot-decisions-" + data.queue;
let playing = !matchMedia("(prefers-reduced-motion: reduce)").matches;
let waiting = [], current = null, since = 0, count = 0, total = 0, half = false, fetching = null, pending = null;

who.value = localStorage.getItem("signspot-who") || "";

// Decisions that the server has not confirmed, also over a reload or a restart of the server.
const outbox = JSON.parse(localStorage.getItem(KEPT) || "[]");
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
    localStorage.setItem(KEPT, JSON.stringify(outbox));
  }
}

function clip(item) {
  if (isBones(item.spotting.video)) return bones(item);
  const film = element("video", { muted: true, playsInline: true, preload: "auto", src: "/api/media/" + path(item.spotting.video) });
  const begin = () => Math.max(0, item.spotting.start - AROUND);
  film.addEventListener("loadedmetadata", () => { film.currentTime = begin(); });
  film.addEventListener("timeupdate", () => { if (film.currentTime > item.spotting.end + AROUND || film.currentTime < begin() - 0.5) film.currentTime = begin(); });
  film.addEventListener("ended", () => { film.currentTime = begin(); if (playing && current && current.film === film) film.play().catch(() => {}); }); // a sign at the end of its video, or a slow machine
  film.addEventListener("error", () => { film.replaceWith(element("p", { class: "no-video" }, item.spotting.video)); });
  return film;
}

// A video that is landmarks alone: a skeleton moves.
function bones(item) {
  const canvas = element("canvas", { class: "bones", role: "img", "aria-label": item.spotting.video });
  const film = new LandmarkFilm(canvas, videoBones(item.spotting.video));
  film.time = Math.max(0, item.spotting.start - AROUND);
  film.addEventListener("timeupdate", () => { if (film.currentTime > item.spotting.end + AROUND) film.time = Math.max(0, item.spotting.start - AROUND); });
  return film;
}

async function more() {
  if (fetching || !who.value.trim()) return fetching;
  const known = new Set([current, ...waiting].filter(Boolean).map((item) => item.item));
  const query = new URLSearchParams({ annotator: who.value.trim(), count: String(AHEAD + outbox.length) });
  const decided = new Set(outbox.map((each) => each.item));
  fetching = ask("POST", `${base}/next?${query}`).then((items) => {
    for (const item of items) if (!known.has(item.item) && !decided.has(item.item)) waiting.push({ ...item, film: clip(item) });
  }).catch((error) => { problem(error.status ? error : t("offline")); setTimeout(more, 2000); }).finally(() => { fetching = null; });
  return fetching;
}

async function next() {
  which.hidden = true;
  if (!waiting.length) {
    work.hidden = true; // nothing to decide about until it is here
    await more();
  }
  current = waiting.shift() || null;
  work.hidden = !current;
  document.getElementById("finished").hidden = Boolean(current) || !who.value.trim();
  if (!current) { if (who.value.trim()) setTimeout(() => { if (!current) next(); }, 4000); return; }
  show();
  if (waiting.length < AHEAD - 1) more();
}

function show() {
  const spotting = current.spotting;
  document.getElementById("question").textContent = t("is_it", { word: spotting.word });
  document.getElementById("slot").replaceChildren(current.film.root || current.film);
  move();
  document.getElementById("place").textContent = `${spotting.video}, ${clock(spotting.time, 2)} · ${t("score", { score: spotting.score.toFixed(2) })}`;
  beside(spotting);
  span();
  since = performance.now();
}

// The exemplars of a word, asked for once.
const signs = new Map();
function exemplarsOf(word) {
  if (!signs.has(word)) signs.set(word, ask("GET", `/api/dictionaries/${path(data.dictionary)}/exemplars?${new URLSearchParams({ word })}`).catch(() => []));
  return signs.get(word);
}

// The exemplar that was found, or the word's first one: film or skeleton.
let model = null;
async function beside(spotting) {
  const video = document.getElementById("model"), canvas = document.getElementById("model-skeleton"), figure = video.closest("figure");
  const known = data.dictionary ? await exemplarsOf(spotting.word) : [];
  if (!current || current.spotting !== spotting) return;
  const exemplar = known.find((each) => each.id === spotting.exemplar) || known[0];
  figure.hidden = !exemplar;
  if (!exemplar) return;
  document.getElementById("model-name").textContent = exemplar.id + (exemplar.variant ? " · " + exemplar.variant : "");
  if (!model || model.of !== exemplar.id) {
    if (model) model.film.pause();
    model = { of: exemplar.id, film: onScreen(video, canvas, exemplar.film ? exemplarFilm(data.dictionary, exemplar.id) : null, exemplarBones(data.dictionary, exemplar.id)) };
    model.film.loop = true;
  }
  for (const each of [video, canvas]) each.classList.toggle("mirrored", exemplar.id === spotting.exemplar && spotting.mirrored);
  move();
}

// Both films move, at the chosen speed, or stand still.
function move() {
  for (const film of [current && current.film, model && model.film]) {
    if (!film) continue;
    film.playbackRate = half ? 0.5 : 1;
    if (playing) Promise.resolve(film.play()).catch(() => {});
    else film.pause();
  }
  document.getElementById("play").setAttribute("aria-pressed", String(playing));
}

function play() {
  playing = !playing;
  move();
}

function span() {
  document.getElementById("span").textContent = `${clock(current.spotting.start, 2)} – ${clock(current.spotting.end, 2)}`;
}

function shift(side, frames) {
  const spotting = current.spotting, value = Math.max(0, spotting[side] + frames * FRAME);
  if (side === "start" ? value < spotting.end : value > spotting.start) spotting[side] = Math.round(value * 1000) / 1000;
  span();
  current.film.currentTime = side === "start" ? spotting.start : Math.max(spotting.start, spotting.end - 0.4);
}

function decide(answer, word = "") {
  if (!current) return;
  if (!who.value.trim()) { problem(t("name_first")); who.focus(); return; }
  if (answer === "word" && !word) { which.hidden = false; pending = current; document.getElementById("which-word").focus(); return; }
  const seconds = (performance.now() - since) / 1000, spotting = current.spotting;
  outbox.push({ id: crypto.randomUUID ? crypto.randomUUID() : String(Math.random()).slice(2) + Date.now(), item: current.item, annotator: who.value.trim(), answer, word, start: spotting.start, end: spotting.end, seconds });
  localStorage.setItem(KEPT, JSON.stringify(outbox));
  flush();
  count += 1;
  total += seconds;
  document.getElementById("tally").textContent = t("tally", { count, seconds: (total / count).toFixed(1) });
  current.film.pause();
  current = null;
  next();
}

function slow() {
  half = !half;
  document.getElementById("half").setAttribute("aria-pressed", String(half));
  move();
}

async function undo() {
  await flush();
  if (outbox.length) return;
  try {
    const { item } = await ask("POST", `${base}/undo?${new URLSearchParams({ annotator: who.value.trim() })}`);
    if (!item) { tell(t("nothing_to_undo")); return; }
    if (current) { current.film.pause(); waiting.unshift(current); }
    waiting = waiting.filter((each) => each.item !== item.item);
    current = { ...item, film: clip(item) };
    work.hidden = false;
    document.getElementById("finished").hidden = true;
    show();
    tell(t("undone"));
  } catch (error) { problem(error); }
}

document.querySelectorAll("[data-answer]").forEach((button) => button.addEventListener("click", () => decide(button.dataset.answer)));
document.querySelectorAll("[data-shift]").forEach((button) => button.addEventListener("click", () => { const [side, frames] = button.dataset.shift.split(" "); shift(side, Number(frames)); }));
document.getElementById("undo").addEventListener("click", undo);
document.getElementById("half").addEventListener("click", slow);
document.getElementById("play").addEventListener("click", play);
const field = document.getElementById("which-word");
function named(word) {
  if (!word.trim() || pending !== current) return;
  field.value = "";
  field.blur();
  decide("word", word.trim());
}
combobox(field, document.getElementById("choices"), () => data.dictionary, named);
which.addEventListener("submit", (event) => { event.preventDefault(); named(field.value); });
who.addEventListener("change", () => {
  localStorage.setItem("signspot-who", who.value.trim());
  problem(null);
  waiting = [];
  current = null;
  who.blur();
  next();
});
who.addEventListener("keydown", (event) => { if (event.key === "Enter") who.blur(); });
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !which.hidden) { which.hidden = true; document.activeElement.blur(); return; }
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea") || !current && event.key !== "z") return;
  const answers = { y: "yes", n: "no", u: "unsure", v: "variant", w: "word" };
  const shifts = { "[": ["start", -1], "]": ["start", 1], ",": ["end", -1], ".": ["end", 1] };
  if (answers[event.key]) decide(answers[event.key]);
  else if (shifts[event.key]) shift(...shifts[event.key]);
  else if (event.key === "z") undo();
  else if (event.key === "h") slow();
  else if (event.key === "p") play();
  else return;
  event.preventDefault();
});
flush();
if (who.value.trim()) next();
else { problem(t("name_first")); who.focus(); }
