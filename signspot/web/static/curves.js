// Curves of one word: a canvas for the lines, SVG above it for peaks and threshold. Moving the threshold needs no
// request: every peak is in the page already.
import { element, exemplarThumbnail, exemplarVideo, t } from "./workbench.js";
import { exemplarSkeleton, livePreview } from "./skeleton.js";
import { keepFinger } from "./timeline.js";

const HEIGHT = 180, TOP = 12, BOTTOM = 22, LEFT = 34, RIGHT = 42, MOST_PEAKS = 300;
const NEAR = 14, NEAR_LINE = 6; // pixels around a peak that choose it, and around a line that show its exemplar

function unpack(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  const scores = new Float32Array(bytes.length / 2);
  for (let k = 0; k < scores.length; k++) scores[k] = view.getUint16(2 * k, true) / 65535;
  return scores;
}

// False alarms per hour at a threshold: known at every peak, between two of them on a straight line of logarithms.
// `sorted`: hits whose rate is known, by score, the lowest first.
function rateAt(sorted, threshold) {
  if (!sorted.length) return null;
  if (threshold <= sorted[0].score) return sorted[0].false_alarms_per_hour;
  let low = 0, high = sorted.length - 1;
  if (threshold >= sorted[high].score) return sorted[high].false_alarms_per_hour;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (sorted[middle].score <= threshold) low = middle; else high = middle;
  }
  const share = (threshold - sorted[low].score) / Math.max(1e-9, sorted[high].score - sorted[low].score);
  const logs = [low, high].map((k) => Math.log(Math.max(1e-4, sorted[k].false_alarms_per_hour)));
  return Math.exp(logs[0] + share * (logs[1] - logs[0]));
}

function formatRate(rate) {
  return rate === null ? "" : rate < 0.01 ? "< 0.01" : rate >= 10 ? rate.toFixed(0) : rate.toPrecision(2);
}

export class WordPanel {
  // `word`: of the server's answer; `hooks`: jump(hit), go(seconds), moved() while the threshold is dragged.
  constructor(word, result, hooks) {
    this.word = word;
    this.result = result;
    this.hooks = hooks;
    this.threshold = word.threshold;
    this.hidden = new Set();
    this.chosen = null;
    this.hits = word.hits.slice().sort((a, b) => b.score - a.score);
    this.rates = this.hits.filter((hit) => hit.false_alarms_per_hour !== null).reverse();
    this.curves = word.exemplars.map((exemplar) => unpack(exemplar.curve));
    this.score = this.curves.length > 1 ? unpack(word.curve) : null; // of the word, by all its exemplars: hits are its peaks
    let least = this.threshold;
    for (const curve of this.curves) for (const score of curve) if (score < least) least = score;
    this.low = Math.max(0, Math.floor(least * 10 - 0.5) / 10);
    this.build();
  }

