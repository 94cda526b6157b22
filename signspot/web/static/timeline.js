// The signs of a video on one timeline: a tier for each word, an overview of the whole video, zoom. Signs are added,
// moved, resized and deleted with pointer or keys if the page allows it.
import { element, t } from "./workbench.js";

const FRAME = 0.04, SHORTEST = 0.04, ROW = 26, OVERVIEW = 30, MOST_SIGNS = 2000, MOST_TIERS = 300, NARROWEST = 2; // seconds, pixels, counts, seconds
const round = (seconds) => Math.round(seconds * 1000) / 1000;

// A finger that drags a handle must not scroll the page.
export function keepFinger(handle) {
  handle.addEventListener("touchstart", (event) => event.preventDefault(), { passive: false });
}

// Scrolls a list, not the page, so that one of its lines is visible, below what stays at its top.
export function scrollIntoList(list, line, top = 0) {
  if (!line) return;
  const outer = list.getBoundingClientRect(), inner = line.getBoundingClientRect();
  if (inner.top < outer.top + top) list.scrollTop += inner.top - outer.top - top;
  else if (inner.bottom > outer.bottom) list.scrollTop += inner.bottom - outer.bottom;
}

// Follows the pointer: `begin()` at `pointerdown`, `move(event, x of the beginning)` for each movement, `end(moved)` once.
function drag(handle, move, end = () => {}, begin = () => {}) {
  handle.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    event.preventDefault();
    event.stopPropagation();
    handle.setPointerCapture(event.pointerId);
    begin();
    const began = event.clientX;
    let moved = false;
    const follow = (next) => { moved = moved || Math.abs(next.clientX - began) > 3; if (moved) move(next, began); };
    handle.addEventListener("pointermove", follow);
    handle.addEventListener("lostpointercapture", () => { handle.removeEventListener("pointermove", follow); end(moved); }, { once: true });
  });
}

export class Timeline {
  // `hooks`: go(seconds), choose(sign), viewed(from, to); where signs can be edited also change(sign, values), add(word, start, end), remove(sign).
  constructor(root, duration, hooks) {
    Object.assign(this, { root, duration: Math.max(duration, FRAME), hooks, signs: [], tiers: [], chosen: null, time: 0, from: 0, to: Math.max(duration, FRAME) });
    this.editable = Boolean(hooks.change);
    this.held = this.outdated = false;
    this.overview = svg(root, "svg", { class: "overview", height: OVERVIEW });
    this.axis = element("div", { class: "tier-axis", "aria-hidden": "true" });
    this.list = element("div", { class: "tiers", role: "group", "aria-label": t("timeline") });
    this.cursor = element("div", { class: "timeline-cursor" });
    root.replaceChildren(this.overview, this.axis, element("div", { class: "tier-area" }, this.list, this.cursor));
    this.list.addEventListener("wheel", (event) => { if (event.ctrlKey) { event.preventDefault(); this.zoom(event.deltaY < 0 ? 1.25 : 0.8); } }, { passive: false });
    drag(this.overview, (event) => this.centre(this.wholeTimeAt(event.clientX)));
    this.overview.addEventListener("click", (event) => this.centre(this.wholeTimeAt(event.clientX)));
  }

  // Replaces the signs that are shown; tiers in the order of their first appearance in `words`, then of time.
  set(signs, words = []) {
    this.signs = signs;
    const used = new Set(signs.map((sign) => sign.word));
    this.tiers = [...new Set([...words.filter((word) => used.has(word) || words.length <= 6), ...signs.map((sign) => sign.word)])].slice(0, MOST_TIERS);
    this.draw();
  }

  choose(sign) {
    this.chosen = sign;
    this.draw();
    this.reveal();
  }

  // Scrolls to the tier of the chosen sign.
  reveal() {
    if (this.chosen) scrollIntoList(this.list, this.list.children[this.tiers.indexOf(this.chosen.word)]);
  }

  focus(sign) {
    const block = this.root.querySelector(`[data-focus="${CSS.escape("sign " + sign.key)}"]`);
    if (block) block.focus({ preventScroll: true });
  }

  view(from, to) {
    const span = Math.min(Math.max(to - from, Math.min(NARROWEST, this.duration)), this.duration);
    this.from = Math.min(Math.max(0, from), this.duration - span);
    this.to = this.from + span;
    this.draw();
    this.hooks.viewed(this.from, this.to);
  }

  zoom(factor) {
    const middle = this.time >= this.from && this.time <= this.to ? this.time : (this.from + this.to) / 2, span = (this.to - this.from) / factor;
    this.view(middle - span / 2, middle + span / 2);
  }

