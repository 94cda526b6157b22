// The spot page: player and curves move together; hits, exemplars beside them, subtitles, exports.
import { ask, busy, data, download, element, exemplarFilm, path, problem, send, t, takeDrops, tell } from "./bench.js";
import { combobox } from "./combo.js";
import { shownRate, WordPanel } from "./curves.js";
import { exemplarBones, isBones, LandmarkFilm, onScreen, Skeleton, videoBones } from "./skeleton.js";

const FRAME = 1 / 25, MOST_ROWS = 300, SOME_ROWS = 30; // of the table, and of it while a threshold is dragged
const bones = videoBones(data.video), canvas = document.getElementById("skeleton");
const film = document.getElementById("film") || (canvas ? new LandmarkFilm(canvas, bones) : null), rows = document.getElementById("rows");
const signs = document.getElementById("dictionary"), input = document.getElementById("word");
let known = new Map(), rest = 0; // hit → its row; timer of the whole table
const keep = document.getElementById("keep"); // the chosen hit as an exemplar
let turn = 0, result = null, panels = [], from = 0, to = 1, time = 0, chosen = null, lines = [], scheduled = false;

const skeleton = data.film ? new Skeleton(canvas, film, bones) : null;

function hits() {
  return panels.flatMap((panel) => panel.above).sort((a, b) => a.time - b.time);
}

function go(seconds, play) {
  time = Math.min(Math.max(seconds, 0), result ? result.duration : 1e9);
  if (film) {
    film.currentTime = time;
    if (play) film.play().catch(() => {});
  }
  show();
}

function jump(hit) {
  chosen = hit;
  for (const panel of panels) panel.choose(panel.hits.includes(hit) ? hit : null);
  go(hit.start, true);
  beside(hit);
  if (keep) { keep.hidden = false; keep.elements.word.value = result.clip === undefined ? hit.word : ""; }
  table();
}

function show() {
  for (const panel of panels) panel.at(time);
  const here = hits().filter((hit) => hit.start <= time && time < hit.end);
  const now = document.getElementById("now"), text = here.map((hit) => hit.word + "  " + hit.score.toFixed(2)).join(" · ");
  if (now && now.textContent !== text) now.textContent = text;
  for (const line of lines) line.item.classList.toggle("now", line.start <= time && time < line.end);
  for (const row of rows ? rows.children : []) row.classList.toggle("now", Number(row.dataset.start) <= time && time < Number(row.dataset.end));
  if (skeleton && skeleton.on) skeleton.draw(time);
  if (result && film && !film.paused && (time < from || time > to)) view(time - (to - from) / 4, time + (3 * (to - from)) / 4);
}

function row(hit) {
  const button = element("button", { "aria-label": t("play_at", { word: hit.word, time: clock(hit.time, 2) }) }, clock(hit.time, 2));
  const made = element("tr", { "aria-selected": String(hit === chosen), "data-start": String(hit.start), "data-end": String(hit.end) });
  const rate = hit.false_alarms_per_hour === null ? "" : shownRate(hit.false_alarms_per_hour);
  made.append(element("td", {}, button), element("td", {}, hit.word + (hit.mirrored ? " ⇋" : "")), element("td", {}, hit.score.toFixed(2)), element("td", {}, rate));
  made.addEventListener("click", () => jump(hit));
  made.hit = hit;
  known.set(hit, made);
  return made;
}

function table(most = MOST_ROWS) {
  scheduled = false;
  if (!rows) return;
  const found = hits();
  rows.replaceChildren(...found.slice(0, most).map((hit) => known.get(hit) || row(hit)));
  for (const made of rows.children) made.setAttribute("aria-selected", String(made.hit === chosen));
  const nothing = document.getElementById("nothing");
  nothing.hidden = found.length > 0;
  if (result) nothing.textContent = t("no_hits");
  document.getElementById("export").hidden = !result;
}

// While a threshold is dragged, peaks and promise change with every frame; the table follows a moment later.
function later() {
  clearTimeout(rest);
  rest = setTimeout(() => requestAnimationFrame(() => table()), 300);
  if (!scheduled) { scheduled = true; setTimeout(() => requestAnimationFrame(() => table(SOME_ROWS)), 120); }
}

