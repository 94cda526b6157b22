// Successes and failures, filtered; decisions made in other tools, read back.
import { ask, data, element, path, problem, send, t, tell } from "./bench.js";
import { isBones, livePicture, videoBones } from "./skeleton.js";

const list = document.getElementById("gallery"), form = document.getElementById("filter"), more = document.getElementById("more");
const SAID = { yes: t("answer_yes"), no: t("answer_no"), unsure: t("answer_unsure"), variant: t("answer_variant"), word: t("answer_word") };
let page = 0, turn = 0; // pages that are shown; number of the latest request, whose answer alone is shown

function card(item) {
  const spotting = item.spotting, kind = { yes: "right", no: "wrong" }[item.decision] || "";
  const image = element("img", { alt: "", loading: "lazy", src: `/api/thumbnail/video/${path(spotting.video)}?time=${spotting.time}` });
  const link = element("a", { href: "/spot?" + new URLSearchParams({ video: spotting.video, dictionary: data.dictionary, word: spotting.word, at: spotting.start }), "aria-label": t("play_at", { word: item.word, time: clock(spotting.time, 2) }) });
  const made = element("li", { class: "card " + kind }), film = isBones(spotting.video) ? null : "/api/media/" + path(spotting.video);
  link.append(livePicture(made, image, { film, bones: videoBones(spotting.video), span: [Math.max(0, spotting.start - 0.2), spotting.end + 0.2] }));
  const people = item.by.map((each) => `${each.annotator}: ${SAID[each.answer]}${each.word ? " (" + each.word + ")" : ""}`).join(", ");
  made.append(link, element("strong", {}, item.word), element("span", { class: "quiet" }, `${spotting.video}, ${clock(spotting.time, 2)}`), element("span", { class: "quiet" }, people));
  return made;
}

async function load(fresh) {
  const asked = ++turn;
  if (fresh) page = 0;
  const query = new URLSearchParams({ ...Object.fromEntries(new FormData(form)), page: String(page) });
  const found = await ask("GET", `/api/queues/${data.queue}/gallery?${query}`).catch((error) => { problem(error); return { items: [], count: 0 }; });
  if (asked !== turn) return; // another filter was chosen meanwhile
  if (fresh) list.replaceChildren();
  list.append(...found.items.map(card));
  page += 1;
  more.hidden = list.children.length >= found.count;
  document.getElementById("nothing").hidden = found.count > 0;
}

form.addEventListener("change", () => load(true));
form.addEventListener("submit", (event) => event.preventDefault());
more.addEventListener("click", () => load(false));
for (const [id, what] of [["keep-labels", "labels"], ["keep-exemplars", "exemplars"]]) {
  const button = document.getElementById(id);
  if (button) button.addEventListener("click", async () => {
    problem(null);
    button.disabled = true;
    try {
      const made = await ask("POST", `/api/queues/${data.queue}/${what}`);
      tell(what === "labels" ? t("kept_labels", { count: made.labels, file: made.file }) : t("kept_exemplars", { count: made.exemplars.length, dictionary: made.dictionary }));
    } catch (error) { problem(error); }
    button.disabled = false;
  });
}
const back = document.getElementById("back");
if (back) back.addEventListener("change", async () => {
  const file = back.files[0], who = localStorage.getItem("signspot-who") || "import";
  try {
    const made = await send("PUT", `/api/queues/${data.queue}/import?${new URLSearchParams({ name: file.name, annotator: who })}`, file);
    tell(t("read_back", { count: made.decisions }));
    setTimeout(() => location.reload(), 800);
  } catch (error) { problem(error); }
});
document.querySelectorAll(".bars img").forEach((image) => {
  const missing = () => image.classList.add("missing");
  image.addEventListener("error", missing);
  if (image.complete && !image.naturalWidth && image.currentSrc) missing();
});
load(true);