  centre(seconds) {
    const half = (this.to - this.from) / 2;
    this.view(seconds - half, seconds + half);
  }

  get width() { return Math.max(120, this.list.clientWidth - this.left - 1); }
  get left() { return parseFloat(getComputedStyle(this.root).getPropertyValue("--tier-name")) || 100; }
  position(seconds) { return ((seconds - this.from) / (this.to - this.from)) * this.width; }
  timeAt(x) { return this.from + ((x - this.list.getBoundingClientRect().left - this.left) / this.width) * (this.to - this.from); }
  wholeTimeAt(x) { const box = this.overview.getBoundingClientRect(); return ((x - box.left) / box.width) * this.duration; }

  // Drags a part of the tiers. Nothing is drawn anew meanwhile: a pointer would lose the element that it holds.
  hold(handle, move, end) {
    drag(handle, move, (moved) => {
      this.held = false;
      end(moved);
      if (this.outdated) this.draw();
    }, () => { this.held = true; });
  }

  draw() {
    this.outdated = this.held;
    if (this.held) return;
    const focused = document.activeElement && this.root.contains(document.activeElement) ? document.activeElement.dataset.focus : null;
    this.drawOverview();
    this.drawAxis();
    const byWord = new Map(this.tiers.map((word) => [word, []]));
    for (const sign of this.signs.filter((sign) => sign.end > this.from && sign.start < this.to).slice(0, MOST_SIGNS)) if (byWord.has(sign.word)) byWord.get(sign.word).push(sign);
    this.list.replaceChildren(...[...byWord].map(([word, signs]) => this.tier(word, signs)));
    if (focused) { const again = this.root.querySelector(`[data-focus="${CSS.escape(focused)}"]`); if (again) again.focus({ preventScroll: true }); }
    this.at(this.time);
  }