function view(a, b) {
  const whole = result.duration, span = Math.min(b - a, whole);
  from = Math.min(Math.max(0, a), whole - span);
  to = from + span;
  for (const panel of panels) panel.show(from, to);
  const pan = document.getElementById("pan");
  pan.hidden = span >= whole - 1e-6;
  pan.value = String(Math.round((1000 * from) / Math.max(1e-6, whole - span)));
}

function zoom(factor) {
  if (!result) return;
  const span = Math.min(Math.max((to - from) / factor, Math.min(4, result.duration)), result.duration);
  const middle = time >= from && time <= to ? time : (from + to) / 2;
  view(middle - span / 2, middle + span / 2);
}

function drawn(found) {
  result = found;
  chosen = null;
  known = new Map();
  const hooks = { jump, go: (seconds) => go(seconds, true), moved: later, changed: later, edited: (hit) => { known.delete(hit); later(); beside(hit); } };
  panels = found.words.map((word) => new WordPanel(word, found, hooks));
  document.getElementById("panels").replaceChildren(...panels.map((panel) => panel.root));
  document.getElementById("beside").hidden = true;
  if (keep) keep.hidden = true;
  view(0, Math.max(found.duration, FRAME));
  table();
}

async function search(word) {
  if (!data.video || !signs.value || !word.trim()) return;
  problem(null);
  const asked = ++turn, nothing = document.getElementById("nothing");
  nothing.hidden = false;
  nothing.textContent = data.ready === false ? t("preparing") : t("searching");
  rows.replaceChildren();
  const words = word.split(",").map((each) => each.trim()).filter(Boolean);
  const query = new URLSearchParams([["dictionary", signs.value], ...words.map((each) => ["word", each])]);
  try {
    const found = await ask("GET", `/api/spot/${path(data.video)}?${query}`);
    data.ready = true;
    if (asked !== turn) return; // something else was asked for meanwhile
    drawn(found);
    history.replaceState(null, "", "/spot?" + new URLSearchParams({ video: data.video, dictionary: signs.value, word }));
  } catch (error) {
    if (asked !== turn) return;
    nothing.textContent = "";
    problem(error);
  }
}

async function searchClip(file) {
  if (!file) return;
  if (!data.video) { problem(t("video_first")); return; }
  problem(null);
  input.value = "";
  const number = ++turn;
  const query = new URLSearchParams({ name: file.name });
  const clip = isBones(file.name) ? null : URL.createObjectURL(file);
  const asked = send("PUT", `/api/clips/${path(data.video)}?${query}`, file).then((found) => { if (number === turn) drawn({ ...found, clip }); });
  await busy(asked, data.ready === false ? t("preparing") : t("searching_clip", { name: file.name })).catch(problem);
}

// The chosen hit beside its exemplar, at half speed, again and again; moments that look the same are shown together.
const pair = { hit: null, frame: 0 };
function beside(hit) {
  const place = document.getElementById("beside"), own = document.getElementById("hit-film"), other = document.getElementById("exemplar-film");
  const word = result.words.find((each) => each.word === hit.word);
  const exemplar = word && word.exemplars.find((each) => each.id === hit.exemplar);
  if (!exemplar || (!result.dictionary && !result.clip)) { place.hidden = true; return; }
  place.hidden = false;
  const address = result.clip || (exemplar.film ? exemplarFilm(result.dictionary, exemplar.id) : null);
  const shown = { own: data.film ? film.src : null, other: address, exemplar: exemplar.id };
  if (JSON.stringify(shown) !== pair.shown) {
    for (const each of [pair.own, pair.other]) if (each) each.pause();
    const screens = [document.getElementById("hit-skeleton"), document.getElementById("exemplar-skeleton")];
    pair.own = onScreen(own, screens[0], shown.own, bones);
    pair.other = onScreen(other, screens[1], address, exemplarBones(result.dictionary, exemplar.id));
    small.hit = data.film ? new Skeleton(screens[0], own, bones) : null;
    small.exemplar = address && !result.clip ? new Skeleton(screens[1], other, exemplarBones(result.dictionary, exemplar.id)) : null;
    pair.shown = JSON.stringify(shown);
  }
  for (const each of [other, document.getElementById("exemplar-skeleton")]) each.classList.toggle("mirrored", hit.mirrored);
  document.getElementById("hit-name").textContent = `${hit.word}, ${clock(hit.start, 2)}–${clock(hit.end, 2)}`;
  document.getElementById("exemplar-name").textContent = exemplar.id + (exemplar.variant ? " · " + exemplar.variant : "");
  const span = exemplar.segment || [0, other.duration || 1];
  const again = pair.hit === hit; // its edges move: what was known of its moments stays until it is known anew
  Object.assign(pair, { hit, span, shares: again ? pair.shares : [0, 1] });
  const query = new URLSearchParams({ dictionary: result.dictionary, exemplar: exemplar.id, start: hit.start, end: hit.end, mirrored: hit.mirrored });
  clearTimeout(pair.asking);
  const asked = () => ask("GET", `/api/alignment/${path(data.video)}?${query}`).then((found) => { if (pair.hit === hit) pair.shares = found.shares; }).catch(() => {});
  if (result.dictionary) pair.asking = setTimeout(asked, again ? 300 : 0);
  pair.own.currentTime = hit.start;
  pair.other.currentTime = span[0];
  pair.own.playbackRate = 0.5;
  movePair();
  cancelAnimationFrame(pair.frame);
  pair.frame = requestAnimationFrame(follow);
}

