const data = JSON.parse(document.getElementById("data").textContent);
const video = document.querySelector("video");
const rows = document.getElementById("rows");
const now = document.getElementById("now");
const subtitle = document.getElementById("subtitle");
const HEIGHT = 150, TOP = 14, BOTTOM = 22, LEFT = 34, RIGHT = 18, FRAME = 1 / 25;
const duration = Math.max(data.duration, FRAME);
let zoom = 1, time = 0, cursors = [];

function go(seconds, play) {
  time = Math.min(Math.max(seconds, 0), duration);
  if (video) {
    video.currentTime = time;
    if (play) video.play().catch(() => {});
  }
  show();
}

function show() {
  const here = data.spottings.filter((spotting) => spotting.start <= time && time < spotting.end);
  const text = here.map((spotting) => spotting.word + "  " + spotting.score.toFixed(2)).join(" · ");
  if (now.textContent !== text) now.textContent = text;
  if (subtitle) {
    const line = data.subtitles.find((one) => one.start <= time && time < one.end);
    subtitle.textContent = line ? line.text : "";
  }
  for (const row of rows.children) {
    row.classList.toggle("now", here.includes(data.spottings[row.dataset.index]));
  }
  for (const { line, place } of cursors) {
    line.setAttribute("x1", place(time));
    line.setAttribute("x2", place(time));
  }
  if (zoom > 1 && video && !video.paused) follow();
}

function scrollTo(left) {
  for (const { line } of cursors) line.closest(".scroll").scrollLeft = left;
}

function follow() {
  for (const { line, place } of cursors.slice(0, 1)) {
    const holder = line.closest(".scroll");
    const at = place(time) - holder.scrollLeft;
    if (at < 0 || at > holder.clientWidth) scrollTo(place(time) - holder.clientWidth / 4);
  }
}

