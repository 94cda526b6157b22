// The camera and its recordings. Landmarks are estimated by the server, which gets frames while they are recorded, or in
// this page (page_recorder.js); frames are never mirrored.
import { ask, RequestError } from "./workbench.js";

const INTERVAL = 36, LARGEST = 640; // milliseconds between frames; pixels of the longer side
const QUALITY = 0.88; // of JPEG
export const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

export const openCamera = () => navigator.mediaDevices.getUserMedia({ video: { width: { ideal: 640 }, height: { ideal: 480 }, frameRate: { ideal: 25 } }, audio: false });

// Records some seconds of a camera as a video.
function recordVideo(stream, seconds, atEnd = () => {}) {
  return new Promise((resolve) => {
    const kind = ["video/webm;codecs=vp8", "video/webm", "video/mp4"].find((type) => MediaRecorder.isTypeSupported(type));
    const recorder = new MediaRecorder(stream, { mimeType: kind, videoBitsPerSecond: 2_500_000 }), parts = [];
    recorder.addEventListener("dataavailable", (event) => parts.push(event.data));
    recorder.addEventListener("stop", () => resolve(new Blob(parts, { type: kind })));
    recorder.start();
    setTimeout(() => { atEnd(); recorder.stop(); }, 1000 * seconds);
  });
}

// Counts down while frames are processed already, waits for the models, and records. `output`: shows the countdown;
// `loading` and `started` are called while the models are loaded and when the recording begins.
export async function record(recording, stream, seconds, output, { loading, started, ended }) {
  recording.interval = 180;
  recording.watch();
  for (const number of ["3", "2", "1"]) { output.textContent = number; await wait(700); }
  output.textContent = "";
  if (!recording.processed) loading();
  for (let tries = 0; !recording.processed && !recording.error && tries < 600; tries++) await wait(100);
  output.classList.add("recording");
  started();
  recording.begin();
  const video = await recordVideo(stream, seconds, () => { recording.stop(); ended(); });
  output.classList.remove("recording");
  return video;
}

// Frames of a <video> at regular times; subclasses process them in `take(now)`.
export class Recording {
  constructor(video, report) {
    this.video = video;
    this.report = report; // called with what is visible in the last processed frame
    this.canvas = document.createElement("canvas");
    this.waiting = [];
    this.error = null;
    this.processed = false;
    this.zero = Infinity; // when the recording began; frames before are of the countdown
    this.interval = INTERVAL;
  }

  watch() {
    this.running = true;
    let last = -Infinity;
    const take = (now) => {
      if (!this.running) return;
      if (now - last >= this.interval) { last = now; this.take(now); }
      next();
    };
    const next = () => (this.video.requestVideoFrameCallback ? this.video.requestVideoFrameCallback(take) : setTimeout(() => take(performance.now()), INTERVAL));
    next();
  }

  begin() {
    this.zero = performance.now();
    this.interval = INTERVAL;
  }

  // Fits the canvas to the video; false while the camera gives no frame.
  fit() {
    const width = this.video.videoWidth, height = this.video.videoHeight, share = Math.min(1, LARGEST / Math.max(width, height));
    if (width && this.canvas.width !== Math.round(width * share)) Object.assign(this.canvas, { width: Math.round(width * share), height: Math.round(height * share) });
    return Boolean(width);
  }

  stop() {
    this.running = false;
  }
}

// A recording whose frames are sent to the server, which estimates landmarks as they arrive.
export class LiveRecording extends Recording {
  constructor(video, report, allFrames = false) {
    super(video, report);
    this.sending = null;
    this.opened = ask("POST", "/api/recordings" + (allFrames ? "?all_frames=true" : "")).then((answer) => { this.id = answer.id; });
    this.opened.catch((error) => { this.error = error; });
  }

  take(now) {
    if (!this.fit()) return;
    this.canvas.getContext("2d").drawImage(this.video, 0, 0, this.canvas.width, this.canvas.height);
    const frame = { time: Math.round(Number.isFinite(this.zero) ? now - this.zero : now - 2e9), image: null };
    this.waiting.push(frame);
    frame.encoded = new Promise((resolve) => this.canvas.toBlob((image) => { frame.image = image; resolve(); }, "image/jpeg", QUALITY));
    this.send();
  }

  send() {
    if (!this.sending) this.sending = this.drain().finally(() => { this.sending = null; });
    return this.sending;
  }

  async drain() {
    try { await this.opened; } catch { return; }
    while (this.waiting.length && !this.error) {
      const batch = this.waiting.splice(0, 30), parts = [];
      for (const { encoded } of batch) await encoded;
      for (const { time, image } of batch) {
        if (!image) continue;
        const head = new DataView(new ArrayBuffer(8));
        head.setInt32(0, time, true);
        head.setUint32(4, image.size, true);
        parts.push(head.buffer, image);
      }
      const answer = await fetch(`/api/recordings/${this.id}/frames`, { method: "PUT", headers: { "X-Signspot": "1" }, body: new Blob(parts) }).catch((error) => error);
      const content = answer.ok ? await answer.json() : await answer.json?.().catch(() => ({}));
      if (answer.ok) { this.processed = content.processed; this.report(content); }
      else this.error = new RequestError((content && content.error) || String(answer.statusText || answer), answer.status || 0);
    }
  }

  // Waits until every frame is sent.
  async sent() {
    while (!this.error && (this.waiting.length || this.sending)) await this.send();
    if (this.error) throw this.error;
  }

  // The server's answer; it has processed most frames already.
  async search(query) {
    await this.sent();
    return ask("POST", `/api/recordings/${this.id}/search?${query}`);
  }

  // Waits for the landmarks: seconds, and the share of frames in which hands are visible.
  async end() {
    await this.sent();
    return ask("POST", `/api/recordings/${this.id}/end`);
  }

  remove() {
    this.stop();
    this.opened.then(() => ask("DELETE", `/api/recordings/${this.id}`)).catch(() => {});
  }
}
