// Body and hands drawn over a video, in step with it.
import { ask, data, element, path } from "./workbench.js";

const LIMBS = [[1, 2], [1, 3], [3, 5], [2, 4], [4, 6]];

export class Skeleton {
  constructor(canvas, video, address) {
    this.canvas = canvas;
    this.video = video;
    this.address = address; // (start, end) => URL
    this.on = false;
    this.parts = new Map();
  }

  async toggle() {
    this.on = !this.on;
    await this.draw(this.video ? this.video.currentTime : 0);
    return this.on;
  }

  async load(time) {
    const start = Math.floor(time / 10) * 10;
    if (!this.parts.has(start)) {
      this.parts.set(start, ask("GET", this.address(start, start + 10.5)).catch((error) => { this.error = error; return null; }));
    }
    return this.parts.get(start);
  }

  async draw(time) {
    const context = this.canvas.getContext("2d");
    if (!this.on) { context.clearRect(0, 0, this.canvas.width, this.canvas.height); return; }
    const part = await this.load(time);
    if (!this.on) return; // switched off while it was loading
    const box = this.canvas.getBoundingClientRect(), scale = devicePixelRatio || 1, width = Math.round(box.width * scale);
    if (this.canvas.width !== width) { this.canvas.width = width; this.canvas.height = Math.round(box.height * scale); }
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    if (!part || !part.times.length) return;
    this.last = part.times[part.times.length - 1];
    let frame = part.times.findIndex((at) => at > time) - 1;
    if (frame < 0) frame = time > part.times[0] ? part.times.length - 1 : 0;
    this.paint(context, part, frame);
  }

  paint(context, part, frame) {
    const wide = this.video && this.video.videoWidth ? this.video.videoWidth / this.video.videoHeight : part.aspect;
    const height = Math.min(this.canvas.height, this.canvas.width / wide), width = height * wide;
    const left = (this.canvas.width - width) / 2, top = (this.canvas.height - height) / 2;
    const style = getComputedStyle(document.documentElement);
    const stroke = (points, lines, colour) => {
      context.strokeStyle = colour;
      context.lineWidth = Math.max(2, height / 130);
      context.lineCap = "round";
      context.beginPath();
      for (const [a, b] of lines) {
        if (!points[a] || !points[b]) continue;
        context.moveTo(left + points[a][0] * width, top + points[a][1] * height);
        context.lineTo(left + points[b][0] * width, top + points[b][1] * height);
      }
      context.stroke();
    };
    stroke(part.body[frame], LIMBS, this.video ? "#ffffffcc" : "#8a9199");
    const nose = part.body[frame][0];
    if (!this.video && nose) {
      context.beginPath();
      context.arc(left + nose[0] * width, top + nose[1] * height, height / 14, 0, 7);
      context.stroke();
    }
    stroke(part.left[frame], part.lines, style.getPropertyValue("--c5"));
    stroke(part.right[frame], part.lines, style.getPropertyValue("--c4"));
  }
}

// Plays landmarks that have no video: the interface of a <video>, drawn as a skeleton.
export class LandmarkPlayer extends EventTarget {
  constructor(canvas, address) {
    super();
    this.root = canvas;
    this.skeleton = new Skeleton(canvas, null, address);
    this.skeleton.on = true;
    this.paused = true;
    this.seeking = false;
    this.loop = false;
    this.playbackRate = 1;
    this.time = 0;
  }

  get currentTime() { return this.time; }

  set currentTime(seconds) {
    this.time = Math.max(0, seconds);
    this.skeleton.draw(this.time);
    this.dispatchEvent(new Event("seeked"));
  }

  async play() {
    if (!this.paused) return;
    this.paused = false;
    let last = performance.now();
    const turn = (now) => {
      if (this.paused) return;
      this.time += ((now - last) / 1000) * this.playbackRate;
      last = now;
      if (this.loop && this.time > this.skeleton.last + 0.04) this.time = 0;
      this.skeleton.draw(this.time);
      this.dispatchEvent(new Event("timeupdate"));
      requestAnimationFrame(turn);
    };
    this.dispatchEvent(new Event("play"));
    requestAnimationFrame(turn);
  }

  pause() {
    this.paused = true;
    this.dispatchEvent(new Event("pause"));
  }
}

// Shows a sign in a <video> with a canvas over it: its video, or a moving skeleton if `address` is null.
// Returns the player: the <video>, or a `LandmarkPlayer` with the same interface.
export function showSign(video, canvas, address, skeleton) {
  canvas.classList.toggle("skeleton", !address);
  video.hidden = !address;
  if (address) {
    if (video.getAttribute("src") !== address) video.src = address;
    return video;
  }
  video.pause();
  video.removeAttribute("src");
  return new LandmarkPlayer(canvas, skeleton);
}

export const exemplarSkeleton = (dictionary, id) => () => `/api/skeleton/exemplar/${path(dictionary)}?id=${encodeURIComponent(id)}`;
export const videoSkeleton = (name) => (a, b) => `/api/skeleton/video/${path(name)}?start=${a}&end=${b}`;
export const isLandmarks = (name) => !data.pixels || name.toLowerCase().endsWith(".pose"); // all are, if people may not be shown

let touched = null;
// A thumbnail of a sign that plays while it is pointed at or focused. `video`: its address, or null; `skeleton`: of its
// landmarks, for signs without a video; `span`: the seconds that are repeated, if not all.
export function livePreview(holder, image, { video, skeleton, span }) {
  let player = null;
  const still = element("span", { class: "thumbnail" }, image);
  image.addEventListener("error", () => image.classList.add("missing"));
  const play = () => {
    if (player) return;
    if (video && data.pixels) player = element("video", { muted: true, loop: true, playsInline: true, src: video });
    else { player = new LandmarkPlayer(element("canvas", { class: "skeleton", "aria-hidden": "true" }), skeleton); player.loop = true; }
    if (span) {
      player.currentTime = span[0];
      player.addEventListener("timeupdate", () => { if (player && (player.currentTime > span[1] || player.currentTime < span[0] - 0.3)) player.currentTime = span[0]; });
    }
    still.append(player.root || player);
    player.play().catch(() => {});
  };
  const rest = () => {
    if (!player) return;
    player.pause();
    (player.root || player).remove();
    player = null;
  };
  holder.addEventListener("pointerenter", (event) => {
    if (event.pointerType !== "touch") return play();
    if (touched) touched(); // there is no hovering on a touch screen: the sign that was touched last plays
    touched = rest;
    play();
  });
  holder.addEventListener("pointerleave", (event) => event.pointerType !== "touch" && rest());
  holder.addEventListener("focusin", (event) => event.target.matches(":focus-visible") && play());
  holder.addEventListener("focusout", rest);
  return still;
}
