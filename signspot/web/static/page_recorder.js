// A recording whose landmarks are estimated in this page, by MediaPipe's Holistic: only they are sent, no picture is.
import { data, send, t } from "./bench.js";

const PLACE = "/holistic/", APART = 36, LARGEST = 640; // milliseconds between pictures, pixels of the longer side
const WIDEST = 200, SLOW = 150, FEWEST = 4; // milliseconds between pictures that are looked at; that one may take; pictures
const PARTS = [["poseLandmarks", 33, 4], ["leftHandLandmarks", 21, 3], ["rightHandLandmarks", 21, 3], ["faceLandmarks", null, 3]];
const COUNT = 1 + PARTS.reduce((sum, [, points, numbers]) => sum + (points || data.face_points?.length || 0) * numbers, 0);
let estimator = null; // one for all recordings of the page

function loaded() {
  estimator = estimator || load();
  estimator.catch(() => { estimator = null; }); // the next recording tries again
  return estimator;
}

async function load() {
  const shader = document.createElement("canvas").getContext("webgl2");
  if (!shader) throw new Error(t("no_webgl"));
  if (!window.Holistic) await new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = PLACE + "holistic.js";
    script.addEventListener("load", resolve);
    script.addEventListener("error", () => reject(new Error(t("no_estimator"))));
    document.head.append(script);
  });
  const made = new window.Holistic({ locateFile: (name) => PLACE + name });
  const known = shader.getExtension("WEBGL_debug_renderer_info"), name = known ? shader.getParameter(known.UNMASKED_RENDERER_WEBGL) : "";
  const where = /swiftshader|llvmpipe|softpipe|software|basic render/i.test(name) ? { useCpuInference: true } : {}; // no graphics card
  made.setOptions({ modelComplexity: 1, smoothLandmarks: true, refineFaceLandmarks: false, minDetectionConfidence: 0.5, minTrackingConfidence: 0.5, ...where });
  let seen = {};
  made.onResults((found) => { seen = found; });
  await made.initialize();
  return { forget: () => made.reset(), see: async (image) => { seen = {}; await made.send({ image }); return seen; } };
}

// One frame as the server takes it: seconds and all points; NaN where a part is not seen.
function row(time, seen) {
  const made = new Float32Array(COUNT).fill(NaN);
  made[0] = time / 1000;
  let place = 1;
  for (const [name, points, numbers] of PARTS) {
    const chosen = points ? [...Array(points).keys()] : data.face_points, found = seen[name];
    if (found) chosen.forEach((point, index) => {
      const { x, y, z, visibility } = found[point];
      made.set(numbers === 4 ? [x, y, z, Math.min(1, Math.max(0, visibility ?? 0))] : [x, y, z], place + index * numbers);
    });
    place += chosen.length * numbers;
  }
  return made;
}

// Where too many wait, some between them are left out: never far apart, and the last one never.
function thinned(waiting, most) {
  if (waiting.length <= most) return waiting;
  const apart = Math.min((waiting.at(-1).time - waiting[0].time) / most, WIDEST) - 1, kept = [waiting.at(-1)];
  for (const each of waiting.slice(0, -1).reverse()) {
    if (kept[0].time - each.time >= apart) kept.unshift(each);
    else each.made.then((picture) => picture && picture.close());
  }
  return kept;
}

export class PageRecording {
  // `film`: shows the camera, or a file; `seen`: told what was seen last.
  constructor(film, seen) {
    Object.assign(this, { film, seen, waiting: [], rows: [], running: false, draining: null, error: null, looked: false });
    Object.assign(this, { zero: Infinity, apart: APART, pace: 0, stays: true });
    this.canvas = document.createElement("canvas");
    this.opened = loaded();
    this.opened.catch((error) => { this.error = error; });
  }

  watch() {
    this.running = true;
    this.last = -Infinity;
    const turn = (now) => {
      if (!this.running) return;
      if (now - this.last >= this.apart) { this.last = now; this.take(now - (Number.isFinite(this.zero) ? this.zero : now + 1)); }
      next();
    };
    const next = () => (this.film.requestVideoFrameCallback ? this.film.requestVideoFrameCallback(turn) : setTimeout(() => turn(performance.now()), APART));
    next();
  }

  begin() {
    this.zero = performance.now();
    this.apart = APART;
    this.waiting = [];
  }

  take(time) {
    const wide = this.film.videoWidth, high = this.film.videoHeight;
    if (!wide || this.error || (time < 0 && this.waiting.length)) return;
    const share = Math.min(1, LARGEST / Math.max(wide, high)), canvas = this.canvas;
    if (canvas.width !== Math.round(wide * share)) { canvas.width = Math.round(wide * share); canvas.height = Math.round(high * share); }
    this.waiting.push({ time, made: createImageBitmap(this.film).catch(() => null) });
    if (time < 0 || this.pace < SLOW) this.look(); // where one picture takes long, all are looked at when the sign is over
  }

  look() {
    if (!this.draining) this.draining = this.drain().catch((error) => { this.error = error; }).finally(() => { this.draining = null; });
    return this.draining;
  }

  async drain() {
    const known = await this.opened;
    if (!this.looked) known.forget(); // whoever was followed in another recording
    while (this.waiting.length) {
      this.waiting = thinned(this.waiting, Math.max(FEWEST, Math.floor(1500 / (this.pace || 1))));
      const { time, made } = this.waiting.shift(), picture = await made;
      if (!picture) continue;
      this.canvas.getContext("2d").drawImage(picture, 0, 0, this.canvas.width, this.canvas.height);
      picture.close();
      const began = performance.now(), seen = await known.see(this.canvas), took = performance.now() - began;
      this.pace = this.looked ? 0.5 * (this.pace + took) : 0; // the first one loads the models
      this.looked = true;
      if (time >= 0) this.rows.push(row(time, seen));
      const shoulders = seen.poseLandmarks && [11, 12].every((point) => seen.poseLandmarks[point].visibility >= 0.5);
      this.seen({ looked: true, person: Boolean(shoulders), hands: ["leftHandLandmarks", "rightHandLandmarks"].filter((name) => seen[name]).length });
      await new Promise((resolve) => setTimeout(resolve)); // the camera's next picture may come
      if (time >= 0 && this.running && this.pace >= SLOW) return;
    }
  }

  stop() {
    this.running = false;
  }

  // Looks at a file, from its beginning to its end, instead of the camera.
  async whole(seconds) {
    this.zero = 0;
    for (let time = 0; time < seconds && !this.error; time += 0.08) {
      this.film.currentTime = time;
      await new Promise((resolve) => { this.film.addEventListener("seeked", resolve, { once: true }); setTimeout(resolve, 2000); });
      this.take(1000 * time);
      await this.look();
    }
  }

  async search(query) {
    while (!this.error && (this.waiting.length || this.draining)) await this.look();
    if (this.error) throw new Error(t("page_failed", { reason: this.error.message || this.error }));
    const size = new URLSearchParams({ width: this.canvas.width, height: this.canvas.height });
    const body = new Float32Array(COUNT * this.rows.length); // little-endian, as every browser's machine is
    this.rows.forEach((each, index) => body.set(each, COUNT * index));
    return send("POST", `/api/sign/landmarks?${query}&${size}`, body);
  }

  forget() {
    this.stop();
    this.rows = [];
    this.waiting = [];
  }
}
