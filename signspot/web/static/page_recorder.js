// A recording whose landmarks are estimated in this page, by MediaPipe's Holistic: they are sent to the server, frames are not.
import { data, send, t } from "./workbench.js";
import { Recording } from "./recorder.js";

const FOLDER = "/holistic/", WIDEST = 200, SLOW = 150, FEWEST = 4; // milliseconds between processed frames; that one may take; frames
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
    script.src = FOLDER + "holistic.js";
    script.addEventListener("load", resolve);
    script.addEventListener("error", () => reject(new Error(t("no_estimator"))));
    document.head.append(script);
  });
  const model = new window.Holistic({ locateFile: (name) => FOLDER + name });
  const info = shader.getExtension("WEBGL_debug_renderer_info"), name = info ? shader.getParameter(info.UNMASKED_RENDERER_WEBGL) : "";
  const device = /swiftshader|llvmpipe|softpipe|software|basic render/i.test(name) ? { useCpuInference: true } : {}; // no graphics card
  model.setOptions({ modelComplexity: 1, smoothLandmarks: true, refineFaceLandmarks: false, minDetectionConfidence: 0.5, minTrackingConfidence: 0.5, ...device });
  let landmarks = {};
  model.onResults((results) => { landmarks = results; });
  await model.initialize();
  return { forget: () => model.reset(), estimate: async (image) => { landmarks = {}; await model.send({ image }); return landmarks; } };
}

// One frame as the server reads it: seconds and all points; NaN where a part is not visible.
function row(time, landmarks) {
  const numbers = new Float32Array(COUNT).fill(NaN);
  numbers[0] = time / 1000;
  let offset = 1;
  for (const [name, points, size] of PARTS) {
    const chosen = points ? [...Array(points).keys()] : data.face_points, part = landmarks[name];
    if (part) chosen.forEach((point, index) => {
      const { x, y, z, visibility } = part[point];
      numbers.set(size === 4 ? [x, y, z, Math.min(1, Math.max(0, visibility ?? 0))] : [x, y, z], offset + index * size);
    });
    offset += chosen.length * size;
  }
  return numbers;
}

// If too many frames wait, some are left out; the rest are at most 0.2 s apart and include the last one.
function thinned(waiting, most) {
  if (waiting.length <= most) return waiting;
  const apart = Math.min((waiting.at(-1).time - waiting[0].time) / most, WIDEST) - 1, chosen = [waiting.at(-1)];
  for (const frame of waiting.slice(0, -1).reverse()) {
    if (chosen[0].time - frame.time >= apart) chosen.unshift(frame);
    else frame.image.then((image) => image && image.close());
  }
  return chosen;
}

export class PageRecording extends Recording {
  constructor(video, report) {
    super(video, report);
    Object.assign(this, { rows: [], draining: null, pace: 0, stays: true });
    this.opened = loaded();
    this.opened.catch((error) => { this.error = error; });
  }

  begin() {
    super.begin();
    this.waiting = [];
  }

  take(now) {
    this.add(now - (Number.isFinite(this.zero) ? this.zero : now + 1));
  }

  add(time) {
    if (!this.fit() || this.error || (time < 0 && this.waiting.length)) return;
    this.waiting.push({ time, image: createImageBitmap(this.video).catch(() => null) });
    if (time < 0 || this.pace < SLOW) this.process(); // on a slow machine all frames are processed after the recording
  }

  process() {
    if (!this.draining) this.draining = this.drain().catch((error) => { this.error = error; }).finally(() => { this.draining = null; });
    return this.draining;
  }

  async drain() {
    const estimator = await this.opened;
    if (!this.processed) estimator.forget(); // the person of an earlier recording
    while (this.waiting.length) {
      this.waiting = thinned(this.waiting, Math.max(FEWEST, Math.floor(1500 / (this.pace || 1))));
      const { time, image } = this.waiting.shift(), frame = await image;
      if (!frame) continue;
      this.canvas.getContext("2d").drawImage(frame, 0, 0, this.canvas.width, this.canvas.height);
      frame.close();
      const began = performance.now(), landmarks = await estimator.estimate(this.canvas), took = performance.now() - began;
      this.pace = this.processed ? 0.5 * (this.pace + took) : 0; // the first frame loads the models
      this.processed = true;
      if (time >= 0) this.rows.push(row(time, landmarks));
      const shoulders = landmarks.poseLandmarks && [11, 12].every((point) => landmarks.poseLandmarks[point].visibility >= 0.5);
      this.report({ processed: true, person: Boolean(shoulders), hands: ["leftHandLandmarks", "rightHandLandmarks"].filter((name) => landmarks[name]).length });
      await new Promise((resolve) => setTimeout(resolve)); // lets the camera's next frame in
      if (time >= 0 && this.running && this.pace >= SLOW) return;
    }
  }

  // Processes a file instead of the camera.
  async processFile(seconds) {
    this.zero = 0;
    for (let time = 0; time < seconds && !this.error; time += 0.08) {
      this.video.currentTime = time;
      await new Promise((resolve) => { this.video.addEventListener("seeked", resolve, { once: true }); setTimeout(resolve, 2000); });
      this.add(1000 * time);
      await this.process();
    }
  }

  async search(query) {
    while (!this.error && (this.waiting.length || this.draining)) await this.process();
    if (this.error) throw new Error(t("page_failed", { reason: this.error.message || this.error }));
    const size = new URLSearchParams({ width: this.canvas.width, height: this.canvas.height });
    const body = new Float32Array(COUNT * this.rows.length); // little-endian, as every browser's machine is
    this.rows.forEach((numbers, index) => body.set(numbers, COUNT * index));
    return send("POST", `/api/sign/landmarks?${query}&${size}`, body);
  }

  remove() {
    this.stop();
    this.rows = [];
    this.waiting = [];
  }
}
