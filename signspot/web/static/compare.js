// Signs side by side, played in step; a learner's clip beside them; faux amis of two dictionaries.
import { ask, busy, data, element, exemplarSpan, exemplarThumbnail, exemplarVideo, path, problem, send, submitOnce, t, takeDrops } from "./workbench.js";
import { combobox } from "./combo.js";
import { exemplarSkeleton, isLandmarks, livePreview, showSign, Skeleton } from "./skeleton.js";

const side = document.getElementById("side"), signs = document.getElementById("dictionary"), input = document.getElementById("word");
let requests = 0, figures = [], playing = true, rate = 1, frame = 0, since = 0, skeletons = false;
const MOST = 12, ROUND = 1.6; // signs at once; seconds in which every sign is shown once

// A sign with its name; `address`: of its video, null if there are landmarks alone; `skeleton`: of its landmarks, or null.
function figure(name, address, span, skeleton, kind = "") {
  const video = element("video", { muted: true, playsInline: true, preload: "auto" });
  const canvas = element("canvas", { "aria-hidden": "true" });
  const player = showSign(video, canvas, address, skeleton);
  const overlay = address && skeleton ? new Skeleton(canvas, video, skeleton) : null;
  const root = element("figure", { class: kind }, element("div", { class: "screen" }, video, canvas), element("figcaption", {}, name));
  return { player, span, overlay, root };
}

async function show(word) {
  if (!signs.value) { problem(t("dictionary_first")); return; }
  if (!word.trim()) { problem(t("word_needed")); input.focus(); return; }
  problem(null);
  const number = ++requests;
  const exemplars = await ask("GET", `/api/dictionaries/${path(signs.value)}/exemplars?word=${encodeURIComponent(word)}`).catch((error) => { problem(error); return []; });
  const groups = exemplars.length > 1 ? await ask("GET", `/api/variants/${path(signs.value)}?word=${encodeURIComponent(word)}`).catch(() => []) : [];
  const group = (exemplar) => exemplar.variant || (groups.length > 1 ? (groups.find((variant) => variant.exemplars.includes(exemplar.id)) || {}).name : "") || "";
  const chosen = exemplars.sort((a, b) => group(a).localeCompare(group(b))).slice(0, MOST);
  const loaded = await Promise.all(chosen.map(async (exemplar) => {
    const name = exemplar.id + (group(exemplar) ? " · " + t("variant", { name: group(exemplar) }) : "");
    const address = exemplar.playable ? exemplarVideo(signs.value, exemplar.id) : null;
    return figure(name, address, await exemplarSpan(signs.value, exemplar.id), exemplarSkeleton(signs.value, exemplar.id));
  }));
  if (number !== requests) return; // another word was chosen in the meantime
  figures = loaded;
  document.getElementById("feedback").hidden = true;
  layout();
  history.replaceState(null, "", "/compare?" + new URLSearchParams({ dictionary: signs.value, word }));
}

function layout() {
  side.replaceChildren(...figures.map(({ root }) => root));
  document.getElementById("controls").hidden = !figures.length;
  document.getElementById("nothing").hidden = figures.length > 0;
  since = performance.now();
  cancelAnimationFrame(frame);
  frame = requestAnimationFrame(follow);
}

// All players are set to the same share of their sign, so that they stay in step whatever their lengths.
function follow(now) {
  if (playing) {
    const share = (((now - since) * rate) / 1000 / ROUND) % 1.15;
    for (const { player, span, overlay } of figures) {
      const wanted = span[0] + Math.min(1, share) * (span[1] - span[0]);
      if (!player.seeking && Math.abs(player.currentTime - wanted) > 0.03) player.currentTime = wanted;
      if (overlay) { overlay.on = skeletons; overlay.draw(player.currentTime); }
    }
  }
  frame = requestAnimationFrame(follow);
}

async function compareClip(file) {
  if (!file || !input.value.trim()) { problem(t("word_first")); return; }
  await show(input.value);
  try {
    const query = new URLSearchParams({ dictionary: signs.value, word: input.value, name: file.name });
    const answer = await busy(send("PUT", "/api/feedback?" + query, file), t("comparing"));
    if (!isLandmarks(file.name)) figures = [figure(t("mine"), URL.createObjectURL(file), answer.span, null, "mine"), ...figures];
    layout();
    document.getElementById("feedback").hidden = false;
    const decision = t(answer.right ? "right" : "not_right", { word: answer.word, rank: answer.rank, of: answer.of });
    const instead = answer.instead.length ? [element("p", {}, t("instead", { words: answer.instead.map(({ word }) => word).join(", ") }))] : [];
    const differences = answer.differences.map(({ words }) => element("li", {}, words));
    document.getElementById("differences").replaceChildren(element("p", { class: "big" }, decision), ...instead, element("ul", {}, ...differences));
  } catch (error) { problem(error); }
}

// Two signs that look alike: both play while either is pointed at.
function pairCard(pair, dictionaries) {
  const card = element("li", { class: "card alike" });
  const halves = [pair.one, pair.other].map((sign, k) => {
    const image = element("img", { alt: "", loading: "lazy", src: exemplarThumbnail(dictionaries[k], sign.exemplar) });
    const video = sign.playable ? exemplarVideo(dictionaries[k], sign.exemplar) : null;
    const link = element("a", { href: "/compare?" + new URLSearchParams({ dictionary: dictionaries[k], word: sign.word }) }, livePreview(card, image, { video, skeleton: exemplarSkeleton(dictionaries[k], sign.exemplar) }), element("strong", {}, sign.word));
    return element("div", {}, link, element("span", { class: "quiet" }, dictionaries[k]));
  });
  card.append(...halves, element("span", { class: "quiet cost" }, t("cost", { cost: pair.cost.toFixed(2) })));
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
if (faux) submitOnce(faux, async ({ other }) => {
  const list = document.getElementById("pairs"), one = signs.value;
  list.replaceChildren();
  const pairs = await busy(ask("GET", `/api/faux-amis?${new URLSearchParams({ dictionary: one, other })}`), t("comparing"));
  list.replaceChildren(...pairs.map((pair) => pairCard(pair, [one, other])));
  if (!pairs.length) problem(t("none_alike"));
});
if (matchMedia("(prefers-reduced-motion: reduce)").matches) { playing = false; document.getElementById("play").setAttribute("aria-pressed", "false"); }
if (data.word) show(data.word);
