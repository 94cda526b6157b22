// Signs side by side and in time with each other; a learner's clip beside the model; faux amis of two dictionaries.
import { ask, busy, data, element, exemplarFilm, path, problem, send, t, takeDrops } from "./bench.js";
import { combobox } from "./combo.js";
import { exemplarBones, isBones, livePicture, onScreen, Skeleton } from "./skeleton.js";

const side = document.getElementById("side"), signs = document.getElementById("dictionary"), input = document.getElementById("word");
let turn = 0, shown = [], playing = true, rate = 1, frame = 0, since = 0, skeletons = false;
const MOST = 12, ROUND = 1.6; // signs at once; seconds in which every sign is shown once

// A sign with its name; `address`: of its film, null where there are landmarks alone; `skeleton`: of its landmarks, or null.
function figure(name, address, span, skeleton, kind = "") {
  const video = element("video", { muted: true, playsInline: true, preload: "auto" });
  const canvas = element("canvas", { "aria-hidden": "true" });
  const film = onScreen(video, canvas, address, skeleton);
  const bones = address && skeleton ? new Skeleton(canvas, video, skeleton) : null;
  const root = element("figure", { class: kind }, element("div", { class: "screen" }, video, canvas), element("figcaption", {}, name));
  return { film, span, bones, root };
}

async function spanOf(id) {
  const found = await ask("GET", `/api/dictionaries/${path(signs.value)}/span?id=${encodeURIComponent(id)}`).catch(() => ({ segment: null }));
  return found.segment || [0, 1];
}

async function show(word) {
  if (!signs.value || !word.trim()) return [];
  problem(null);
  const asked = ++turn;
  const found = await ask("GET", `/api/dictionaries/${path(signs.value)}/exemplars?word=${encodeURIComponent(word)}`).catch((error) => { problem(error); return []; });
  const groups = found.length > 1 ? await ask("GET", `/api/variants/${path(signs.value)}?word=${encodeURIComponent(word)}`).catch(() => []) : [];
  const group = (exemplar) => exemplar.variant || (groups.length > 1 ? (groups.find((each) => each.exemplars.includes(exemplar.id)) || {}).name : "") || "";
  const films = found.sort((a, b) => group(a).localeCompare(group(b))).slice(0, MOST);
  const figures = await Promise.all(films.map(async (exemplar) => {
    const name = exemplar.id + (group(exemplar) ? " · " + t("variant", { name: group(exemplar) }) : "");
    const address = exemplar.film ? exemplarFilm(signs.value, exemplar.id) : null;
    return figure(name, address, await spanOf(exemplar.id), exemplarBones(signs.value, exemplar.id));
  }));
  if (asked !== turn) return shown; // another word was chosen meanwhile
  shown = figures;
  document.getElementById("feedback").hidden = true;
  layout();
  history.replaceState(null, "", "/compare?" + new URLSearchParams({ dictionary: signs.value, word }));
  return shown;
}

function layout() {
  side.replaceChildren(...shown.map((each) => each.root));
  document.getElementById("controls").hidden = !shown.length;
  document.getElementById("nothing").hidden = shown.length > 0;
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
    const found = await busy(send("PUT", "/api/feedback?" + query, file), t("comparing"));
    if (!isBones(file.name)) shown = [figure(t("mine"), URL.createObjectURL(file), found.span, null, "mine"), ...shown];
    layout();
    document.getElementById("feedback").hidden = false;
    const decision = t(found.right ? "right" : "not_right", { word: found.word, rank: found.rank, of: found.of });
    const instead = found.instead.length ? [element("p", {}, t("instead", { words: found.instead.map((each) => each.word).join(", ") }))] : [];
    const told = found.differences.map((each) => element("li", {}, each.words));
    document.getElementById("differences").replaceChildren(element("p", { class: "big" }, decision), ...instead, element("ul", {}, ...told));
  } catch (error) { problem(error); }
}

// Two signs that look alike: both play while either is pointed at.
function pair(each, dictionaries) {
  const card = element("li", { class: "card alike" });
  const signed = [each.one, each.other].map((sign, k) => {
    const image = element("img", { alt: "", loading: "lazy", src: "/api/thumbnail/exemplar/" + path(dictionaries[k]) + "?id=" + encodeURIComponent(sign.exemplar) });
    const film = sign.film ? exemplarFilm(dictionaries[k], sign.exemplar) : null;
    const link = element("a", { href: "/compare?" + new URLSearchParams({ dictionary: dictionaries[k], word: sign.word }) }, livePicture(card, image, { film, bones: exemplarBones(dictionaries[k], sign.exemplar) }), element("strong", {}, sign.word));
    return element("div", {}, link, element("span", { class: "quiet" }, dictionaries[k]));
  });
  card.append(...signed, element("span", { class: "quiet cost" }, t("cost", { cost: each.cost.toFixed(2) })));
  return card;
}

document.getElementById("ask").addEventListener("submit", (event) => { event.preventDefault(); show(input.value); });
combobox(input, document.getElementById("choices"), () => signs.value, show);
takeDrops((files) => compareClip(files[0]));
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
  const place = document.getElementById("pairs"), one = signs.value;
  problem(null);
  place.replaceChildren();
  try {
    const found = await busy(ask("GET", `/api/faux-amis?${new URLSearchParams({ dictionary: one, other })}`), t("comparing"));
    place.replaceChildren(...found.map((each) => pair(each, [one, other])));
    if (!found.length) problem(t("none_alike"));
  } catch (error) { problem(error); }
});
if (matchMedia("(prefers-reduced-motion: reduce)").matches) { playing = false; document.getElementById("play").setAttribute("aria-pressed", "false"); }
if (data.word) show(data.word);
