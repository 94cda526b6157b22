// Sign to search: record with the camera, trim, and see the nearest words and places, best first.
import { ask, data, element, exemplarFilm, path, problem, send, t } from "./bench.js";
import { LiveRecording } from "./recorder.js";

const camera = document.getElementById("camera"), take = document.getElementById("take"), count = document.getElementById("count");
const signs = document.getElementById("dictionary"), record = document.getElementById("record"), trim = document.getElementById("trim");
const from = document.getElementById("from"), to = document.getElementById("to");
let stream = null, recording = null, seconds = 3, live = null, ready = null, over = 0, turn = 0;

async function open() {
  if (stream) return stream;
  stream = await navigator.mediaDevices.getUserMedia({ video: { width: { ideal: 640 }, height: { ideal: 480 }, frameRate: { ideal: 25 } }, audio: false });
  camera.srcObject = stream;
  ready = new LiveRecording(camera, inView); // models are loaded while the person gets ready
  return stream;
}

const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const hint = document.getElementById("hint");

// While the countdown runs: are person and hands in the picture?
function inView(seen) {
  if (!seen.looked || count.classList.contains("recording")) return;
  hint.textContent = !seen.person ? t("nobody") : seen.hands ? t("in_view") : t("no_hands");
}

async function start() {
  problem(null);
  try { await open(); } catch { problem(t("no_camera")); return; }
  record.disabled = true;
  camera.hidden = false;
  take.hidden = true;
  if (live) live.forget();
  live = ready && !ready.error ? ready : new LiveRecording(camera, inView);
  ready = null;
  live.apart = 180;
  live.watch();
  for (const number of ["3", "2", "1"]) { count.textContent = number; await wait(700); }
  count.textContent = "";
  if (!live.looked) hint.textContent = t("loading");
  for (let tries = 0; !live.looked && !live.error && tries < 200; tries++) await wait(100); // models are still being loaded
  count.classList.add("recording");
  hint.textContent = t("go");
  seconds = Number(document.getElementById("seconds").value);
  live.begin();
  const blob = await film(seconds);
  count.classList.remove("recording");
  record.disabled = false;
  await got(new File([blob], "sign.webm"), seconds);
  ready = new LiveRecording(camera, inView);
}

function film(length) {
  return new Promise((resolve) => {
    const kind = ["video/webm;codecs=vp8", "video/webm", "video/mp4"].find((each) => MediaRecorder.isTypeSupported(each));
    const recorder = new MediaRecorder(stream, { mimeType: kind, videoBitsPerSecond: 2_500_000 });
    const parts = [];
    recorder.addEventListener("dataavailable", (event) => parts.push(event.data));
    recorder.addEventListener("stop", () => resolve(new Blob(parts, { type: kind })));
    recorder.start();
    setTimeout(() => { over = performance.now(); live.stop(); recorder.stop(); }, 1000 * length);
  });
}

async function got(file, length) {
  recording = file;
  seconds = length;
  take.src = URL.createObjectURL(file);
  take.hidden = false;
  camera.hidden = true;
  take.play().catch(() => {});
  from.value = "0";
  to.value = "100";
  trim.hidden = false;
  await search();
}

async function search() {
  const nothing = document.getElementById("nothing"), began = over || performance.now(), own = live;
  over = 0;
  nothing.hidden = false;
  nothing.textContent = t("searching");
  problem(null);
  const query = new URLSearchParams({ dictionary: signs.value });
  if (from.value !== "0" || to.value !== "100") {
    query.set("start", String((Number(from.value) / 100) * seconds));
    query.set("end", String((Number(to.value) / 100) * seconds));
  }
  try {
    const found = await (own ? own.search(query).catch((error) => afresh(error, query)) : whole(query));
    nothing.hidden = true;
    shown(found, (performance.now() - began) / 1000);
  } catch (error) {
    nothing.textContent = "";
    problem(error);
  }
}

// The whole recording at once: of a file, or where the server looked at no picture while it was made.
function whole(query) {
  return send("PUT", `/api/sign?${query}&${new URLSearchParams({ name: recording.name })}`, recording);
}

