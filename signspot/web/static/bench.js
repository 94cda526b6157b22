// What every page shares: its data, texts in the visitor's language, requests, short notices.
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
    const said = await answer.json().catch(() => ({ error: answer.statusText }));
    throw new RequestError(said.error || answer.statusText, answer.status);
  }
  return answer.json();
}

// Sends a file as a raw body; `progress` is told the share that is sent.
export function send(method, address, file, progress = () => {}) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open(method, address);
    request.setRequestHeader("X-Signspot", "1");
    request.upload.addEventListener("progress", (event) => event.lengthComputable && progress(event.loaded / event.total));
    request.addEventListener("error", () => reject(new RequestError(t("offline"), 0)));
    request.addEventListener("load", () => {
      let said = {};
      try { said = JSON.parse(request.responseText); } catch { /* told by status */ }
      if (request.status < 300) resolve(said);
      else reject(new RequestError(said.error || request.statusText, request.status));
    });
    request.send(file);
  });
}

export function tell(text) {
  const line = document.createElement("p");
  line.textContent = text;
  document.getElementById("told").append(line);
  setTimeout(() => line.remove(), 4000);
}

// Says that something is being done, until it is.
export function busy(work, text) {
  const line = element("p", { class: "busy" }, text);
  document.getElementById("told").append(line);
  return work.finally(() => line.remove());
}

// Files that are dropped anywhere on the page.
export function takeDrops(act) {
  const place = document.getElementById("main"), over = (on) => place.classList.toggle("dropping", on);
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

export function problem(error) {
  const place = document.getElementById("problem");
  const text = error ? t("failed", { reason: error.message || error }) : "";
  if (!place) { if (text) tell(text); return; }
  place.textContent = text;
  place.hidden = !text;
}

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key in made && key !== "list" && typeof value !== "string") made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

export async function download(answer) {
  const name = /filename="([^"]+)"/.exec(answer.headers.get("content-disposition") || "");
  const link = element("a", { href: URL.createObjectURL(await answer.blob()), download: name ? name[1] : "export" });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

export const picture = (dictionary, word) => "/api/thumbnail/word/" + path(dictionary) + "?word=" + encodeURIComponent(word);
export const exemplarFilm = (dictionary, id) => "/api/exemplar/" + path(dictionary) + "?id=" + encodeURIComponent(id);

document.querySelectorAll("[data-language]").forEach((link) => {
  link.href += "?back=" + encodeURIComponent(location.pathname + location.search);
});

// Forms that only a script can send: their buttons wait until the page's own script, which runs after this one, hears them.
setTimeout(() => document.querySelectorAll("button[data-waits]").forEach((button) => { button.disabled = false; }));
