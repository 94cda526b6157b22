// The spot page: video, timeline and curves move together; hits, exemplars beside them, signs edited by hand, subtitles, exports.
import { ask, busy, clickOnce, data, download, element, exemplarSign, exemplarsOf, exemplarVideo, notify, path, problem, send, t, takeDrops } from "./workbench.js";
import { combobox } from "./combo.js";
import { WordPanel } from "./curves.js";
import { exemplarSkeleton, isLandmarks, LandmarkPlayer, showSign, Skeleton, videoSkeleton } from "./skeleton.js";
import { scrollIntoList, Timeline } from "./timeline.js";

const FRAME = 1 / 25, NEW_SIGN = 0.6, MOST_ROWS = 300, SOME_ROWS = 30; // seconds; rows of the table, and of it while a threshold is dragged
const skeletonAddress = videoSkeleton(data.video), canvas = document.getElementById("skeleton");
const video = document.getElementById("video") || (canvas ? new LandmarkPlayer(canvas, skeletonAddress) : null), rows = document.getElementById("rows");
const dictionary = document.getElementById("dictionary"), input = document.getElementById("word"), form = document.getElementById("sign"), confirmed = document.getElementById("confirmed"), filter = document.getElementById("filter");
const skeleton = data.playable ? new Skeleton(canvas, video, skeletonAddress) : null;
let searches = 0, result = null, panels = [], time = 0, chosen = null, lines = [], scheduled = false, rest = 0, timeline = null;
let edits = [], version = 0, undone = [], done = [], saving = null; // signs edited by hand, and earlier and later lists of them

// A spotting is identified by what was found, so that an edit of it is found again after another search.
const originOf = (hit) => `${hit.word}|${hit.time.toFixed(3)}|${hit.exemplar}`;
const hitsOf = () => (panels.length ? panels.flatMap((panel) => panel.above) : (result ? result.words : []).flatMap((word) => word.hits));

// Whether the filters let a sign pass; what a person edited counts as sure.
function passes(sign, word, confidence) {
  if (word && !sign.word.toLowerCase().includes(word)) return false;
  const allowed = { sure: ["sure"], likely: ["sure", "likely"], hand: [] }[confidence];
  return !allowed || Boolean(sign.id) || allowed.includes(sign.confidence);
}

// What the page shows: hits above the thresholds unless a person changed them, and the signs edited by hand, by time.
function signs() {
  const changed = new Set(edits.map((sign) => sign.origin));
  const hits = hitsOf().filter((hit) => !changed.has(originOf(hit)));
  for (const hit of hits) hit.key = originOf(hit);
  const word = filter.elements.word.value.trim().toLowerCase(), confidence = filter.elements.confidence.value;
  return [...hits, ...edits.filter((sign) => !sign.deleted)].filter((sign) => passes(sign, word, confidence)).sort((a, b) => a.time - b.time);
}

function go(seconds, play) {
  time = Math.min(Math.max(seconds, 0), timeline ? timeline.duration : 1e9);
  if (video) {
    video.currentTime = time;
    if (play) video.play().catch(() => {});
  }
  show();
}

function jump(sign, play = true) {
  chosen = sign;
  for (const panel of panels) panel.choose(panel.hits.includes(sign) ? sign : null);
  if (timeline) timeline.chosen = sign;
  go(sign.start, play);
  beside(sign);
  fill();
  table();
  reveal();
}

// The chosen sign is visible in the table and on the timeline.
function reveal() {
  if (timeline) timeline.reveal();
  const list = rows.closest("section");
  scrollIntoList(list, rows.querySelector('[aria-selected="true"]'), list.querySelector("thead").offsetHeight);
}

// The cursor, the current rows and the current subtitle follow the video.
function show() {
  for (const panel of panels) panel.at(time);
  if (timeline) {
    timeline.at(time);
    if (video && !video.paused && (time < timeline.from || time > timeline.to)) timeline.view(time - (timeline.to - timeline.from) / 4, time + (3 * (timeline.to - timeline.from)) / 4);
  }
  const here = signs().filter((sign) => sign.start <= time && time < sign.end);
  const now = document.getElementById("now"), text = here.map((sign) => sign.word + "  " + sign.score.toFixed(2)).join(" · ");
  if (now && now.textContent !== text) now.textContent = text;
  for (const line of lines) line.item.classList.toggle("now", line.start <= time && time < line.end);
  for (const row of rows ? rows.children : []) row.classList.toggle("now", Number(row.dataset.start) <= time && time < Number(row.dataset.end));
  if (skeleton && skeleton.on) skeleton.draw(time);
}