function afresh(error, query) {
  if (error.status === 422) throw error; // nobody is in view, or the word is not known: the same would be said again
  live = null;
  return whole(query);
}

function shown(found, took) {
  hint.textContent = found.hands < 0.5 ? t("hands", { percent: Math.round(100 * found.hands) }) : "";
  document.getElementById("words").replaceChildren(...found.words.map((each) => wordCard(found.dictionary, each)));
  document.getElementById("places").replaceChildren(...found.places.map(placeCard));
  document.getElementById("timing").textContent = found.places.length ? "" : t("no_place");
  document.getElementById("timing").title = t("timing", found.seconds);
  document.getElementById("timing").dataset.seconds = took.toFixed(2);
  document.getElementById("timing").dataset.turn = String(++turn);
}

function playing(card, film, address, span) {
  if (!data.pixels) return;
  const play = () => {
    if (!film.src) film.src = address;
    film.play().catch(() => {});
  };
  film.addEventListener("timeupdate", () => { if (span && (film.currentTime > span[1] || film.currentTime < span[0] - 0.3)) film.currentTime = span[0]; });
  card.addEventListener("mouseenter", play);
  card.addEventListener("focusin", play);
  for (const kind of ["mouseleave", "focusout"]) card.addEventListener(kind, () => film.pause());
}

function wordCard(dictionary, each) {
  const film = element("video", { muted: true, loop: true, playsInline: true, preload: "none", poster: "/api/thumbnail/exemplar/" + path(dictionary) + "?id=" + encodeURIComponent(each.exemplar) });
  const link = element("a", { href: "/compare?" + new URLSearchParams({ dictionary, word: each.word }) }, film, element("strong", {}, each.word));
  const card = element("li", { class: "card" }, link, element("span", { class: "quiet" }, t("score", { score: each.score.toFixed(2) }) + (each.mirrored ? " ⇋" : "")));
  playing(card, film, exemplarFilm(dictionary, each.exemplar), null);
  return card;
}

function placeCard(place) {
  const film = element("video", { muted: true, loop: true, playsInline: true, preload: "none", poster: `/api/thumbnail/video/${path(place.video)}?time=${place.time}` });
  const link = element("a", { href: "/spot?" + new URLSearchParams({ video: place.video }) }, film, element("strong", {}, place.video));
  const card = element("li", { class: "card" }, link, element("span", { class: "quiet" }, `${clock(place.time, 2)} · ${t("score", { score: place.score.toFixed(2) })}`));
  playing(card, film, `/api/media/${path(place.video)}#t=${place.start}`, [place.start, place.end]);
  return card;
}

record.addEventListener("click", start);
document.getElementById("again").addEventListener("click", search);
for (const slider of [from, to]) slider.addEventListener("input", () => {
  if (Number(from.value) > Number(to.value) - 10) { if (slider === from) from.value = String(Number(to.value) - 10); else to.value = String(Number(from.value) + 10); }
  take.currentTime = (Number(slider.value) / 100) * seconds;
});
take.addEventListener("timeupdate", () => {
  if (take.currentTime > (Number(to.value) / 100) * seconds + 0.05) take.currentTime = (Number(from.value) / 100) * seconds;
});
document.getElementById("clip").addEventListener("change", async (event) => {
  const file = event.target.files[0];
  if (!file) return;
  const probe = element("video", { src: URL.createObjectURL(file), preload: "metadata" });
  const length = await new Promise((resolve) => { probe.onloadedmetadata = () => resolve(probe.duration); probe.onerror = () => resolve(3); });
  problem(null);
  if (live) live.forget();
  live = null;
  got(file, Number.isFinite(length) ? length : 3);
});
// The words' exemplars are embedded before anybody signs, so that the answer comes at once.
const warm = () => signs.value && ask("POST", "/api/warm?" + new URLSearchParams({ dictionary: signs.value })).catch(() => {});
signs.addEventListener("change", warm);
addEventListener("pagehide", () => { for (const each of [live, ready]) if (each && each.id) fetch(`/api/recordings/${each.id}`, { method: "DELETE", headers: { "X-Signspot": "1" }, keepalive: true }); });
warm();
open().catch(() => problem(t("no_camera")));
