// The library: uploads and jobs with progress; counts and states of videos are refreshed.
import { ask, data, element, hideMissingImages, notify, problem, refreshParts, send, submitOnce, t, takeDrops } from "./workbench.js";

const list = document.getElementById("jobs"), section = document.getElementById("jobs-section");
let active = false;

function showJob(job) {
  const existing = list.querySelector(`[data-job="${CSS.escape(job.id)}"]`), item = existing || element("li", { "data-job": job.id });
  const state = job.state === "failed" ? t("failed_job") : t(job.state);
  const bar = element("progress", { "aria-label": job.title });
  if (job.state === "done") { bar.max = 1; bar.value = 1; }
  else if (job.total) { bar.max = job.total; bar.value = job.done; }
  else if (job.state !== "running") { bar.max = 1; bar.value = 0; }
  const stage = data.strings["js.stage_" + job.stage] || job.stage;
  const amount = job.state === "running" && job.total ? `, ${stage}: ${job.done}/${job.total}` : "";
  const text = element("span", { class: "quiet" }, state + amount + (job.message ? ": " + job.message : ""));
  const buttons = element("span");
  const action = { waiting: "cancel", running: "cancel", cancelled: "resume", failed: "resume" }[job.state];
  if (action && data.role >= 3) {
    const button = element("button", { class: "button small" }, t(action), element("span", { class: "away" }, " " + job.title));
    button.addEventListener("click", () => ask("POST", `/api/jobs/${job.id}/${action}`).then(refreshJobs).catch(problem));
    buttons.append(button);
  }
  item.replaceChildren(element("span", {}, t(job.kind) + " · " + job.title), bar, text, buttons);
  item.dataset.state = job.state;
  if (!existing) list.append(item);
}

async function refreshJobs() {
  let jobs;
  try { jobs = await ask("GET", "/api/jobs"); } catch { setTimeout(refreshJobs, 2000); return; }
  section.hidden = !jobs.length;
  const ids = new Set(jobs.map((job) => job.id));
  for (const item of [...list.children]) if (!ids.has(item.dataset.job)) item.remove();
  const focused = document.activeElement && document.activeElement.closest("[data-job]");
  jobs.forEach(showJob);
  if (focused) { const again = focused.querySelector("button"); if (again) again.focus(); }
  const isBusy = jobs.some((job) => job.state === "waiting" || job.state === "running");
  if (isBusy || active || document.querySelector("[data-looking]")) refreshParts();
  active = isBusy;
  clearTimeout(refreshJobs.timer);
  refreshJobs.timer = setTimeout(refreshJobs, isBusy || document.querySelector("[data-looking]") ? 1500 : 5000);
}

function upload(files) {
  const uploads = document.getElementById("uploads");
  return Promise.all([...files].map(async (file) => {
    const bar = element("progress", { max: 1, value: 0, "aria-label": file.name });
    const text = element("span", { class: "quiet" });
    uploads.append(element("li", {}, element("span", {}, file.name), bar, text));
    try {
      const stored = await send("PUT", "/api/uploads/" + encodeURIComponent(file.name), file, (share) => {
        bar.value = share;
        text.textContent = share < 1 ? t("uploading", { percent: Math.round(100 * share) }) : t("checking");
      });
      bar.value = 1;
      text.textContent = t("uploaded", { name: stored.name });
      if (stored.kind !== "subtitles") await ask("POST", "/api/jobs", { kind: "prepare", video: stored.name });
      refreshParts();
      refreshJobs();
    } catch (error) {
      text.textContent = t("failed", { reason: error.message });
      bar.value = 0;
    }
  }));
}

if (document.getElementById("drop")) {
  document.getElementById("files").addEventListener("change", (event) => upload(event.target.files));
  takeDrops(upload);
  document.getElementById("clear").addEventListener("click", () => ask("POST", "/api/jobs/clear").then(refreshJobs));
  document.getElementById("prepare-all").addEventListener("click", () => ask("POST", "/api/jobs/prepare-all").then(refreshJobs).catch(problem));
  document.getElementById("video-list").addEventListener("click", (event) => {
    const button = event.target.closest("[data-prepare]");
    if (!button) return;
    button.disabled = true;
    ask("POST", "/api/jobs", { kind: "prepare", video: button.dataset.prepare }).then(refreshJobs).catch(problem);
  });
}
const form = document.getElementById("job");
if (form) {
  form.elements.kind.addEventListener("change", () => {
    const adapts = form.elements.kind.value === "adapt";
    for (const [name, hidden] of [["steps", !adapts], ["confirmed", adapts]]) form.elements[name].closest("label").hidden = hidden;
  });
  submitOnce(form, async (values) => {
    await ask("POST", "/api/jobs", { ...values, confirmed: form.elements.confirmed.checked, language: document.documentElement.lang });
    notify(t("job_added"));
    await refreshJobs();
  });
}
hideMissingImages();
refreshJobs();