function row(sign) {
  const button = element("button", { "aria-label": t("play_at", { word: sign.word, time: clock(sign.time, 2) }) }, clock(sign.time, 2));
  const confidence = sign.id ? t("by_hand") : sign.confidence ? t(sign.confidence) : "";
  const line = element("tr", { "aria-selected": String(sign === chosen), "data-start": String(sign.start), "data-end": String(sign.end), ...(sign.note ? { title: sign.note } : {}) });
  line.append(element("td", {}, button), element("td", {}, sign.word + (sign.mirrored ? " ⇋" : "") + (sign.note ? " ✎" : "")), element("td", {}, sign.score.toFixed(2)), element("td", { class: sign.confidence || "" }, confidence));
  line.addEventListener("click", () => jump(sign));
  return line;
}

function table(most = MOST_ROWS) {
  scheduled = false;
  if (!rows) return;
  const listed = signs();
  rows.replaceChildren(...listed.slice(0, most).map(row));
  const nothing = document.getElementById("nothing");
  nothing.hidden = listed.length > 0;
  if (result) nothing.textContent = hitsOf().length || edits.length ? t("filtered") : t("no_hits");
  document.getElementById("count").textContent = listed.length > most ? t("first_of", { most, count: listed.length }) : "";
  document.getElementById("export").hidden = !listed.length;
  if (timeline) timeline.set(listed, result ? result.words.map((word) => word.word) : []);
}

// While a threshold is dragged, peaks change with every frame; the table follows a moment later.
function later() {
  clearTimeout(rest);
  rest = setTimeout(() => requestAnimationFrame(() => table()), 300);
  if (!scheduled) { scheduled = true; setTimeout(() => requestAnimationFrame(() => table(SOME_ROWS)), 120); }
}

function startTimeline(duration) {
  const hooks = { go: (seconds) => go(seconds, false), choose: jump, viewed: (from, to) => { for (const panel of panels) panel.show(from, to); } };
  if (form) Object.assign(hooks, { change, add, remove });
  timeline = new Timeline(document.getElementById("timeline"), duration, hooks);
  document.getElementById("timeline-section").hidden = false;
}

function showResult(answer) {
  result = answer;
  chosen = null;
  startTimeline(answer.duration);
  panels = answer.words.filter((word) => word.exemplars.length).map((word) => new WordPanel(word, answer, { jump, go: (seconds) => go(seconds, true), moved: later }));
  document.getElementById("panels").replaceChildren(...panels.map((panel) => panel.root));
  document.getElementById("curves").hidden = !panels.length;
  document.getElementById("beside").hidden = true;
  fill();
  timeline.view(0, answer.duration);
  table();
}

// Searches for words, or for all words of the dictionary.
async function search(words) {
  if (!data.video) { problem(t("video_first")); return; }
  if (!dictionary.value) { problem(t("dictionary_first")); return; }
  problem(null);
  const number = ++searches, nothing = document.getElementById("nothing");
  nothing.hidden = false;
  nothing.textContent = data.ready === false ? t("preparing") : t("searching");
  rows.replaceChildren();
  const query = new URLSearchParams([["dictionary", dictionary.value], ["confirmed", confirmed.checked], ...words.map((word) => ["word", word])]);
  try {
    const answer = await ask("GET", `/api/spot/${path(data.video)}?${query}`);
    data.ready = true;
    if (number !== searches) return; // another search was started in the meantime
    showResult(answer);
    const asked = words.length ? { word: words.join(", ") } : { all: "1" };
    history.replaceState(null, "", "/spot?" + new URLSearchParams({ video: data.video, dictionary: dictionary.value, ...asked }));
  } catch (error) {
    if (number !== searches) return;
    nothing.textContent = "";
    problem(error);
  }
}

function searchTyped(text) {
  const words = text.split(",").map((word) => word.trim()).filter(Boolean);
  if (words.length) return search(words);
  problem(t("word_needed"));
  input.focus();
}

async function searchClip(file) {
  if (!file) return;
  if (!data.video) { problem(t("video_first")); return; }
  problem(null);
  input.value = "";
  const number = ++searches, clip = isLandmarks(file.name) ? null : URL.createObjectURL(file);
  const asked = send("PUT", `/api/clips/${path(data.video)}?${new URLSearchParams({ name: file.name })}`, file).then((answer) => { if (number === searches) showResult({ ...answer, clip }); });
  await busy(asked, data.ready === false ? t("preparing") : t("searching_clip", { name: file.name })).catch(problem);
}