  // How many hits are above the threshold; they are sorted by score, the highest first.
  get count() {
    let low = 0, high = this.hits.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.hits[middle].score >= this.threshold) low = middle + 1; else high = middle;
    }
    return low;
  }

  get above() {
    return this.hits.slice(0, this.count);
  }

  build() {
    this.summary = element("output", {});
    const head = element("div", { class: "panel-head" }, element("h3", {}, this.word.word), this.summary);
    const list = element("ul", { class: "exemplars" });
    this.word.exemplars.forEach((exemplar, k) => list.append(element("li", {}, this.button(exemplar, k))));
    this.plot = element("div", { class: "plot" });
    this.canvas = element("canvas", { "aria-hidden": "true" });
    this.plot.append(this.canvas);
    this.overlay = svg(this.plot, "svg", { role: "group", "aria-label": t("curve_of", { word: this.word.word }) });
    const thick = this.score ? element("p", { class: "thick" }, t("thick_line")) : "";
    this.root = element("div", { class: "panel" }, element("div", {}, head, list, thick), this.plot);
    this.plot.addEventListener("click", (event) => {
      if (event.target.closest(".grip-holder, .peak")) return;
      const peak = this.peakAt(event);
      if (peak) this.hooks.jump(peak.hit);
      else this.hooks.go(this.timeAt(event.clientX));
    });
    this.plot.addEventListener("pointermove", (event) => { if (!event.buttons && event.pointerType === "mouse") this.point(event); });
    this.plot.addEventListener("pointerleave", () => this.preview(-1));
  }

  button(exemplar, k) {
    const button = element("button", { class: "c" + exemplar.colour, "aria-pressed": "true", "aria-label": t("exemplar", { id: exemplar.id, word: this.word.word }) });
    button.append(this.sign(exemplar, button), element("span", {}, exemplar.id));
    button.addEventListener("click", () => {
      const off = this.hidden.has(k);
      if (off) this.hidden.delete(k); else this.hidden.add(k);
      button.setAttribute("aria-pressed", String(off));
      this.lines();
    });
    return button;
  }

  // The thumbnail of an exemplar; it plays while `holder` is pointed at.
  sign(exemplar, holder) {
    const { dictionary, clip } = this.result;
    const still = clip ? element("video", { muted: true, preload: "auto", src: clip + "#t=0.5" })
      : element("img", { alt: "", src: exemplarThumbnail(dictionary, exemplar.id) });
    if (!dictionary && !clip) return element("i");
    const video = clip || (exemplar.playable ? exemplarVideo(dictionary, exemplar.id) : null);
    return livePreview(holder, still, { video, skeleton: exemplarSkeleton(dictionary, exemplar.id), span: exemplar.segment });
  }

  // The peak that is nearest to a point of the plot; a finger need not meet it exactly.
  peakAt(event) {
    const box = this.plot.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    const far = ({ hit }) => Math.hypot(this.x(hit.time) - x, this.up(hit.score) - y);
    const near = this.peaks.filter((peak) => peak.visible && far(peak) < NEAR);
    return near.sort((a, b) => far(a) - far(b))[0];
  }

  // A line that is pointed at shows its exemplar, playing.
  point(event) {
    const box = this.plot.getBoundingClientRect(), y = event.clientY - box.top, { first, step } = this.result.times;
    const from = Math.floor((this.timeAt(event.clientX - 1) - first) / step), to = Math.ceil((this.timeAt(event.clientX + 1) - first) / step);
    let nearest = -1, best = NEAR_LINE;
    this.curves.forEach((curve, k) => {
      if (this.hidden.has(k)) return;
      let low = 1, high = 0;
      for (let n = Math.max(0, from); n <= Math.min(to, curve.length - 1); n++) { low = Math.min(low, curve[n]); high = Math.max(high, curve[n]); }
      const far = Math.max(this.up(high) - y, y - this.up(low), 0);
      if (high >= low && far < best) { best = far; nearest = k; }
    });
    this.preview(event.target.closest(".grip-holder") ? -1 : nearest, event.clientX - box.left);
  }

  preview(k, x = 0) {
    if (k === this.previewed) return;
    this.previewed = k;
    if (this.popup) { this.popup.dispatchEvent(new PointerEvent("pointerleave")); this.popup.remove(); this.popup = null; }
    if (k < 0) return;
    const exemplar = this.word.exemplars[k];
    this.popup = element("div", { class: "preview c" + exemplar.colour, "aria-hidden": "true" });
    this.popup.append(this.sign(exemplar, this.popup), element("span", {}, exemplar.id));
    this.popup.style.left = Math.min(Math.max(0, x + 14), this.width - 150) + "px";
    this.plot.append(this.popup);
    this.popup.dispatchEvent(new PointerEvent("pointerenter", { pointerType: "mouse" }));
  }

  // Shows a segment of the video.
  show(from, to) {
    this.from = from;
    this.to = to;
    this.width = Math.max(200, this.plot.clientWidth);
    this.lines();
    this.drawOverlay();
  }

  x(seconds) { return LEFT + ((seconds - this.from) / (this.to - this.from)) * (this.width - LEFT - RIGHT); }
  up(score) { return TOP + ((1 - score) / (1 - this.low)) * (HEIGHT - TOP - BOTTOM); }
  timeAt(x) { return this.from + ((x - this.plot.getBoundingClientRect().left - LEFT) / (this.width - LEFT - RIGHT)) * (this.to - this.from); }
  scoreAt(y) { return 1 - ((y - this.plot.getBoundingClientRect().top - TOP) / (HEIGHT - TOP - BOTTOM)) * (1 - this.low); }

  lines() {
    const scale = devicePixelRatio || 1, style = getComputedStyle(document.documentElement);
    this.canvas.width = this.width * scale;
    this.canvas.height = HEIGHT * scale;
    this.canvas.style.height = HEIGHT + "px";
    const pen = this.canvas.getContext("2d");
    pen.scale(scale, scale);
    this.axes(pen, style);
    const order = this.curves.map((_, k) => k).filter((k) => !this.hidden.has(k)).reverse();
    pen.globalAlpha = this.score ? 0.6 : 1;
    for (const k of order) this.line(pen, this.curves[k], style.getPropertyValue("--c" + this.word.exemplars[k].colour));
    pen.globalAlpha = 1;
    if (this.score) this.line(pen, this.score, style.getPropertyValue("--ink"), 2.4);
  }

  axes(pen, style) {
    const span = this.to - this.from, size = timeStep(span, this.width);
    pen.strokeStyle = style.getPropertyValue("--line");
    pen.fillStyle = style.getPropertyValue("--faint");
    pen.font = "11px system-ui, sans-serif";
    pen.textAlign = "center";
    pen.beginPath();
    for (let at = Math.ceil(this.from / size) * size; at <= this.to + 1e-9; at += size) {
      pen.moveTo(this.x(at), TOP);
      pen.lineTo(this.x(at), HEIGHT - BOTTOM);
      pen.fillText(clock(at, size < 1 ? 1 : 0), this.x(at), HEIGHT - 6);
    }
    pen.textAlign = "right";
    for (let score = Math.ceil(this.low * 5) / 5; score <= 1.0001; score += 0.2) {
      pen.moveTo(LEFT, this.up(score));
      pen.lineTo(this.width - RIGHT, this.up(score));
      pen.fillText(score.toFixed(1), LEFT - 6, this.up(score) + 4);
    }
    pen.stroke();
  }

  // The highest and lowest score of every pixel: an hour is drawn as quickly as a minute, and no peak is lost.
  line(pen, scores, colour, thickness = 1.7) {
    const { first, step } = this.result.times;
    const begin = Math.max(0, Math.floor((this.from - first) / step)), end = Math.min(scores.length - 1, Math.ceil((this.to - first) / step));
    const samples = Math.max(1, (end - begin) / (2 * (this.width - LEFT - RIGHT)));
    pen.strokeStyle = colour;
    pen.lineWidth = thickness;
    pen.lineJoin = "round";
    pen.beginPath();
    for (let from = begin; from <= end; from += samples) {
      const last = Math.min(end, Math.ceil(from + samples) - 1);
      let high = Math.floor(from), low = high;
      for (let k = high; k <= last; k++) { if (scores[k] > scores[high]) high = k; if (scores[k] < scores[low]) low = k; }
      for (const k of high < low ? [high, low] : [low, high]) pen.lineTo(this.x(first + k * step), this.up(scores[k]));
    }
    pen.stroke();
  }

  drawOverlay() {
    this.overlay.replaceChildren();
    this.overlay.setAttribute("viewBox", `0 0 ${this.width} ${HEIGHT}`);
    this.bands = svg(this.overlay, "g", {});
    this.cursor = svg(this.overlay, "line", { class: "cursor", y1: TOP, y2: HEIGHT - BOTTOM });
    this.handle = svg(this.overlay, "line", { class: "handle", x1: LEFT, x2: this.width - RIGHT });
    const within = this.hits.filter((hit) => hit.end > this.from && hit.start < this.to).slice(0, MOST_PEAKS);
    this.peaks = within.map((hit) => this.peak(hit));
    this.grip = svg(this.overlay, "g", { class: "grip-holder", tabindex: 0, role: "slider", "aria-orientation": "vertical", "aria-valuemin": this.low, "aria-valuemax": 1, "aria-label": t("threshold", { word: this.word.word }) });
    this.knob = svg(this.grip, "rect", { class: "grip", x: this.width - RIGHT, width: 42, height: 26, rx: 6 });
    this.number = svg(this.grip, "text", { class: "grip-text", x: this.width - RIGHT + 21 });
    this.drag();
    this.move(this.threshold);
    this.at(this.time || 0);
  }

  peak(hit) {
    const exemplar = this.word.exemplars.find(({ id }) => id === hit.exemplar);
    const colour = "c" + (exemplar ? exemplar.colour : 0);
    const left = this.x(hit.start);
    const band = svg(this.bands, "rect", { class: "span " + colour, x: left, y: TOP, height: HEIGHT - TOP - BOTTOM, width: Math.max(1, this.x(hit.end) - left) });
    const name = t("play_at", { word: hit.word, time: clock(hit.time, 2) }) + ", " + hit.score.toFixed(2);
    const dot = svg(this.overlay, "circle", { class: "peak " + colour + (hit === this.chosen ? " chosen" : ""), cx: this.x(hit.time), cy: this.up(hit.score), r: 6, tabindex: 0, role: "button", "aria-label": name });
    svg(dot, "title", {}, name);
    dot.addEventListener("click", () => this.hooks.jump(hit));
    dot.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); event.stopPropagation(); this.hooks.jump(hit); } });
    return { hit, dot, band, visible: null };
  }

  drag() {
    const follow = (event) => this.move(this.scoreAt(event.clientY));
    keepFinger(this.grip);
    this.grip.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      this.grip.setPointerCapture(event.pointerId);
      this.grip.addEventListener("pointermove", follow);
    });
    this.grip.addEventListener("lostpointercapture", () => { this.grip.removeEventListener("pointermove", follow); this.hooks.moved(); });
    this.grip.addEventListener("keydown", (event) => {
      const step = { ArrowUp: 0.01, ArrowRight: 0.01, ArrowDown: -0.01, ArrowLeft: -0.01, PageUp: 0.05, PageDown: -0.05 }[event.key];
      if (!step) return;
      event.preventDefault();
      event.stopPropagation();
      this.move(Math.round((this.threshold + step) * 100) / 100);
      this.hooks.moved();
    });
  }

  // Moves the threshold: the line, the peaks above it, and the expected false alarms.
  move(score) {
    this.threshold = Math.min(1, Math.max(this.low, score));
    const y = this.up(this.threshold);
    this.handle.setAttribute("y1", y);
    this.handle.setAttribute("y2", y);
    this.knob.setAttribute("y", y - 13);
    this.number.setAttribute("y", y + 4);
    this.number.textContent = this.threshold.toFixed(2);
    for (const peak of this.peaks) {
      const visible = peak.hit.score >= this.threshold;
      if (visible === peak.visible) continue;
      peak.visible = visible;
      peak.dot.classList.toggle("off", !visible);
      peak.band.classList.toggle("off", !visible);
    }
    const rate = rateAt(this.rates, this.threshold), hits = this.count;
    const text = rate === null ? t("unknown_rate", { hits }) : t("promise", { hits, rate: formatRate(rate) });
    this.summary.textContent = text;
    this.grip.setAttribute("aria-valuenow", this.threshold.toFixed(2));
    this.grip.setAttribute("aria-valuetext", this.threshold.toFixed(2) + ", " + this.summary.textContent);
    this.hooks.moved();
  }

  choose(hit) {
    this.chosen = hit;
    this.drawOverlay();
  }

  at(time) {
    this.time = time;
    const x = Math.min(Math.max(this.x(time), -10), this.width + 10);
    this.cursor.setAttribute("x1", x);
    this.cursor.setAttribute("x2", x);
    this.cursor.classList.toggle("off", time < this.from || time > this.to);
  }
}

