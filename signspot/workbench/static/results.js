// Successes and failures, filtered; decisions made in other tools, read back.
import { ask, data, element, path, problem, send, t, tell } from "./bench.js";

const list = document.getElementById("gallery"), form = document.getElementById("filter"), more = document.getElementById("more");
let page = 0;

function card(item) {
  const spotting = item.spotting, kind = { yes: "right", no: "wrong" }[item.decision] || "";
  const image = element("img", { alt: "", loading: "lazy", src: `/api/thumbnail/video/${path(spotting.video)}?time=${spotting.time}` });
  const film = element("video", { muted: true, loop: true, playsInline: true, controls: true, hidden: true, preload: "none" });
  const button = element("button", { "aria-label": t("play_at", { word: item.word, time: clock(spotting.time, 2) }) }, image);
  if (data.pixels) button.addEventListener("click", () => {
    film.src = `/api/media/${path(spotting.video)}#t=${Math.max(0, spotting.start - 0.4)},${spotting.end + 0.4}`;
    film.hidden = false;
    button.replaceWith(film);
    film.play().catch(() => {});
  });
  image.addEventListener("error", () => image.removeAttribute("src"));
  const people = item.by.map((each) => `${each.annotator}: ${each.answer}${each.word ? " (" + each.word + ")" : ""}`).join(", ");
  return element("li", { class: "card " + kind }, button, film, element("strong", {}, item.word), element("span", { class: "quiet" }, `${spotting.video}, ${clock(spotting.time, 2)}`), element("span", { class: "quiet" }, people));
}

async function load(fresh) {
  if (fresh) { page = 0; list.replaceChildren(); }
  const query = new URLSearchParams({ ...Object.fromEntries(new FormData(form)), page: String(page) });
  const found = await ask("GET", `/api/queues/${data.queue}/gallery?${query}`).catch((error) => { problem(error); return { items: [], count: 0 }; });
  list.append(...found.items.map(card));
  page += 1;
  more.hidden = list.children.length >= found.count;
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
load(true);
