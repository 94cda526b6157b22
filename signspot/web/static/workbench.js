// Shared by all pages: data of the page, texts in the visitor's language, requests, messages.
export const data = JSON.parse(document.getElementById("data").textContent);

export function t(key, values = {}) {
  const text = data.strings["js." + key] || key;
  return text.replace(/\{(\w+)\}/g, (_, name) => String(values[name]));
}

export function path(name) {
  return String(name).split("/").map(encodeURIComponent).join("/");
}

export class RequestError extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

export async function ask(method, address, body) {
  const options = { method, headers: { "X-Signspot": "1" } };
  if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers["Content-Type"] = "application/json";
  }
  const answer = await fetch(address, options);
  if (!answer.ok) {
    const problem = await answer.json().catch(() => ({}));
    throw new RequestError(problem.error || answer.statusText, answer.status);
  }
  return answer.json();
}

// Sends a file as a raw body; `progress` is called with the share that is sent.
export function send(method, address, file, progress = () => {}) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open(method, address);
    request.setRequestHeader("X-Signspot", "1");
    request.upload.addEventListener("progress", (event) => event.lengthComputable && progress(event.loaded / event.total));
    request.addEventListener("error", () => reject(new RequestError(t("offline"), 0)));
    request.addEventListener("load", () => {
      let content = {};
      try { content = JSON.parse(request.responseText); } catch { /* the status tells */ }
      if (request.status < 300) resolve(content);
      else reject(new RequestError(content.error || request.statusText, request.status));
    });
    request.send(file);
  });
}

export function notify(text) {
  const line = document.createElement("p");
  line.textContent = text;
  document.getElementById("messages").append(line);
  setTimeout(() => line.remove(), 4000);
}

// Shows a message while work is in progress.
export function busy(work, text) {
  const line = element("p", { class: "busy" }, text);
  document.getElementById("messages").append(line);
  return work.finally(() => line.remove());
}

// Calls `act` with files that are dropped anywhere on the page.
export function takeDrops(act) {
  const main = document.getElementById("main"), over = (on) => main.classList.toggle("dropping", on);
  document.addEventListener("dragover", (event) => {
    if (!event.dataTransfer || ![...event.dataTransfer.types].includes("Files")) return;
    event.preventDefault();
    over(true);
  });
  document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) over(false); });
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    over(false);
    if (event.dataTransfer.files.length) act(event.dataTransfer.files);
  });
}

// Shows an error, or a hint that is a text; null removes it.
export function problem(error) {
  const line = document.getElementById("problem");
  const text = error instanceof Error ? t("failed", { reason: error.message }) : error || "";
  if (!line) { if (text) notify(text); return; }
  line.textContent = text;
  line.hidden = !text;
}

export function element(name, attributes = {}, ...children) {
  const created = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key in created && key !== "list" && typeof value !== "string") created[key] = value;
    else created.setAttribute(key, value);
  }
  created.append(...children);
  return created;
}

export async function download(answer) {
  const name = /filename="([^"]+)"/.exec(answer.headers.get("content-disposition") || "");
  const link = element("a", { href: URL.createObjectURL(await answer.blob()), download: name ? name[1] : "export" });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

// Sends a form by `work`, once at a time: its button is disabled meanwhile, and an error is shown.
export function submitOnce(form, work) {
  let sending = false;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (sending) return;
    sending = true;
    const buttons = [...form.querySelectorAll("button")].filter((button) => !button.disabled);
    for (const button of buttons) button.disabled = true;
    problem(null);
    try { await work(Object.fromEntries(new FormData(form))); }
    catch (error) { problem(error); }
    finally {
      sending = false;
      for (const button of buttons) button.disabled = false;
    }
  });
}

// Runs `work` when a button is clicked, once at a time.
export function clickOnce(button, work) {
  button.addEventListener("click", async () => {
    problem(null);
    button.disabled = true;
    try { await work(); }
    catch (error) { problem(error); }
    finally { button.disabled = false; }
  });
}

const parts = new Map([...document.querySelectorAll("[data-refresh]")].map((part) => [part, part.innerHTML])); // as the server sent them
// Loads the page again in the background and replaces the parts marked `data-refresh` that have changed.
export async function refreshParts() {
  const answer = await fetch(location.href).catch(() => null);
  if (!answer || !answer.ok) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const [part, content] of parts) {
    const other = fresh.getElementById(part.id);
    if (!other || other.innerHTML === content) continue;
    part.innerHTML = other.innerHTML;
    parts.set(part, other.innerHTML);
  }
  hideMissingImages();
}

export function hideMissingImages() {
  document.querySelectorAll("img").forEach((image) => {
    const missing = () => image.classList.add("missing");
    image.addEventListener("error", missing);
    if (image.complete && !image.naturalWidth && image.currentSrc) missing();
  });
}

// The exemplars of a word, asked for once.
const exemplars = new Map();
export function exemplarsOf(dictionary, word) {
  const key = dictionary + "\n" + word;
  if (!exemplars.has(key)) exemplars.set(key, ask("GET", `/api/dictionaries/${path(dictionary)}/exemplars?${new URLSearchParams({ word })}`).catch(() => []));
  return exemplars.get(key);
}

// Of an exemplar, or a confirmed sign: the span of the sign in its video, [start, end] in seconds, and whether that can be played.
export async function exemplarSign(dictionary, id) {
  const answer = await ask("GET", `/api/dictionaries/${path(dictionary)}/span?id=${encodeURIComponent(id)}`).catch(() => ({}));
  return { ...answer, segment: answer.segment || [0, 1] };
}
export const exemplarSpan = async (dictionary, id) => (await exemplarSign(dictionary, id)).segment;

export const wordThumbnail = (dictionary, word) => "/api/thumbnail/word/" + path(dictionary) + "?word=" + encodeURIComponent(word);
export const exemplarThumbnail = (dictionary, id) => "/api/thumbnail/exemplar/" + path(dictionary) + "?id=" + encodeURIComponent(id);
export const exemplarVideo = (dictionary, id) => "/api/exemplar/" + path(dictionary) + "?id=" + encodeURIComponent(id);

document.querySelectorAll("[data-language]").forEach((link) => {
  link.href += "?back=" + encodeURIComponent(location.pathname + location.search);
});

// Buttons of forms that need a script are enabled once the page's own script, which runs after this one, has loaded.
setTimeout(() => document.querySelectorAll("button[data-waits]").forEach((button) => { button.disabled = false; }));
