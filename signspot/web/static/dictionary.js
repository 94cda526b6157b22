// A dictionary: words with their exemplars; an editor for one exemplar.
import { ask, busy, data, element, exemplarSpan, exemplarThumbnail, exemplarVideo, notify, path, problem, send, submitOnce, t, takeDrops } from "./workbench.js";
import { exemplarSkeleton, livePreview, showSign } from "./skeleton.js";

const SIZE = 60, list = document.getElementById("words"), more = document.getElementById("more"), editor = document.getElementById("editor");
const form = document.getElementById("edit");
let page = 0, requests = 0, current = null, player = null; // the exemplar in the editor, and its video or skeleton

function exemplarButton(exemplar) {
  const image = element("img", { alt: "", loading: "lazy", src: exemplarThumbnail(data.dictionary, exemplar.id) });
  const button = element("button", { "aria-label": t("edit", { id: exemplar.id }), title: exemplar.id });
  const video = exemplar.playable ? exemplarVideo(data.dictionary, exemplar.id) : null;
  button.append(livePreview(button, image, { video, skeleton: exemplarSkeleton(data.dictionary, exemplar.id), span: exemplar.segment }));
  button.addEventListener("click", () => edit(exemplar));
  return button;
}

function card(entry) {
  const item = element("li", { class: "card" }), link = element("a", { href: "/compare?" + new URLSearchParams({ dictionary: data.dictionary, word: entry.word }) }, element("strong", {}, entry.word));
  item.append(exemplarButton(entry.exemplars[0]), link, element("span", { class: "quiet" }, t("exemplars", { count: entry.exemplars.length })));
  const variants = [...new Set(entry.exemplars.map(({ variant }) => variant).filter(Boolean))];
  if (variants.length) item.append(element("span", { class: "quiet" }, variants.map((name) => t("variant", { name })).join(", ")));
  if (entry.exemplars.length > 1) {
    const others = element("span", { class: "others" });
    others.append(...entry.exemplars.slice(1).map(exemplarButton));
    item.append(others);
  }
  return item;
}

async function load(fresh) {
  if (!data.dictionary) return;
  const number = ++requests;
  if (fresh) page = 0;
  const query = new URLSearchParams({ q: data.q, page: String(page), size: String(SIZE) });
  const answer = await ask("GET", `/api/dictionaries/${path(data.dictionary)}/words?${query}`).catch((error) => { problem(error); return { words: [], count: 0 }; });
  if (number !== requests) return; // another request was sent in the meantime
  if (fresh) list.replaceChildren();
  list.append(...answer.words.map(card));
  page += 1;
  document.getElementById("count").textContent = t("words", { count: answer.count });
  more.hidden = list.children.length >= answer.count;
  document.getElementById("no-words").hidden = answer.count > 0;
}

async function edit(exemplar) {
  current = exemplar;
  document.getElementById("editor-title").textContent = exemplar.id;
  for (const name of ["word", "variant", "signer", "licence", "consent"]) form.elements[name].value = exemplar[name] || "";
  editor.showModal();
  player = showSign(document.getElementById("video"), document.getElementById("skeleton"), exemplar.playable ? exemplarVideo(data.dictionary, exemplar.id) : null, exemplarSkeleton(data.dictionary, exemplar.id));
  player.loop = true;
  player.addEventListener("timeupdate", within); // added twice, it is called once
  current.span = await exemplarSpan(data.dictionary, exemplar.id);
  form.elements.start.value = current.span[0].toFixed(2);
  form.elements.end.value = current.span[1].toFixed(2);
  player.play().catch(() => {});
}

function within() {
  const end = Number(form.elements.end.value), start = Number(form.elements.start.value);
  if (!player.paused && end > start && (player.currentTime > end || player.currentTime < start - 0.2)) player.currentTime = start;
}
document.getElementById("set-start").addEventListener("click", () => { form.elements.start.value = player.currentTime.toFixed(2); });
document.getElementById("set-end").addEventListener("click", () => { form.elements.end.value = player.currentTime.toFixed(2); });
editor.addEventListener("close", async () => {
  player.pause();
  const what = editor.returnValue, address = `/api/dictionaries/${path(data.dictionary)}/exemplar?id=${encodeURIComponent(current.id)}`;
  editor.returnValue = "";
  problem(null);
  try {
    if (what === "save") {
      const values = {};
      for (const name of ["word", "variant", "signer", "licence", "consent"]) values[name] = form.elements[name].value;
      const span = [Number(form.elements.start.value), Number(form.elements.end.value)];
      const moved = current.span && (Math.abs(span[0] - current.span[0]) > 0.006 || Math.abs(span[1] - current.span[1]) > 0.006);
      if (moved && span[1] > span[0]) values.segment = span;
      await ask("PATCH", address, values);
    } else if (what === "remove") await ask("DELETE", address);
    else return;
    notify(t("saved"));
    await load(true);
  } catch (error) { problem(error); }
});
// Uploads videos of one word, one after the other; the first creates the dictionary if it is `fresh`.
async function addVideos(dictionary, values, files, fresh) {
  for (const [k, file] of [...files].entries()) {
    const query = new URLSearchParams({ word: values.word, signer: values.signer, licence: values.licence, file: file.name, ...(fresh && !k ? { new: "true" } : {}) });
    await busy(send("PUT", `/api/dictionaries/${path(dictionary)}/exemplar?${query}`, file), t("adding", { name: file.name }));
  }
}

for (const [id, fresh] of [["add", false], ["make", true]]) {
  const target = document.getElementById(id);
  if (target) submitOnce(target, async (values) => {
    const name = fresh ? values.name.trim() : data.dictionary;
    await addVideos(name, values, target.elements.file.files, fresh);
    if (fresh) { location.href = "/dictionary?" + new URLSearchParams({ name }); return; }
    notify(t("saved"));
    target.reset();
    await load(true);
  });
}
const target = document.getElementById("add") || document.getElementById("make");
if (target) takeDrops((files) => { target.elements.file.files = files; target.elements.word.focus(); });
document.getElementById("choice").addEventListener("change", (event) => event.target.form.submit());
const fresh = document.getElementById("new");
if (fresh && location.hash === "#new") { fresh.open = true; fresh.scrollIntoView(); }
more.addEventListener("click", () => load(false));
load(true);
