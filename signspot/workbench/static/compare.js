// Signs side by side and in time with each other; a learner's clip beside the model; faux amis of two dictionaries.
import { ask, data, element, exemplarFilm, path, problem, send, t } from "./bench.js";
import { combobox } from "./combo.js";
import { Skeleton } from "./skeleton.js";

const side = document.getElementById("side"), signs = document.getElementById("dictionary"), input = document.getElementById("word");
let shown = [], playing = true, rate = 1, frame = 0, since = 0, skeletons = false;
const ROUND = 1.6; // seconds in which every sign is shown once

function figure(name, address, span, skeleton) {
  const film = element("video", { muted: true, playsInline: true, preload: "auto", src: address });
  const canvas = element("canvas", { "aria-hidden": "true" });
  const bones = skeleton ? new Skeleton(canvas, film, skeleton) : null;
  return { film, span, bones, root: element("figure", {}, element("div", { class: "screen" }, film, canvas), element("figcaption", {}, name)) };
}

async function spanOf(id) {
  const found = await ask("GET", `/api/dictionaries/${path(signs.value)}/span?id=${encodeURIComponent(id)}`).catch(() => ({ segment: null }));
  return found.segment || [0, 1];
}

async function show(word) {
  if (!signs.value || !word.trim()) return [];
  problem(null);
  const found = await ask("GET", `/api/dictionaries/${path(signs.value)}/exemplars?word=${encodeURIComponent(word)}`).catch((error) => { problem(error); return []; });
  const groups = found.length > 1 ? await ask("GET", `/api/variants/${path(signs.value)}?word=${encodeURIComponent(word)}`).catch(() => []) : [];
  const group = (exemplar) => exemplar.variant || (groups.length > 1 ? (groups.find((each) => each.exemplars.includes(exemplar.id)) || {}).name : "") || "";
  const films = found.filter((exemplar) => exemplar.film).sort((a, b) => group(a).localeCompare(group(b))).slice(0, 12);
  shown = await Promise.all(films.map(async (exemplar) => {
    const name = exemplar.id + (group(exemplar) ? " · " + t("variant", { name: group(exemplar) }) : "");
    return figure(name, exemplarFilm(signs.value, exemplar.id), await spanOf(exemplar.id), () => `/api/skeleton/exemplar/${path(signs.value)}?id=${encodeURIComponent(exemplar.id)}`);
  }));
  layout();
  history.replaceState(null, "", "/compare?" + new URLSearchParams({ dictionary: signs.value, word }));
  return shown;
}

function layout() {
  side.replaceChildren(...shown.map((each) => each.root));
  document.getElementById("controls").hidden = !shown.length;
  since = performance.now();
  cancelAnimationFrame(frame);
  frame = requestAnimationFrame(follow);
}

// All films are set to the same share of their sign, so that they stay in time whatever their lengths.
function follow(now) {
  if (playing) {
    const share = (((now - since) * rate) / 1000 / ROUND) % 1.15;
    for (const each of shown) {
      const wanted = each.span[0] + Math.min(1, share) * (each.span[1] - each.span[0]);
      if (!each.film.seeking && Math.abs(each.film.currentTime - wanted) > 0.03) each.film.currentTime = wanted;
      if (each.bones) { each.bones.on = skeletons; each.bones.draw(each.film.currentTime); }
    }
  }
  frame = requestAnimationFrame(follow);
}

async function compareClip(file) {
  if (!file || !input.value.trim()) { problem(t("word_first")); return; }
  await show(input.value);
  try {
    const query = new URLSearchParams({ dictionary: signs.value, word: input.value, name: file.name });
    const found = await send("PUT", "/api/feedback?" + query, file);
    shown = [figure(t("mine"), URL.createObjectURL(file), found.span, null), ...shown];
    layout();
    document.getElementById("feedback").hidden = false;
    const verdict = t(found.right ? "right" : "not_right", { word: found.word, rank: found.rank, of: found.of });
    const instead = found.instead.length ? [element("p", {}, t("instead", { words: found.instead.map((each) => each.word).join(", ") }))] : [];
    const told = found.differences.map((each) => element("li", {}, each.words));
    document.getElementById("differences").replaceChildren(element("p", { class: "big" }, verdict), ...instead, element("ul", {}, ...told));
  } catch (error) { problem(error); }
}

function pair(each) {
  const films = [[data.dictionary, each.one], [each.dictionary, each.other]].map(([dictionary, sign]) => element("img", { alt: sign.word, loading: "lazy", src: "/api/thumbnail/exemplar/" + path(dictionary) + "?id=" + encodeURIComponent(sign.exemplar) }));
  return element("li", { class: "card" }, ...films, element("strong", {}, `${each.one.word} ≈ ${each.other.word}`), element("span", { class: "quiet" }, t("cost", { cost: each.cost.toFixed(2) })));
}

document.getElementById("ask").addEventListener("submit", (event) => { event.preventDefault(); show(input.value); });
combobox(input, document.getElementById("choices"), () => signs.value, show);
document.getElementById("clip").addEventListener("change", (event) => compareClip(event.target.files[0]));
document.getElementById("play").addEventListener("click", (event) => {
  playing = !playing;
  event.target.setAttribute("aria-pressed", String(playing));
});
document.getElementById("half").addEventListener("click", (event) => { rate = rate === 1 ? 0.5 : 1; event.target.setAttribute("aria-pressed", String(rate < 1)); });
document.getElementById("show-skeleton").addEventListener("click", (event) => { skeletons = !skeletons; event.target.setAttribute("aria-pressed", String(skeletons)); });
const faux = document.getElementById("faux");
if (faux) faux.addEventListener("submit", async (event) => {
  event.preventDefault();
  const other = new FormData(faux).get("other");
  const found = await ask("GET", `/api/faux-amis?${new URLSearchParams({ dictionary: signs.value, other })}`).catch((error) => { problem(error); return []; });
  document.getElementById("pairs").replaceChildren(...found.map((each) => pair({ ...each, dictionary: other })));
  if (!found.length) problem(t("none_alike"));
});
if (matchMedia("(prefers-reduced-motion: reduce)").matches) { playing = false; document.getElementById("play").setAttribute("aria-pressed", "false"); }
if (data.word) show(data.word);