// Both move, or stand still; for whom movement is too much they do until they are asked to.
let moving = !matchMedia("(prefers-reduced-motion: reduce)").matches;
function movePair() {
  document.getElementById("pair-play").setAttribute("aria-pressed", String(moving));
  if (moving) Promise.resolve(pair.own.play()).catch(() => {});
  else pair.own.pause();
}

const small = { hit: null, exemplar: null }; // skeletons over the two films
function follow() {
  const { hit, own, other, span } = pair;
  if (!hit || document.getElementById("beside").hidden) return;
  if (own.currentTime >= hit.end || own.currentTime < hit.start - 0.2) own.currentTime = hit.start;
  const share = Math.min(1, Math.max(0, (own.currentTime - hit.start) / Math.max(0.04, hit.end - hit.start)));
  const place = share * (pair.shares.length - 1), below = Math.floor(place), above = Math.min(below + 1, pair.shares.length - 1);
  const aligned = pair.shares[below] + (place - below) * (pair.shares[above] - pair.shares[below]);
  const wanted = span[0] + aligned * (span[1] - span[0]);
  if (Math.abs(other.currentTime - wanted) > 0.03 && !other.seeking) other.currentTime = wanted;
  for (const [each, video] of [[small.hit, own], [small.exemplar, other]]) {
    if (!each || !(each.on || skeletons())) continue;
    each.on = skeletons();
    each.draw(video.currentTime);
  }
  pair.frame = requestAnimationFrame(follow);
}

const skeletons = () => Boolean(skeleton && skeleton.on);

async function keepHit(event) {
  event.preventDefault();
  const word = keep.elements.word.value.trim(), body = { video: data.video, start: chosen.start, end: chosen.end, word };
  try {
    const made = await busy(ask("POST", `/api/dictionaries/${path(signs.value)}/cut`, body), t("cutting"));
    tell(t("kept_exemplar", { id: made.id, dictionary: signs.value }));
  } catch (error) { problem(error); }
}

async function subtitles() {
  const list = document.getElementById("subtitles");
  if (!list || !signs.value) return;
  const found = await ask("GET", `/api/mentions/${path(data.video)}?${new URLSearchParams({ dictionary: signs.value })}`).catch(() => []);
  lines = found.map((line) => {
    const text = element("span"), jumpTo = element("button", {}, clock(line.start, 0));
    jumpTo.addEventListener("click", () => go(line.start, true));
    let at = 0;
    for (const word of line.words) {
      const button = element("button", {}, line.text.slice(word.start, word.end));
      button.addEventListener("click", () => { input.value = word.word; go(line.start, false); search(word.word); });
      text.append(line.text.slice(at, word.start), button);
      at = word.end;
    }
    text.append(line.text.slice(at));
    return { ...line, item: element("li", {}, jumpTo, text) };
  });
  list.replaceChildren(...lines.map((line) => line.item));
}

function neighbour(direction) {
  const found = hits();
  const next = direction > 0 ? found.find((hit) => hit.start > time + 0.01) : found.filter((hit) => hit.start < time - 0.5).pop();
  if (next) jump(next);
}