  drawOverview() {
    const share = (seconds) => (100 * seconds) / this.duration;
    this.overview.setAttribute("viewBox", `0 0 100 ${OVERVIEW}`);
    this.overview.setAttribute("preserveAspectRatio", "none");
    this.overview.style.width = this.width + "px";
    this.overview.replaceChildren();
    const step = (OVERVIEW - 6) / Math.max(1, this.tiers.length), rows = new Map(this.tiers.map((word, row) => [word, row]));
    for (const sign of this.signs.slice(0, MOST_SIGNS)) svg(this.overview, "rect", { class: "mark " + (sign.confidence || ""), x: share(sign.start), width: Math.max(0.2, share(sign.end - sign.start)), y: 3 + step * (rows.get(sign.word) || 0), height: Math.max(1.5, step - 1) });
    this.window = svg(this.overview, "rect", { class: "window", x: share(this.from), width: share(this.to - this.from), y: 0, height: OVERVIEW, tabindex: 0, role: "slider", "data-focus": "window", "aria-label": t("position"), "aria-valuemin": 0, "aria-valuemax": this.duration.toFixed(1), "aria-valuenow": this.from.toFixed(1), "aria-valuetext": clock(this.from, 1) + " – " + clock(this.to, 1) });
    this.here = svg(this.overview, "rect", { class: "here", y: 0, width: 0.25, height: OVERVIEW });
    this.window.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -0.25, ArrowRight: 0.25, PageUp: -1, PageDown: 1 }[event.key];
      if (step) this.key(event, () => this.view(this.from + step * (this.to - this.from), this.to + step * (this.to - this.from)));
    });
  }

  drawAxis() {
    const size = timeStep(this.to - this.from, this.width), labels = [];
    for (let at = Math.ceil(this.from / size) * size; at <= this.to + 1e-9; at += size) {
      const label = element("span", {}, clock(at, size < 1 ? 1 : 0));
      label.style.left = this.left + this.position(at) + "px";
      labels.push(label);
    }
    this.axis.replaceChildren(...labels);
  }

  tier(word, signs) {
    const strip = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    for (const [key, value] of Object.entries({ class: "tier-signs", width: this.width, height: ROW })) strip.setAttribute(key, value);
    let added = null;
    if (this.editable) {
      let from = 0;
      this.hold(strip, (event, began) => {
        from = this.timeAt(began);
        added = added || svg(strip, "rect", { class: "sign new", y: 3, height: ROW - 6 });
        const [a, b] = [from, this.timeAt(event.clientX)].sort((x, y) => x - y);
        Object.assign(strip, { span: [Math.max(0, a), Math.min(this.duration, b)] });
        added.setAttribute("x", this.position(a));
        added.setAttribute("width", Math.max(1, this.position(b) - this.position(a)));
      }, (moved) => { if (moved && added && strip.span[1] - strip.span[0] >= SHORTEST) this.hooks.add(word, round(strip.span[0]), round(strip.span[1])); });
    }
    strip.addEventListener("click", (event) => { if (event.target === strip && !added) this.hooks.go(this.timeAt(event.clientX)); });
    for (const sign of signs) this.block(strip, sign);
    return element("div", { class: "tier" }, element("span", { class: "tier-name", title: word }, word), strip);
  }

  block(strip, sign) {
    const x = this.position(sign.start), name = t("sign_at", { word: sign.word, time: clock(sign.time, 2) }) + (sign.confidence ? ", " + t(sign.confidence) : "") + (sign.note ? ": " + sign.note : "");
    const block = svg(strip, "g", { class: `sign ${sign.confidence || ""} ${sign.decision || ""}${sign === this.chosen ? " chosen" : ""}${sign.note ? " noted" : ""}`, tabindex: 0, role: "button", "aria-label": name, "aria-pressed": String(sign === this.chosen), "data-focus": "sign " + sign.key, "data-start": sign.start, "data-end": sign.end });
    svg(block, "title", {}, name);
    const bar = svg(block, "rect", { x, y: 3, rx: 3, height: ROW - 6, width: Math.max(3, this.position(sign.end) - x) });
    const move = (by) => this.shift(sign, by);
    block.addEventListener("click", (event) => event.stopPropagation());
    if (this.editable) {
      keepFinger(block);
      let shifted = 0;
      this.hold(block, (event, began) => { shifted = this.timeAt(event.clientX) - this.timeAt(began); bar.setAttribute("transform", `translate(${this.position(this.from + shifted)} 0)`); }, (moved) => (moved ? move(shifted) : this.hooks.choose(sign)));
    } else block.addEventListener("pointerup", () => this.hooks.choose(sign));
    block.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") this.key(event, () => this.hooks.choose(sign));
      else if (this.editable && event.key === "Delete") this.key(event, () => this.hooks.remove(sign));
      else if (this.editable && event.key === "ArrowLeft") this.key(event, () => move(-FRAME));
      else if (this.editable && event.key === "ArrowRight") this.key(event, () => move(FRAME));
    });
    if (this.editable && sign === this.chosen) for (const side of ["start", "end"]) this.edge(strip, sign, side);
  }

  // A boundary of the chosen sign, dragged or moved by arrow keys, a frame at a time. It is taken hold of outside, so that a short sign
  // has two, or inside where the timeline ends.
  edge(strip, sign, side) {
    const x = this.position(sign[side]), outside = side === "start" ? -1 : 1, out = x + 16 * outside < 0 || x + 16 * outside > this.width ? -outside : outside;
    const handle = svg(strip, "g", { class: "edge", "data-edge": side, "data-focus": side, transform: `translate(${x} 0)`, tabindex: 0, role: "slider", "aria-label": t(side + "_of"), "aria-valuenow": sign[side].toFixed(2), "aria-valuemin": 0, "aria-valuemax": this.duration.toFixed(2) });
    svg(handle, "rect", { class: "edge-area", x: out < 0 ? -16 : 0, width: 16, height: ROW });
    svg(handle, "path", { d: `M 0 2 h ${7 * out} v ${ROW - 4} h ${-7 * out} z` });
    let value = sign[side];
    const limit = (seconds) => (side === "start" ? Math.min(Math.max(0, seconds), sign.end - SHORTEST) : Math.max(Math.min(this.duration, seconds), sign.start + SHORTEST));
    const set = (seconds) => this.hooks.change(sign, { [side]: round(limit(seconds)) });
    keepFinger(handle);
    handle.addEventListener("click", (event) => event.stopPropagation());
    this.hold(handle, (event) => { value = limit(this.timeAt(event.clientX)); handle.setAttribute("transform", `translate(${this.position(value)} 0)`); }, (moved) => (moved ? set(value) : handle.focus()));
    handle.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -FRAME, ArrowRight: FRAME }[event.key];
      if (step) this.key(event, () => set(sign[side] + step));
    });
  }

  shift(sign, by) {
    const length = sign.end - sign.start, start = Math.min(Math.max(0, sign.start + by), Math.max(0, this.duration - length));
    this.hooks.change(sign, { start: round(start), end: round(start + length) });
  }

  key(event, act) {
    event.preventDefault();
    event.stopPropagation();
    act();
  }

  at(time) {
    this.time = time;
    this.cursor.hidden = time < this.from || time > this.to;
    this.cursor.style.left = this.left + this.position(time) + "px";
    if (this.here) this.here.setAttribute("x", (100 * time) / this.duration);
  }
}