// Signs edited by hand. Every change is stored on the server; undo and redo go through the lists of this visit.
function edit(next, selected = chosen) {
  done.push(edits);
  undone = [];
  apply(next, selected);
}

function apply(next, selected) {
  edits = next;
  chosen = selected && (signs().find((sign) => sign.key === selected.key) || null);
  if (timeline) timeline.chosen = chosen;
  table();
  reveal();
  fill();
  if (chosen) beside(chosen);
  else document.getElementById("beside").hidden = true;
  save();
}

const newId = () => Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, "0")).join("");

function change(sign, values) {
  const id = sign.id || newId(), origin = sign.id ? sign.origin : originOf(sign);
  const edited = { ...sign, ...values, id, key: id, origin, source: "V", decision: "yes" };
  edited.time = milliseconds((edited.start + edited.end) / 2);
  const focused = document.activeElement && document.activeElement.dataset.focus === "sign " + sign.key;
  edit([...edits.filter((other) => other.id !== id), edited], edited);
  if (focused) timeline.focus(edited);
}

function add(word, start, end) {
  const id = newId();
  const sign = { id, key: id, origin: "", word, video: data.video, time: (start + end) / 2, start, end, score: 1, exemplar: "", variant: "", mirrored: false, source: "V", decision: "yes", note: "", confidence: "", false_alarms_per_hour: null };
  edit([...edits, sign], sign);
  go(start, false);
}

function remove(sign) {
  if (!sign) return;
  if (sign.id && !sign.origin) edit(edits.filter((other) => other.id !== sign.id), null);
  else edit([...edits.filter((other) => other.id !== sign.id), { ...sign, id: sign.id || newId(), origin: sign.id ? sign.origin : originOf(sign), deleted: true }], null);
}

const milliseconds = (seconds) => Math.round(1000 * seconds) / 1000;

function addHere() {
  if (!data.video) return;
  const word = (chosen && chosen.word) || input.value.split(",")[0].trim() || t("new_sign"), end = timeline ? Math.min(time + NEW_SIGN, timeline.duration) : time + NEW_SIGN;
  add(word, milliseconds(Math.max(0, end - NEW_SIGN)), milliseconds(end));
  form.elements.word.focus();
  form.elements.word.select();
}

function undo() {
  if (!done.length) { notify(t("nothing_to_undo")); return; }
  undone.push(edits);
  apply(done.pop(), chosen);
}

function redo() {
  if (!undone.length) { notify(t("nothing_to_redo")); return; }
  done.push(edits);
  apply(undone.pop(), chosen);
}

// Stores the latest list, one request at a time.
function save() {
  if (saving) { saving.again = true; return; }
  const job = { again: false };
  saving = job;
  const body = { version, signs: edits.map(({ key, ...sign }) => ({ ...sign, video: data.video })) };
  ask("PUT", `/api/signs/${path(data.video)}`, body).then((answer) => {
    version = answer.version;
    document.getElementById("saved").textContent = t("signs_saved", { count: edits.filter((sign) => !sign.deleted).length });
    saving = null;
    if (job.again) save();
  }).catch((error) => {
    saving = null;
    problem(error.status ? error : t("offline"));
    if (!error.status || error.status >= 500) setTimeout(save, 2000);
  });
}

async function loadEdits() {
  const answer = await ask("GET", `/api/signs/${path(data.video)}`).catch((error) => { problem(error); return { version: 0, signs: [] }; });
  version = answer.version;
  edits = answer.signs.map((sign) => ({ ...sign, key: sign.id }));
  if (result || !(edits.length || form)) return table();
  const last = Math.max(0, ...edits.map((sign) => sign.end + 2));
  if (video instanceof HTMLMediaElement && !(video.duration > 0)) await new Promise((resolve) => { video.addEventListener("loadedmetadata", resolve, { once: true }); video.addEventListener("error", resolve, { once: true }); });
  const duration = video.duration > 0 && Number.isFinite(video.duration) ? video.duration : last;
  if (!result && duration > 0) startTimeline(duration);
  table();
}

