// A dictionary: words with their exemplars; an editor for one exemplar.
import { ask, busy, data, element, exemplarFilm, path, problem, send, t, takeDrops, tell } from "./bench.js";
import { exemplarBones, livePicture, onScreen } from "./skeleton.js";

const SIZE = 60, list = document.getElementById("words"), more = document.getElementById("more"), editor = document.getElementById("editor");
const form = document.getElementById("edit");
let page = 0, turn = 0, current = null, film = null; // what the editor plays: a film, or landmarks

function exemplarButton(word, exemplar) {
  const image = element("img", { alt: "", loading: "lazy", src: "/api/thumbnail/exemplar/" + path(data.dictionary) + "?id=" + encodeURIComponent(exemplar.id) });
  const button = element("button", { "aria-label": t("edit", { id: exemplar.id }), title: exemplar.id });
  const film = exemplar.film ? exemplarFilm(data.dictionary, exemplar.id) : null;
  button.append(livePicture(button, image, { film, bones: exemplarBones(data.dictionary, exemplar.id), span: exemplar.segment }));
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
  const asked = ++turn;
  if (fresh) page = 0;
  const query = new URLSearchParams({ q: data.q, page: String(page), size: String(SIZE) });
  const found = await ask("GET", `/api/dictionaries/${path(data.dictionary)}/words?${query}`).catch((error) => { problem(error); return { words: [], count: 0 }; });
  if (asked !== turn) return; // asked again meanwhile
  if (fresh) list.replaceChildren();
  list.append(...found.words.map(card));
  page += 1;
  document.getElementById("count").textContent = t("words", { count: found.count });
  more.hidden = list.children.length >= found.count;
}

async function edit(exemplar) {
  current = exemplar;
  document.getElementById("editor-title").textContent = exemplar.id;
  for (const name of ["word", "variant", "signer", "licence", "consent"]) form.elements[name].value = exemplar[name] || "";
  editor.showModal();
  film = onScreen(document.getElementById("film"), document.getElementById("bones"), exemplar.film ? exemplarFilm(data.dictionary, exemplar.id) : null, exemplarBones(data.dictionary, exemplar.id));
  film.loop = true;
  film.addEventListener("timeupdate", within); // added twice, it is called once
  const found = await ask("GET", `/api/dictionaries/${path(data.dictionary)}/span?id=${encodeURIComponent(exemplar.id)}`).catch(() => ({ segment: null }));
  current.shown = found.segment || [0, 0];
  form.elements.start.value = current.shown[0].toFixed(2);
  form.elements.end.value = current.shown[1].toFixed(2);
  film.play().catch(() => {});
}

function within() {
  const end = Number(form.elements.end.value), start = Number(form.elements.start.value);
  if (!film.paused && end > start && (film.currentTime > end || film.currentTime < start - 0.2)) film.currentTime = start;
}
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
// Films of one word, one after the other; the first of a dictionary that is not there yet makes it.
async function addFilms(dictionary, values, files, fresh) {
  for (const [k, file] of [...files].entries()) {
    const query = new URLSearchParams({ word: values.word, signer: values.signer, licence: values.licence, file: file.name, ...(fresh && !k ? { new: "true" } : {}) });
    await busy(send("PUT", `/api/dictionaries/${path(dictionary)}/exemplar?${query}`, file), t("adding", { name: file.name }));
  }
}

for (const [id, fresh] of [["add", false], ["make", true]]) {
  const filled = document.getElementById(id);
  if (filled) filled.addEventListener("submit", async (event) => {
    event.preventDefault();
    const values = Object.fromEntries(new FormData(filled)), name = fresh ? values.name.trim() : data.dictionary;
    problem(null);
    try {
      await addFilms(name, values, filled.elements.file.files, fresh);
      if (fresh) { location.href = "/dictionary?" + new URLSearchParams({ name }); return; }
      tell(t("saved"));
      filled.reset();
      await load(true);
    } catch (error) { problem(error); }
  });
}
const target = document.getElementById("add") || document.getElementById("make");
if (target) takeDrops((files) => { target.elements.file.files = files; target.elements.word.focus(); });
document.getElementById("choice").addEventListener("change", (event) => event.target.form.submit());
const fresh = document.getElementById("new");
if (fresh && location.hash === "#new") { fresh.open = true; fresh.scrollIntoView(); }
more.addEventListener("click", () => load(false));
load(true);
