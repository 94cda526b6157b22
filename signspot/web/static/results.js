// Verified items, filtered; decisions made in other tools are imported.
import { ask, clickOnce, data, element, hideMissingImages, notify, path, problem, send, t } from "./workbench.js";
import { isLandmarks, livePreview, videoSkeleton } from "./skeleton.js";

const list = document.getElementById("gallery"), form = document.getElementById("filter"), more = document.getElementById("more");
const ANSWERS = { yes: t("answer_yes"), no: t("answer_no"), unsure: t("answer_unsure"), variant: t("answer_variant"), word: t("answer_word") };
let page = 0, requests = 0; // pages that are loaded; only the answer of the latest request is used

function itemCard(item) {
  const spotting = item.spotting, kind = { yes: "right", no: "wrong" }[item.decision] || "";
  const image = element("img", { alt: "", loading: "lazy", src: `/api/thumbnail/video/${path(spotting.video)}?time=${spotting.time}` });
  const link = element("a", { href: "/spot?" + new URLSearchParams({ video: spotting.video, dictionary: data.dictionary, word: spotting.word, at: spotting.start }), "aria-label": t("play_at", { word: item.word, time: clock(spotting.time, 2) }) });
  const card = element("li", { class: "card " + kind }), video = isLandmarks(spotting.video) ? null : "/api/media/" + path(spotting.video);
  link.append(livePreview(card, image, { video, skeleton: videoSkeleton(spotting.video), span: [Math.max(0, spotting.start - 0.2), spotting.end + 0.2] }));
  const people = item.by.map((decision) => `${decision.annotator}: ${ANSWERS[decision.answer]}${decision.word ? " (" + decision.word + ")" : ""}`).join(", ");
  card.append(link, element("strong", {}, item.word), element("span", { class: "quiet" }, `${spotting.video}, ${clock(spotting.time, 2)}`), element("span", { class: "quiet" }, people));
  return card;
}

async function load(fresh) {
  const number = ++requests;
  if (fresh) page = 0;
  const query = new URLSearchParams({ ...Object.fromEntries(new FormData(form)), page: String(page) });
  const answer = await ask("GET", `/api/queues/${data.queue}/gallery?${query}`).catch((error) => { problem(error); return { items: [], count: 0 }; });
  if (number !== requests) return; // another filter was chosen in the meantime
  if (fresh) list.replaceChildren();
  list.append(...answer.items.map(itemCard));
  page += 1;
  more.hidden = list.children.length >= answer.count;
  document.getElementById("nothing").hidden = answer.count > 0;
}

form.addEventListener("change", () => load(true));
form.addEventListener("submit", (event) => event.preventDefault());
more.addEventListener("click", () => load(false));
for (const [id, what] of [["keep-labels", "labels"], ["keep-exemplars", "exemplars"]]) {
  const button = document.getElementById(id);
  if (button) clickOnce(button, async () => {
    const answer = await ask("POST", `/api/queues/${data.queue}/${what}`);
    notify(what === "labels" ? t("kept_labels", { count: answer.labels, file: answer.file }) : t("kept_exemplars", { count: answer.exemplars.length, dictionary: answer.dictionary }));
    problem(answer.left_out && answer.left_out.length ? t("left_out", { signs: answer.left_out.join("; ") }) : null);
  });
}
const back = document.getElementById("back");
if (back) back.addEventListener("change", async () => {
  const file = back.files[0], who = localStorage.getItem("signspot-who") || "import";
  try {
    const answer = await send("PUT", `/api/queues/${data.queue}/import?${new URLSearchParams({ name: file.name, annotator: who })}`, file);
    notify(t("read_back", { count: answer.decisions }));
    setTimeout(() => location.reload(), 800);
  } catch (error) { problem(error); }
});
hideMissingImages();
load(true);