// The form shows the chosen sign.
function fill() {
  if (!form) return;
  form.hidden = !chosen;
  if (!chosen) return;
  for (const name of ["word", "note"]) if (document.activeElement !== form.elements[name]) form.elements[name].value = chosen[name] || "";
  for (const name of ["start", "end"]) form.elements[name].value = chosen[name].toFixed(2);
}

function readForm(event) {
  const { name, value } = event.target;
  if (!chosen || !name) return;
  if (name === "word" && value.trim()) change(chosen, { word: value.trim() });
  else if (name === "note") change(chosen, { note: value });
  else if (name === "start" && value !== "" && Number(value) < chosen.end) change(chosen, { start: Math.max(0, Number(value)) });
  else if (name === "end" && Number(value) > chosen.start) change(chosen, { end: Number(value) });
  else fill();
}

// The chosen hit beside its exemplar, repeated at half speed; frames that look the same are shown together.
const pair = { hit: null, frame: 0 };
async function exemplarOf(hit) {
  const word = result && result.words.find((entry) => entry.word === hit.word), listed = word && word.exemplars.find(({ id }) => id === hit.exemplar);
  if (listed || !hit.exemplar || !dictionary.value || (result && !result.dictionary)) return listed;
  const exemplar = (await exemplarsOf(dictionary.value, hit.word)).find(({ id }) => id === hit.exemplar); // none: a confirmed sign
  return exemplar && exemplar.segment ? exemplar : { id: hit.exemplar, ...exemplar, ...(await exemplarSign(dictionary.value, hit.exemplar)) };
}

async function beside(hit) {
  const section = document.getElementById("beside"), hitVideo = document.getElementById("hit-video"), exemplarPlayer = document.getElementById("exemplar-video");
  const exemplar = await exemplarOf(hit), source = result ? result.dictionary : dictionary.value, clip = result && result.clip;
  if (hit !== chosen) return;
  section.hidden = !exemplar || (!source && !clip);
  if (section.hidden) return;
  const address = clip || (exemplar.playable ? exemplarVideo(source, exemplar.id) : null);
  const playing = JSON.stringify({ video: data.playable ? video.src : null, address, exemplar: exemplar.id });
  if (playing !== pair.playing) {
    for (const player of [pair.hitPlayer, pair.exemplarPlayer]) if (player) player.pause();
    const canvases = [document.getElementById("hit-skeleton"), document.getElementById("exemplar-skeleton")];
    pair.hitPlayer = showSign(hitVideo, canvases[0], data.playable ? video.src : null, skeletonAddress);
    pair.exemplarPlayer = showSign(exemplarPlayer, canvases[1], address, exemplarSkeleton(source, exemplar.id));
    pair.skeletons = [
      data.playable ? new Skeleton(canvases[0], hitVideo, skeletonAddress) : null,
      address && !clip ? new Skeleton(canvases[1], exemplarPlayer, exemplarSkeleton(source, exemplar.id)) : null,
    ];
    pair.playing = playing;
  }
  for (const part of [exemplarPlayer, document.getElementById("exemplar-skeleton")]) part.classList.toggle("mirrored", hit.mirrored);
  document.getElementById("hit-name").textContent = `${hit.word}, ${clock(hit.start, 2)}–${clock(hit.end, 2)}`;
  document.getElementById("exemplar-name").textContent = exemplar.id + (exemplar.variant ? " · " + exemplar.variant : "");
  const span = exemplar.segment || [0, exemplarPlayer.duration || 1], again = pair.key === hit.key; // its boundaries move: the last alignment is used until the next
  Object.assign(pair, { hit, key: hit.key, span, shares: again && pair.shares ? pair.shares : [0, 1] });
  const query = new URLSearchParams({ dictionary: source, exemplar: exemplar.id, start: hit.start, end: hit.end, mirrored: hit.mirrored });
  clearTimeout(pair.timer);
  const align = () => ask("GET", `/api/alignment/${path(data.video)}?${query}`).then((answer) => { if (pair.hit === hit) pair.shares = answer.shares; }).catch(() => {});
  if (!clip) pair.timer = setTimeout(align, again ? 300 : 0);
  pair.hitPlayer.currentTime = hit.start;
  pair.exemplarPlayer.currentTime = span[0];
  pair.hitPlayer.playbackRate = 0.5;
  playPair();
  cancelAnimationFrame(pair.frame);
  pair.frame = requestAnimationFrame(follow);
}

