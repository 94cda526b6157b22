// A dictionary: words with their exemplars; an editor for one exemplar.
import { ask, data, element, exemplarFilm, path, problem, send, t, tell } from "./bench.js";

const SIZE = 60, list = document.getElementById("words"), more = document.getElementById("more"), editor = document.getElementById("editor");
const form = document.getElementById("edit"), film = document.getElementById("film");
let page = 0, current = null;

function exemplarButton(word, exemplar) {
  const image = element("img", { alt: "", loading: "lazy", src: "/api/thumbnail/exemplar/" + path(data.dictionary) + "?id=" + encodeURIComponent(exemplar.id) });
  image.addEventListener("error", () => image.removeAttribute("src"));
  const button = element("button", { "aria-label": t("edit", { id: exemplar.id }), title: exemplar.id }, image);
  button.addEventListener("click", () => edit(exemplar));
  return button;
}

function card(entry) {
  const made = element("li", { class: "card" });
  made.append(exemplarButton(entry.word, entry.exemplars[0]), element("strong", {}, entry.word), element("span", { class: "quiet" }, t("exemplars", { count: entry.exemplars.length })));
  const variants = [...new Set(entry.exemplars.map((each) => each.variant).filter(Boolean))];
  if (variants.length) made.append(element("span", { class: "quiet" }, variants.map((name) => t("variant", { name })).join(", ")));
  if (entry.exemplars.length > 1) {
    const others = element("span", { class: "others" });
    others.append(...entry.exemplars.slice(1).map((each) => exemplarButton(entry.word, each)));
    made.append(others);
  }
  return made;
}

async function load(fresh) {
  if (!data.dictionary) return;
  if (fresh) { page = 0; list.replaceChildren(); }
  const query = new URLSearchParams({ q: data.q, page: String(page), size: String(SIZE) });
  const found = await ask("GET", `/api/dictionaries/${path(data.dictionary)}/words?${query}`).catch((error) => { problem(error); return { words: [], count: 0 }; });
  list.append(...found.words.map(card));
  page += 1;
  document.getElementById("count").textContent = t("words", { count: found.count });
  more.hidden = list.children.length >= found.count;
}

async function edit(exemplar) {
  current = exemplar;
  document.getElementById("editor-title").textContent = exemplar.id;
  for (const name of ["word", "variant", "signer", "licence", "consent"]) form.elements[name].value = exemplar[name] || "";
  film.parentElement.hidden = !exemplar.film;
  if (exemplar.film) film.src = exemplarFilm(data.dictionary, exemplar.id);
  editor.showModal();
  const found = await ask("GET", `/api/dictionaries/${path(data.dictionary)}/span?id=${encodeURIComponent(exemplar.id)}`).catch(() => ({ segment: null }));
  current.shown = found.segment || [0, 0];
  form.elements.start.value = current.shown[0].toFixed(2);
  form.elements.end.value = current.shown[1].toFixed(2);
  film.play().catch(() => {});
}

film.addEventListener("timeupdate", () => {
  const end = Number(form.elements.end.value), start = Number(form.elements.start.value);
  if (!film.paused && end > start && (film.currentTime > end || film.currentTime < start - 0.2)) film.currentTime = start;
});
document.getElementById("set-start").addEventListener("click", () => { form.elements.start.value = film.currentTime.toFixed(2); });
document.getElementById("set-end").addEventListener("click", () => { form.elements.end.value = film.currentTime.toFixed(2); });
editor.addEventListener("close", async () => {
  film.pause();
  const what = editor.returnValue, address = `/api/dictionaries/${path(data.dictionary)}/exemplar?id=${encodeURIComponent(current.id)}`;
  editor.returnValue = "";
  problem(null);
  try {
    if (what === "save") {
      const values = {};
      for (const name of ["word", "variant", "signer", "licence", "consent"]) values[name] = form.elements[name].value;
      const span = [Number(form.elements.start.value), Number(form.elements.end.value)];
      const moved = current.shown && (Math.abs(span[0] - current.shown[0]) > 0.006 || Math.abs(span[1] - current.shown[1]) > 0.006);
      if (moved && span[1] > span[0]) values.segment = span;
      await ask("PATCH", address, values);
    } else if (what === "remove") await ask("DELETE", address);
    else return;
    tell(t("saved"));
    await load(true);
  } catch (error) { problem(error); }
});
const add = document.getElementById("add");
if (add) add.addEventListener("submit", async (event) => {
  event.preventDefault();
  const file = add.elements.file.files[0];
  const query = new URLSearchParams({ word: add.elements.word.value, signer: add.elements.signer.value, licence: add.elements.licence.value, file: file.name });
  problem(null);
  try {
    await send("PUT", `/api/dictionaries/${path(data.dictionary)}/exemplar?${query}`, file);
    tell(t("saved"));
    add.reset();
    await load(true);
  } catch (error) { problem(error); }
});
more.addEventListener("click", () => load(false));
load(true);