function drawAxes(chart, width, place, up, threshold) {
  const size = timeStep(duration, width);
  for (let at = 0; at <= duration + 1e-9; at += size) {
    svg(chart, "line", { class: "grid", x1: place(at), x2: place(at), y1: TOP, y2: HEIGHT - BOTTOM });
    svg(chart, "text", { x: place(at), y: HEIGHT - 6, "text-anchor": "middle" }, clock(at, size < 1 ? 1 : 0));
  }
  for (let score = Math.ceil(data.low * 5) / 5; score <= 1.0001; score += 0.2) {
    svg(chart, "line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: up(score), y2: up(score) });
    svg(chart, "text", { x: LEFT - 6, y: up(score) + 4, "text-anchor": "end" }, score.toFixed(1));
  }
  if (threshold === null) return;
  const line = { class: "threshold", x1: LEFT, x2: width - RIGHT, y1: up(threshold), y2: up(threshold) };
  svg(svg(chart, "line", line), "title", {}, "threshold " + threshold.toFixed(2));
}

function drawSpotting(chart, spotting, place, up) {
  const colour = "c" + spotting.colour;
  const x = place(Math.max(0, spotting.start));
  const box = { class: "span " + colour, x, y: TOP, height: HEIGHT - TOP - BOTTOM };
  chart.prepend(svg(chart, "rect", { ...box, width: Math.max(1, place(spotting.end) - x) }));
  return () => {
    const name = spotting.word + ", score " + spotting.score.toFixed(2) + ", at " + clock(spotting.time, 2);
    const where = { cx: place(spotting.time), cy: up(spotting.score), r: 6 };
    const peak = svg(chart, "circle", { class: "peak " + colour, tabindex: 0, role: "button", "aria-label": name, ...where });
    svg(peak, "title", {}, name);
    const jump = (event) => { event.stopPropagation(); event.preventDefault(); go(spotting.start, true); };
    peak.addEventListener("click", jump);
    peak.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") jump(event); });
  };
}

function drawPanel(panel, number) {
  const holder = document.getElementById("panel-" + number);
  const width = Math.max(200, Math.round(holder.clientWidth * zoom));
  const place = (seconds) => LEFT + (seconds / duration) * (width - LEFT - RIGHT);
  const up = (score) => TOP + ((1 - score) / (1 - data.low)) * (HEIGHT - TOP - BOTTOM);
  holder.replaceChildren();
  const chart = svg(holder, "svg", { width, height: HEIGHT, role: "group", "aria-label": "Score of " + panel.word });
  drawAxes(chart, width, place, up, panel.threshold);
  const peaks = data.spottings.filter((s) => s.panel === number).map((s) => drawSpotting(chart, s, place, up));
  const line = (curve, name) => {
    const points = curve.times.map((at, k) => place(at).toFixed(1) + "," + up(curve.scores[k]).toFixed(1)).join(" ");
    svg(chart, "polyline", { class: "curve " + name, points });
  };
  const part = panel.word_curve ? " part" : "";
  for (const curve of [...panel.curves].sort((a, b) => a.best - b.best)) if (!curve.hidden) line(curve, "c" + curve.colour + part);
  if (panel.word_curve) line(panel.word_curve, "word");
  cursors.push({ line: svg(chart, "line", { class: "cursor", y1: TOP, y2: HEIGHT - BOTTOM }), place });
  peaks.forEach((draw) => draw());
  chart.addEventListener("click", (event) => {
    const x = event.clientX - chart.getBoundingClientRect().left;
    go(((x - LEFT) / (width - LEFT - RIGHT)) * duration, true);
  });
}

function draw() {
  const holder = document.querySelector(".scroll");
  const left = holder ? holder.scrollLeft : 0;
  cursors = [];
  data.panels.forEach(drawPanel);
  scrollTo(left);
  show();
}

function scale(factor) {
  zoom = Math.min(Math.max(zoom * factor, 1), Math.max(1, duration / 4));
  draw();
  for (const { line, place } of cursors.slice(0, 1)) scrollTo(place(time) - line.closest(".scroll").clientWidth / 2);
}

function sortRows(button) {
  const head = button.closest("th");
  const down = head.getAttribute("aria-sort") === "ascending";
  document.querySelectorAll("th[aria-sort]").forEach((other) => other.removeAttribute("aria-sort"));
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const value = (row) => data.spottings[row.dataset.index][button.dataset.sort];
  const compare = (a, b) => (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0);
  const sorted = [...rows.children].sort((a, b) => (down ? compare(b, a) : compare(a, b)));
  rows.append(...sorted);
}

function neighbour(direction) {
  const starts = [...new Set(data.spottings.map((spotting) => spotting.start))].sort((a, b) => a - b);
  const later = starts.find((start) => start > time + 0.01);
  const earlier = starts.filter((start) => start < time - 0.5).pop();
  const target = direction > 0 ? later : earlier;
  if (target !== undefined) go(target, true);
}

rows.addEventListener("click", (event) => {
  const row = event.target.closest("tr");
  if (row) go(data.spottings[row.dataset.index].start, true);
});
document.querySelectorAll("[data-sort]").forEach((button) => button.addEventListener("click", () => sortRows(button)));
document.querySelectorAll("[data-curve]").forEach((button) => button.addEventListener("click", () => {
  const [panel, curve] = button.dataset.curve.split(" ").map(Number);
  const chosen = data.panels[panel].curves[curve];
  chosen.hidden = !chosen.hidden;
  button.setAttribute("aria-pressed", String(!chosen.hidden));
  draw();
}));
document.getElementById("in").addEventListener("click", () => scale(2));
document.getElementById("out").addEventListener("click", () => scale(0.5));
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const onControl = event.target.closest("button, video, [role=button]");
  if (event.key === "n") neighbour(1);
  else if (event.key === "p") neighbour(-1);
  else if (event.key === "+" || event.key === "=") scale(2);
  else if (event.key === "-") scale(0.5);
  else if (event.key === "ArrowRight" && event.target !== video) go(time + FRAME, false);
  else if (event.key === "ArrowLeft" && event.target !== video) go(time - FRAME, false);
  else if (event.key === " " && !onControl && video) video.paused ? video.play().catch(() => {}) : video.pause();
  else return;
  event.preventDefault();
});
if (video) {
  const watch = () => {
    time = video.currentTime;
    show();
    if (!video.paused) requestAnimationFrame(watch);
  };
  video.addEventListener("play", watch);
  video.addEventListener("seeked", watch);
}
document.querySelectorAll(".scroll").forEach((holder) => {
  holder.addEventListener("scroll", () => scrollTo(holder.scrollLeft));
});
addEventListener("resize", draw);
draw();