// Both play or pause; with reduced motion they are paused until the button is pressed.
let moving = !matchMedia("(prefers-reduced-motion: reduce)").matches;
function playPair() {
  document.getElementById("pair-play").setAttribute("aria-pressed", String(moving));
  if (moving) Promise.resolve(pair.hitPlayer.play()).catch(() => {});
  else pair.hitPlayer.pause();
}

function follow() {
  const { hit, hitPlayer, exemplarPlayer, span, shares } = pair;
  if (!hit || document.getElementById("beside").hidden) return;
  if (hitPlayer.currentTime >= hit.end || hitPlayer.currentTime < hit.start - 0.2) hitPlayer.currentTime = hit.start;
  const share = Math.min(1, Math.max(0, (hitPlayer.currentTime - hit.start) / Math.max(0.04, hit.end - hit.start)));
  const position = share * (shares.length - 1), below = Math.floor(position), above = Math.min(below + 1, shares.length - 1);
  const wanted = span[0] + (shares[below] + (position - below) * (shares[above] - shares[below])) * (span[1] - span[0]);
  if (Math.abs(exemplarPlayer.currentTime - wanted) > 0.03 && !exemplarPlayer.seeking) exemplarPlayer.currentTime = wanted;
  const on = Boolean(skeleton && skeleton.on);
  pair.skeletons.forEach((drawn, index) => {
    if (!drawn || !(drawn.on || on)) return;
    drawn.on = on;
    drawn.draw((index ? exemplarPlayer : hitPlayer).currentTime);
  });
  pair.frame = requestAnimationFrame(follow);
}

async function keepExemplar() {
  document.activeElement.blur(); // what is typed into a field is stored first
  const word = form.elements.word.value.trim(), body = { video: data.video, start: chosen.start, end: chosen.end, word };
  const added = await busy(ask("POST", `/api/dictionaries/${path(dictionary.value)}/cut`, body), t("cutting"));
  notify(t("kept_exemplar", { id: added.id, dictionary: dictionary.value }));
}

async function subtitles() {
  const list = document.getElementById("subtitles");
  if (!list || !dictionary.value) return;
  const answer = await ask("GET", `/api/mentions/${path(data.video)}?${new URLSearchParams({ dictionary: dictionary.value })}`).catch(() => []);
  lines = answer.map((line) => {
    const text = element("span"), jumpTo = element("button", {}, clock(line.start, 0));
    jumpTo.addEventListener("click", () => go(line.start, true));
    let at = 0;
    for (const word of line.words) {
      const button = element("button", {}, line.text.slice(word.start, word.end));
      button.addEventListener("click", () => { input.value = word.word; go(line.start, false); searchTyped(word.word); });
      text.append(line.text.slice(at, word.start), button);
      at = word.end;
    }
    text.append(line.text.slice(at));
    return { ...line, item: element("li", {}, jumpTo, text) };
  });
  list.replaceChildren(...lines.map((line) => line.item));
}

function neighbour(direction) {
  const listed = signs();
  const next = direction > 0 ? listed.find((sign) => sign.start > time + 0.01) : listed.filter((sign) => sign.start < time - 0.5).pop();
  if (next) jump(next);
}

const shownRows = () => signs().map(({ key, ...sign }) => ({ ...sign, video: data.video }));

async function exportAs(format) {
  const answer = await fetch("/api/export", {
    method: "POST",
    headers: { "X-Signspot": "1", "Content-Type": "application/json" },
    body: JSON.stringify({ name: data.video.replace(/\.[^.]*$/, "").replaceAll("/", "-"), format, rows: shownRows() }),
  });
  if (answer.ok) return download(answer);
  const content = await answer.json().catch(() => ({}));
  problem(new Error(content.error || answer.statusText));
}

async function toQueue() {
  const words = [...new Set(signs().map((sign) => sign.word))];
  const name = data.video + ": " + words.slice(0, 5).join(", ") + (words.length > 5 ? " …" : "");
  try {
    const queue = await ask("POST", "/api/queues", { name: name.slice(0, 100), dictionary: result ? result.dictionary : dictionary.value, rows: shownRows() });
    location.href = "/verify/" + queue.id;
  } catch (error) { problem(error); }
}

function pressed(id, act) {
  const button = document.getElementById(id);
  if (button) button.addEventListener("click", async () => button.setAttribute("aria-pressed", String(await act())));
}

