// Sign to search: record with the camera, trim, and see the nearest words and places, best first.
import { ask, data, element, exemplarFilm, path, problem, send, t, takeDrops } from "./bench.js";
import { PageRecording } from "./page_recorder.js";
import { LiveRecording } from "./recorder.js";
import { exemplarBones, isBones, livePicture, videoBones } from "./skeleton.js";

const camera = document.getElementById("camera"), take = document.getElementById("take"), count = document.getElementById("count");
const signs = document.getElementById("dictionary"), record = document.getElementById("record"), trim = document.getElementById("trim");
const LONGEST = 10; // seconds of a file that this page looks at
const from = document.getElementById("from"), to = document.getElementById("to");
const inPage = document.getElementById("in-page"); // only where the server was given what estimates in the page
let early = null; // what was asked the moment the recording was over
let stream = null, recording = null, seconds = 3, live = null, ready = null, over = 0, turn = 0;

async function open() {
  if (stream) return stream;
  stream = await navigator.mediaDevices.getUserMedia({ video: { width: { ideal: 640 }, height: { ideal: 480 }, frameRate: { ideal: 25 } }, audio: false });
  camera.srcObject = stream;
  ready = newRecording(); // models are loaded while the person gets ready
  return stream;
}

const newRecording = () => (inPage && inPage.checked ? new PageRecording(camera, inView) : new LiveRecording(camera, inView));

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
  live = ready && !ready.error ? ready : newRecording();
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
  ready = newRecording();
}

function film(length) {
  return new Promise((resolve) => {
    const kind = ["video/webm;codecs=vp8", "video/webm", "video/mp4"].find((each) => MediaRecorder.isTypeSupported(each));
    const recorder = new MediaRecorder(stream, { mimeType: kind, videoBitsPerSecond: 2_500_000 });
    const parts = [];
    recorder.addEventListener("dataavailable", (event) => parts.push(event.data));
    recorder.addEventListener("stop", () => resolve(new Blob(parts, { type: kind })));
    recorder.start();
    setTimeout(() => {
      over = performance.now();
      live.stop();
      early = live.search(new URLSearchParams({ dictionary: signs.value })); // its film is not waited for
      early.catch(() => {}); // told when it is asked for
      recorder.stop();
    }, 1000 * length);
  });
}

async function got(file, length) {
  recording = file;
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
  const nothing = document.getElementById("nothing"), began = over || performance.now(), own = live, asked = early;
  over = 0;
  early = null;
  nothing.hidden = false;
  nothing.textContent = t("searching");
  problem(null);
  const query = new URLSearchParams({ dictionary: signs.value });
  if (from.value !== "0" || to.value !== "100") {
    query.set("start", String((Number(from.value) / 100) * seconds));
    query.set("end", String((Number(to.value) / 100) * seconds));
  }
  try {
    const found = await (own ? (asked || own.search(query)).catch((error) => afresh(error, query)) : whole(query));
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
  if (live && live.stays) throw error; // its pictures do not leave the page, whatever happens
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

function card(href, image, name, about, sign) {
  const made = element("li", { class: "card" });
  made.append(element("a", { href }, livePicture(made, image, sign), element("strong", {}, name)), element("span", { class: "quiet" }, about));
  return made;
}

function wordCard(dictionary, each) {
  const image = element("img", { alt: "", src: "/api/thumbnail/exemplar/" + path(dictionary) + "?id=" + encodeURIComponent(each.exemplar) });
  const film = each.film ? exemplarFilm(dictionary, each.exemplar) : null;
  const about = t("score", { score: each.score.toFixed(2) }) + (each.mirrored ? " ⇋" : "");
  return card("/compare?" + new URLSearchParams({ dictionary, word: each.word }), image, each.word, about, { film, bones: exemplarBones(dictionary, each.exemplar) });
}

function placeCard(place) {
  const image = element("img", { alt: "", loading: "lazy", src: `/api/thumbnail/video/${path(place.video)}?time=${place.time}` });
  const film = isBones(place.video) ? null : "/api/media/" + path(place.video);
  const about = `${clock(place.time, 2)} · ${t("score", { score: place.score.toFixed(2) })}`;
  return card("/spot?" + new URLSearchParams({ video: place.video, dictionary: signs.value, at: place.start }), image, place.video, about, { film, bones: videoBones(place.video), span: [place.start, place.end] });
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
async function given(file) {
  if (!file) return;
  const probe = element("video", { src: URL.createObjectURL(file), preload: "metadata" });
  const length = await new Promise((resolve) => { probe.onloadedmetadata = () => resolve(probe.duration); probe.onerror = () => resolve(3); });
  problem(null);
  if (live) live.forget();
  const usable = Number.isFinite(length) ? length : 3;
  live = inPage && inPage.checked ? new PageRecording(probe, () => {}) : null;
  if (live) {
    document.getElementById("nothing").hidden = false;
    document.getElementById("nothing").textContent = t("searching");
    await live.whole(Math.min(usable, LONGEST));
  }
  got(file, usable);
}

document.getElementById("clip").addEventListener("change", (event) => given(event.target.files[0]));
takeDrops((files) => given(files[0]));
// The words' exemplars are embedded before anybody signs, so that the answer comes at once.
const warm = () => signs.value && ask("POST", "/api/warm?" + new URLSearchParams({ dictionary: signs.value })).catch(() => {});
signs.addEventListener("change", warm);
addEventListener("pagehide", () => { for (const each of [live, ready]) if (each && each.id) fetch(`/api/recordings/${each.id}`, { method: "DELETE", headers: { "X-Signspot": "1" }, keepalive: true }); });
if (inPage) inPage.addEventListener("change", () => {
  document.getElementById("sent").hidden = inPage.checked;
  document.getElementById("stays").hidden = !inPage.checked;
  if (ready) ready.forget();
  if (stream) ready = newRecording();
});
warm();
open().catch(() => problem(t("no_camera")));