async function exportAs(format) {
  const answer = await fetch("/api/export", {
    method: "POST",
    headers: { "X-Signspot": "1", "Content-Type": "application/json" },
    body: JSON.stringify({ name: data.video.replace(/\.[^.]*$/, "").replaceAll("/", "-"), format, rows: hits().map((hit) => ({ ...hit, video: data.video })) }),
  });
  if (answer.ok) return download(answer);
  const said = await answer.json().catch(() => ({}));
  problem(new Error(said.error || answer.statusText));
}

async function toQueue() {
  const found = hits().map((hit) => ({ ...hit, video: data.video }));
  const name = data.video + ": " + result.words.map((word) => word.word).join(", ");
  try {
    const made = await ask("POST", "/api/queues", { name: name.slice(0, 100), dictionary: result.dictionary, rows: found });
    location.href = "/verify/" + made.id;
  } catch (error) { problem(error); }
}

function pressed(id, act) {
  const button = document.getElementById(id);
  if (button) button.addEventListener("click", async () => button.setAttribute("aria-pressed", String(await act())));
}

document.getElementById("ask").addEventListener("submit", (event) => { event.preventDefault(); search(input.value); });
document.getElementById("video-choice").addEventListener("change", (event) => {
  location.href = "/spot?" + new URLSearchParams({ video: event.target.value, dictionary: signs.value, word: input.value });
});
signs.addEventListener("change", () => { subtitles(); search(input.value); });
combobox(input, document.getElementById("choices"), () => signs.value, search);
document.getElementById("clip").addEventListener("change", (event) => searchClip(event.target.files[0]));
takeDrops((files) => searchClip(files[0]));
if (keep) keep.addEventListener("submit", keepHit);

if (data.video) {
  document.getElementById("in").addEventListener("click", () => zoom(2));
  document.getElementById("out").addEventListener("click", () => zoom(0.5));
  document.getElementById("pan").addEventListener("input", (event) => { const start = (event.target.value / 1000) * (result.duration - (to - from)); view(start, start + to - from); });
  document.querySelectorAll("[data-format]").forEach((button) => button.addEventListener("click", () => exportAs(button.dataset.format)));
  const queue = document.getElementById("to-queue");
  if (queue) queue.addEventListener("click", toQueue);
  if (!data.film) {
    film.currentTime = 0;
    pressed("play", () => { if (film.paused) film.play(); else film.pause(); return !film.paused; });
  } else pressed("show-skeleton", async () => { const on = await skeleton.toggle(); if (skeleton.error) { problem(skeleton.error); skeleton.error = null; } return on; });
  pressed("half", () => { film.playbackRate = film.playbackRate === 1 ? 0.5 : 1; return film.playbackRate < 1; });
  pressed("pair-play", () => { moving = !moving; movePair(); return moving; });
  pressed("loop", () => (data.loop = !data.loop));
  subtitles();
  if (data.word) search(data.word);
  const at = Number(new URLSearchParams(location.search).get("at"));
  if (at > 0 && film) go(at, false);
}
if (film) {
  let watching = 0; // one turn per frame, however often the film is sought
  const watch = () => {
    cancelAnimationFrame(watching);
    time = film.currentTime;
    if (!data.film && result && time > result.duration) film.pause();
    if (data.loop && chosen && time >= chosen.end) film.currentTime = chosen.start;
    show();
    if (!film.paused) watching = requestAnimationFrame(watch);
  };
  film.addEventListener("play", watch);
  film.addEventListener("seeked", watch);
}
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea, dialog")) return;
  const onControl = event.target.closest("button, video, a, [role=button], [role=slider]");
  if (event.key === "n") neighbour(1);
  else if (event.key === "p") neighbour(-1);
  else if (event.key === "+" || event.key === "=") zoom(2);
  else if (event.key === "-") zoom(0.5);
  else if (event.key === "ArrowRight" && event.target !== film) go(time + FRAME, false);
  else if (event.key === "ArrowLeft" && event.target !== film) go(time - FRAME, false);
  else if (event.key === " " && !onControl && film) film.paused ? film.play().catch(() => {}) : film.pause();
  else return;
  event.preventDefault();
});
addEventListener("resize", () => { if (result) view(from, to); });