document.getElementById("ask").addEventListener("submit", (event) => { event.preventDefault(); searchTyped(input.value); });
document.getElementById("all-words").addEventListener("click", () => { input.value = ""; search([]); });
document.getElementById("video-choice").addEventListener("change", (event) => {
  location.href = "/spot?" + new URLSearchParams({ video: event.target.value, dictionary: dictionary.value, word: input.value });
});
confirmed.addEventListener("change", () => { if (result && result.dictionary) search(panels.length ? result.words.map(({ word }) => word) : []); });
dictionary.addEventListener("change", () => { subtitles(); if (input.value.trim()) searchTyped(input.value); });
combobox(input, document.getElementById("choices"), () => dictionary.value, searchTyped);
document.getElementById("clip").addEventListener("change", (event) => searchClip(event.target.files[0]));
takeDrops((files) => searchClip(files[0]));

if (data.video) {
  document.getElementById("in").addEventListener("click", () => timeline && timeline.zoom(2));
  document.getElementById("out").addEventListener("click", () => timeline && timeline.zoom(0.5));
  document.querySelectorAll("[data-format]").forEach((button) => button.addEventListener("click", () => exportAs(button.dataset.format)));
  const queue = document.getElementById("to-queue");
  if (queue) queue.addEventListener("click", toQueue);
  filter.addEventListener("input", () => { table(); show(); });
  filter.addEventListener("submit", (event) => event.preventDefault());
  if (form) {
    form.addEventListener("change", readForm);
    form.addEventListener("submit", (event) => event.preventDefault());
    // A field that is left may change the timeline above, so that the button moves away from the pointer before the click.
    form.addEventListener("mousedown", (event) => { if (event.target.closest("button")) event.preventDefault(); });
    const keep = document.getElementById("keep");
    if (keep) clickOnce(keep, keepExemplar);
    for (const [id, act] of [["add-sign", addHere], ["delete-sign", () => remove(chosen)], ["undo", undo], ["redo", redo]]) document.getElementById(id).addEventListener("click", act);
  }
  if (!data.playable) {
    video.currentTime = 0;
    pressed("play", () => { if (video.paused) video.play(); else video.pause(); return !video.paused; });
  } else pressed("show-skeleton", async () => { const on = await skeleton.toggle(); if (skeleton.error) { problem(skeleton.error); skeleton.error = null; } return on; });
  pressed("half", () => { video.playbackRate = video.playbackRate === 1 ? 0.5 : 1; return video.playbackRate < 1; });
  pressed("pair-play", () => { moving = !moving; playPair(); return moving; });
  pressed("loop", () => (data.loop = !data.loop));
  subtitles();
  loadEdits();
  if (data.word) searchTyped(data.word);
  else if (new URLSearchParams(location.search).has("all")) search([]);
  const at = Number(new URLSearchParams(location.search).get("at"));
  if (at > 0 && video) go(at, false);
}
if (video) {
  let watching = 0; // one callback per frame, however often the video is sought
  const watch = () => {
    cancelAnimationFrame(watching);
    time = video.currentTime;
    if (!data.playable && timeline && time > timeline.duration) video.pause();
    if (data.loop && chosen && time >= chosen.end) video.currentTime = chosen.start;
    show();
    if (!video.paused) watching = requestAnimationFrame(watch);
  };
  video.addEventListener("play", watch);
  video.addEventListener("seeked", watch);
}
document.addEventListener("keydown", (event) => {
  if (event.target.closest("input, select, textarea, dialog")) return;
  if ((event.ctrlKey || event.metaKey) && form && event.key.toLowerCase() === "z") { event.preventDefault(); if (event.shiftKey) redo(); else undo(); return; }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const onControl = event.target.closest("button, video, a, [role=button], [role=slider]");
  if (event.key === "n") neighbour(1);
  else if (event.key === "p") neighbour(-1);
  else if (event.key === "a" && form) addHere();
  else if (event.key === "Delete" && form && chosen) remove(chosen);
  else if (event.key === "+" || event.key === "=") { if (timeline) timeline.zoom(2); }
  else if (event.key === "-") { if (timeline) timeline.zoom(0.5); }
  else if (event.key === "ArrowRight" && event.target !== video) go(time + FRAME, false);
  else if (event.key === "ArrowLeft" && event.target !== video) go(time - FRAME, false);
  else if (event.key === " " && !onControl && video) video.paused ? video.play().catch(() => {}) : video.pause();
  else return;
  event.preventDefault();
});
addEventListener("resize", () => { if (timeline) timeline.view(timeline.from, timeline.to); });
