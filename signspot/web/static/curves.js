// Curves of one word: a canvas for the lines, SVG above it for what can be touched. Moving the threshold asks nobody:
// every peak and what its score means is here already.
import { element, exemplarFilm, path, t } from "./bench.js";
import { exemplarBones, livePicture } from "./skeleton.js";

const HEIGHT = 180, TOP = 12, BOTTOM = 22, LEFT = 34, RIGHT = 42, MOST_PEAKS = 300;
const NEAR = 14, NEAR_LINE = 6; // pixels around a peak that choose it, and around a line that show its exemplar

export function unpack(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  const scores = new Float32Array(bytes.length / 2);
  for (let k = 0; k < scores.length; k++) scores[k] = view.getUint16(2 * k, true) / 65535;
  return scores;
}

// False alarms per hour at a threshold: known at every peak, between two of them on a straight line of logarithms.
// `sorted`: hits whose rate is known, by score, the lowest first.
export function rateAt(sorted, threshold) {
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

export function shownRate(rate) {
  return rate === null ? "" : rate < 0.01 ? "< 0.01" : rate >= 10 ? rate.toFixed(0) : rate.toPrecision(2);
}

// A finger that drags this does not scroll the page.
function keepFinger(handle) {
  handle.addEventListener("touchstart", (event) => event.preventDefault(), { passive: false });
}

export class WordPanel {
  // `word` as the server tells it; `hooks`: jump(hit), go(seconds), changed(), edited(hit).
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
    this.said = element("output", {});
    const head = element("div", { class: "panel-head" }, element("h3", {}, this.word.word), this.said);
    const list = element("ul", { class: "exemplars" });
    this.word.exemplars.forEach((exemplar, k) => list.append(element("li", {}, this.button(exemplar, k))));
    this.plot = element("div", { class: "plot" });
    this.canvas = element("canvas", { "aria-hidden": "true" });
    this.plot.append(this.canvas);
    this.picture = svg(this.plot, "svg", { role: "group", "aria-label": t("curve_of", { word: this.word.word }) });
    this.root = element("div", { class: "panel" }, element("div", {}, head, list), this.plot);
    this.plot.addEventListener("click", (event) => {
      if (event.target.closest(".grip-holder, .edge, .peak")) return;
      const peak = this.peakAt(event);
      if (peak) this.hooks.jump(peak.hit);
      else this.hooks.go(this.timeAt(event.clientX));
    });
    this.plot.addEventListener("pointermove", (event) => { if (!event.buttons && event.pointerType === "mouse") this.point(event); });
    this.plot.addEventListener("pointerleave", () => this.preview(-1));
  }

  button(exemplar, k) {
    const made = element("button", { class: "c" + exemplar.colour, "aria-pressed": "true", "aria-label": t("exemplar", { id: exemplar.id, word: this.word.word }) });
    made.append(this.sign(exemplar, made), element("span", {}, exemplar.id));
    made.addEventListener("click", () => {
      const off = this.hidden.has(k);
      if (off) this.hidden.delete(k); else this.hidden.add(k);
      made.setAttribute("aria-pressed", String(off));
      this.lines();
    });
    return made;
  }

  // The picture of an exemplar; it plays while `holder` is pointed at.
  sign(exemplar, holder) {
    const { dictionary, clip } = this.result;
    const still = clip ? element("video", { muted: true, preload: "auto", src: clip + "#t=0.5" })
      : element("img", { alt: "", src: "/api/thumbnail/exemplar/" + path(dictionary) + "?id=" + encodeURIComponent(exemplar.id) });
    if (!dictionary && !clip) return element("i");
    const film = clip || (exemplar.film ? exemplarFilm(dictionary, exemplar.id) : null);
    return livePicture(holder, still, { film, bones: exemplarBones(dictionary, exemplar.id), span: exemplar.segment });
  }

  // The peak that is nearest to a place of the plot; a finger need not meet it exactly.
  peakAt(event) {
    const box = this.plot.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    const far = ({ hit }) => Math.hypot(this.place(hit.time) - x, this.up(hit.score) - y);
    const shown = this.peaks.filter((peak) => peak.shown && far(peak) < NEAR);
    return shown.sort((a, b) => far(a) - far(b))[0];
  }

  // A line that is pointed at shows its exemplar, playing.
  point(event) {
    const box = this.plot.getBoundingClientRect(), y = event.clientY - box.top, { first, step } = this.result.times;
    const from = Math.floor((this.timeAt(event.clientX - 1) - first) / step), to = Math.ceil((this.timeAt(event.clientX + 1) - first) / step);
    let found = -1, best = NEAR_LINE;
    this.curves.forEach((curve, k) => {
      if (this.hidden.has(k)) return;
      let low = 1, high = 0;
      for (let n = Math.max(0, from); n <= Math.min(to, curve.length - 1); n++) { low = Math.min(low, curve[n]); high = Math.max(high, curve[n]); }
      const far = Math.max(this.up(high) - y, y - this.up(low), 0);
      if (high >= low && far < best) { best = far; found = k; }
    });
    this.preview(event.target.closest(".grip-holder, .edge") ? -1 : found, event.clientX - box.left);
  }

  preview(k, x = 0) {
    if (k === this.previewed) return;
    this.previewed = k;
    if (this.shown) { this.shown.dispatchEvent(new PointerEvent("pointerleave")); this.shown.remove(); this.shown = null; }
    if (k < 0) return;
    const exemplar = this.word.exemplars[k];
    this.shown = element("div", { class: "preview c" + exemplar.colour, "aria-hidden": "true" });
    this.shown.append(this.sign(exemplar, this.shown), element("span", {}, exemplar.id));
    this.shown.style.left = Math.min(Math.max(0, x + 14), this.width - 150) + "px";
    this.plot.append(this.shown);
    this.shown.dispatchEvent(new PointerEvent("pointerenter", { pointerType: "mouse" }));
  }

  // The stretch of time that is shown.
  show(from, to) {
    this.from = from;
    this.to = to;
    this.width = Math.max(200, this.plot.clientWidth);
    this.lines();
    this.overlay();
  }

  place(seconds) { return LEFT + ((seconds - this.from) / (this.to - this.from)) * (this.width - LEFT - RIGHT); }
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
    for (const k of order) this.line(pen, this.curves[k], style.getPropertyValue("--c" + this.word.exemplars[k].colour));
  }

  axes(pen, style) {
    const span = this.to - this.from, size = timeStep(span, this.width);
    pen.strokeStyle = style.getPropertyValue("--line");
    pen.fillStyle = style.getPropertyValue("--faint");
    pen.font = "11px system-ui, sans-serif";
    pen.textAlign = "center";
    pen.beginPath();
    for (let at = Math.ceil(this.from / size) * size; at <= this.to + 1e-9; at += size) {
      pen.moveTo(this.place(at), TOP);
      pen.lineTo(this.place(at), HEIGHT - BOTTOM);
      pen.fillText(clock(at, size < 1 ? 1 : 0), this.place(at), HEIGHT - 6);
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
  line(pen, scores, colour) {
    const { first, step } = this.result.times;
    const begin = Math.max(0, Math.floor((this.from - first) / step)), end = Math.min(scores.length - 1, Math.ceil((this.to - first) / step));
    const each = Math.max(1, (end - begin) / (2 * (this.width - LEFT - RIGHT)));
    pen.strokeStyle = colour;
    pen.lineWidth = 1.7;
    pen.lineJoin = "round";
    pen.beginPath();
    for (let from = begin; from <= end; from += each) {
      const last = Math.min(end, Math.ceil(from + each) - 1);
      let high = Math.floor(from), low = high;
      for (let k = high; k <= last; k++) { if (scores[k] > scores[high]) high = k; if (scores[k] < scores[low]) low = k; }
      for (const k of high < low ? [high, low] : [low, high]) pen.lineTo(this.place(first + k * step), this.up(scores[k]));
    }
    pen.stroke();
  }

  overlay() {
    const edge = document.activeElement && document.activeElement.dataset ? document.activeElement.dataset.edge : null;
    this.picture.replaceChildren();
    this.picture.setAttribute("viewBox", `0 0 ${this.width} ${HEIGHT}`);
    this.bands = svg(this.picture, "g", {});
    this.cursor = svg(this.picture, "line", { class: "cursor", y1: TOP, y2: HEIGHT - BOTTOM });
    this.handle = svg(this.picture, "line", { class: "handle", x1: LEFT, x2: this.width - RIGHT });
    const within = this.hits.filter((hit) => hit.end > this.from && hit.start < this.to).slice(0, MOST_PEAKS);
    this.peaks = within.map((hit) => this.peak(hit));
    this.grip = svg(this.picture, "g", { class: "grip-holder", tabindex: 0, role: "slider", "aria-orientation": "vertical", "aria-valuemin": this.low, "aria-valuemax": 1, "aria-label": t("threshold", { word: this.word.word }) });
    this.knob = svg(this.grip, "rect", { class: "grip", x: this.width - RIGHT, width: 42, height: 26, rx: 6 });
    this.number = svg(this.grip, "text", { class: "grip-text", x: this.width - RIGHT + 21 });
    this.drag();
    this.edges();
    if (edge) { const again = this.picture.querySelector(`[data-edge="${edge}"]`); if (again) again.focus(); }
    this.move(this.threshold);
    this.at(this.time || 0);
  }

  peak(hit) {
    const exemplar = this.word.exemplars.find((each) => each.id === hit.exemplar);
    const colour = "c" + (exemplar ? exemplar.colour : 0);
    const x = this.place(hit.start);
    const band = svg(this.bands, "rect", { class: "span " + colour, x, y: TOP, height: HEIGHT - TOP - BOTTOM, width: Math.max(1, this.place(hit.end) - x) });
    const name = t("play_at", { word: hit.word, time: clock(hit.time, 2) }) + ", " + hit.score.toFixed(2);
    const dot = svg(this.picture, "circle", { class: "peak " + colour + (hit === this.chosen ? " chosen" : ""), cx: this.place(hit.time), cy: this.up(hit.score), r: 6, tabindex: 0, role: "button", "aria-label": name });
    svg(dot, "title", {}, name);
    dot.addEventListener("click", () => this.hooks.jump(hit));
    dot.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); event.stopPropagation(); this.hooks.jump(hit); } });
    return { hit, dot, band, shown: null };
  }

  drag() {
    const follow = (event) => this.move(this.scoreAt(event.clientY));
    keepFinger(this.grip);
    this.grip.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      this.grip.setPointerCapture(event.pointerId);
      this.grip.addEventListener("pointermove", follow);
    });
    this.grip.addEventListener("lostpointercapture", () => { this.grip.removeEventListener("pointermove", follow); this.hooks.changed(); });
    this.grip.addEventListener("keydown", (event) => {
      const step = { ArrowUp: 0.01, ArrowRight: 0.01, ArrowDown: -0.01, ArrowLeft: -0.01, PageUp: 0.05, PageDown: -0.05 }[event.key];
      if (!step) return;
      event.preventDefault();
      event.stopPropagation();
      this.move(Math.round((this.threshold + step) * 100) / 100);
      this.hooks.changed();
    });
  }

  // Moves the threshold: the line, which peaks show, and the promise; nothing is asked of the server.
  move(score) {
    this.threshold = Math.min(1, Math.max(this.low, score));
    const y = this.up(this.threshold);
    this.handle.setAttribute("y1", y);
    this.handle.setAttribute("y2", y);
    this.knob.setAttribute("y", y - 13);
    this.number.setAttribute("y", y + 4);
    this.number.textContent = this.threshold.toFixed(2);
    for (const peak of this.peaks) {
      const shown = peak.hit.score >= this.threshold;
      if (shown === peak.shown) continue;
      peak.shown = shown;
      peak.dot.classList.toggle("off", !shown);
      peak.band.classList.toggle("off", !shown);
    }
    const rate = rateAt(this.rates, this.threshold), hits = this.count;
    const text = rate === null ? t("unknown_rate", { hits }) : t("promise", { hits, rate: shownRate(rate) });
    this.said.textContent = text;
    this.grip.setAttribute("aria-valuenow", this.threshold.toFixed(2));
    this.grip.setAttribute("aria-valuetext", this.threshold.toFixed(2) + ", " + this.said.textContent);
    this.hooks.moved();
  }

  choose(hit) {
    this.chosen = hit;
    this.overlay();
  }

  // Two edges of the chosen hit that can be dragged, or moved by arrow keys, a frame at a time.
  edges() {
    if (!this.chosen || this.chosen.end < this.from || this.chosen.start > this.to) return;
    for (const side of ["start", "end"]) {
      const x = this.place(this.chosen[side]);
      const handle = svg(this.picture, "g", { class: "edge", "data-edge": side, transform: `translate(${x} 0)`, tabindex: 0, role: "slider", "aria-label": t(side + "_of"), "aria-valuenow": this.chosen[side].toFixed(2), "aria-valuemin": 0, "aria-valuemax": this.result.duration });
      const out = side === "start" ? -1 : 1; // the part to take hold of lies outside, so that a short hit has two
      svg(handle, "rect", { class: "edge-area", x: out < 0 ? -22 : 0, y: TOP, width: 22, height: HEIGHT - TOP - BOTTOM });
      svg(handle, "line", { y1: TOP, y2: HEIGHT - BOTTOM });
      svg(handle, "path", { d: `M 0 ${TOP} h ${12 * out} v 14 l ${-12 * out} 8 z` });
      const set = (seconds) => {
        const hit = this.chosen;
        const other = side === "start" ? hit.end : hit.start;
        const value = side === "start" ? Math.min(Math.max(0, seconds), other - 0.04) : Math.max(Math.min(this.result.duration, seconds), other + 0.04);
        hit[side] = Math.round(value * 1000) / 1000;
        hit.time = Math.min(Math.max(hit.time, hit.start), hit.end);
        handle.setAttribute("transform", `translate(${this.place(hit[side])} 0)`);
        this.hooks.edited(hit);
      };
      const follow = (event) => set(this.timeAt(event.clientX));
      keepFinger(handle);
      handle.addEventListener("pointerdown", (event) => { event.preventDefault(); handle.focus({ preventScroll: true }); handle.setPointerCapture(event.pointerId); handle.addEventListener("pointermove", follow); });
      handle.addEventListener("lostpointercapture", () => { handle.removeEventListener("pointermove", follow); this.overlay(); });
      handle.addEventListener("keydown", (event) => {
        const step = { ArrowLeft: -0.04, ArrowRight: 0.04 }[event.key];
        if (!step) return;
        event.preventDefault();
        event.stopPropagation();
        set(this.chosen[side] + step);
        this.overlay();
      });
    }
  }

  at(time) {
    this.time = time;
    const x = Math.min(Math.max(this.place(time), -10), this.width + 10);
    this.cursor.setAttribute("x1", x);
    this.cursor.setAttribute("x2", x);
    this.cursor.classList.toggle("off", time < this.from || time > this.to);
  }
}

