// The library: uploads with progress, jobs with live progress, the state of each video.
import { ask, data, element, problem, send, t, takeDrops, tell } from "./bench.js";

const list = document.getElementById("jobs");
const section = document.getElementById("jobs-section");
let active = false;

function line(job) {
  const known = list.querySelector(`[data-job="${CSS.escape(job.id)}"]`);
  const item = known || element("li", { "data-job": job.id });
  const state = job.state === "failed" ? t("failed_job") : t(job.state);
  const bar = element("progress", { "aria-label": job.title });
  if (job.state === "done") { bar.max = 1; bar.value = 1; }
  else if (job.total) { bar.max = job.total; bar.value = job.done; }
  else if (job.state !== "running") { bar.max = 1; bar.value = 0; }
  const amount = job.state === "running" && job.total ? ` ${job.stage} ${job.done}/${job.total}` : "";
  const said = element("span", { class: "quiet" }, state + amount + (job.message ? ": " + job.message : ""));
  const buttons = element("span");
  const can = { waiting: "cancel", running: "cancel", cancelled: "resume", failed: "resume" }[job.state];
  if (can && data.role >= 3) {
    const button = element("button", { class: "button small" }, t(can), element("span", { class: "away" }, " " + job.title));
    button.addEventListener("click", () => ask("POST", `/api/jobs/${job.id}/${can}`).then(refresh).catch(problem));
    buttons.append(button);
  }
  item.replaceChildren(element("span", {}, t(job.kind) + " · " + job.title), bar, said, buttons);
  item.dataset.state = job.state;
  if (!known) list.append(item);
}

async function refresh() {
  let jobs;
  try { jobs = await ask("GET", "/api/jobs"); } catch { setTimeout(refresh, 2000); return; }
  section.hidden = !jobs.length;
  const ids = new Set(jobs.map((job) => job.id));
  for (const item of [...list.children]) if (!ids.has(item.dataset.job)) item.remove();
  const focused = document.activeElement && document.activeElement.closest("[data-job]");
  jobs.forEach(line);
  if (focused) { const again = focused.querySelector("button"); if (again) again.focus(); }
  const busy = jobs.some((job) => job.state === "waiting" || job.state === "running");
  if (active && !busy) states();
  active = busy;
  clearTimeout(refresh.timer);
  refresh.timer = setTimeout(refresh, busy ? 1000 : 5000);
}

// Shows what changed without loading the page anew: a video that is ready now.
async function states() {
  const found = await ask("GET", "/api/library").catch(() => null);
  for (const video of found ? found.videos : []) {
    const card = document.querySelector(`[data-video="${CSS.escape(video.name)}"]`);
    const label = card && card.querySelector(".todo, .states li:not(.good)");
    if (card && video.ready && !card.querySelector(".good")) location.reload();
    else if (!card && !new URLSearchParams(location.search).get("q") && found.videos.length <= 60) { location.reload(); break; }
    else if (label && video.ready === null) setTimeout(states, 1500);
  }
}

function upload(files) {
  const shown = document.getElementById("uploads");
  return Promise.all([...files].map(async (file) => {
    const bar = element("progress", { max: 1, value: 0, "aria-label": file.name });
    const said = element("span", { class: "quiet" });
    shown.append(element("li", {}, element("span", {}, file.name), bar, said));
    try {
      const made = await send("PUT", "/api/uploads/" + encodeURIComponent(file.name), file, (share) => {
        bar.value = share;
        said.textContent = share < 1 ? t("uploading", { percent: Math.round(100 * share) }) : t("checking");
      });
      bar.value = 1;
      said.textContent = t("uploaded", { name: made.name });
      if (made.kind !== "subtitles") await ask("POST", "/api/jobs", { kind: "prepare", video: made.name });
      refresh();
    } catch (error) {
      said.textContent = t("failed", { reason: error.message });
      bar.value = 0;
    }
  }));
}

const drop = document.getElementById("drop");
if (drop) {
  document.getElementById("files").addEventListener("change", (event) => upload(event.target.files));
  takeDrops(upload);
  document.getElementById("clear").addEventListener("click", () => ask("POST", "/api/jobs/clear").then(refresh));
  document.getElementById("prepare-all").addEventListener("click", () => ask("POST", "/api/jobs/prepare-all").then(refresh).catch(problem));
  document.querySelectorAll("[data-prepare]").forEach((button) => button.addEventListener("click", () => {
    ask("POST", "/api/jobs", { kind: "prepare", video: button.dataset.prepare }).then(refresh).catch(problem);
    button.disabled = true;
  }));
}
const form = document.getElementById("job");
if (form) form.elements.kind.addEventListener("change", () => { form.elements.steps.closest("label").hidden = form.elements.kind.value !== "adapt"; });
if (form) form.addEventListener("submit", (event) => {
  event.preventDefault();
  const values = Object.fromEntries(new FormData(form));
  ask("POST", "/api/jobs", { ...values, language: document.documentElement.lang }).then(refresh).catch((error) => tell(t("failed", { reason: error.message })));
});
document.querySelectorAll(".card img").forEach((image) => {
  const missing = () => image.classList.add("missing");
  image.addEventListener("error", missing);
  if (image.complete && !image.naturalWidth && image.currentSrc) missing();
});
refresh();
if (document.querySelector(".states li") && !document.querySelector(".states .good")) setTimeout(states, 1500);
