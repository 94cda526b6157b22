// A text field that completes words of a dictionary, with a thumbnail of each sign; after the ARIA combobox pattern.
import { ask, element, path, t, wordThumbnail } from "./workbench.js";

export function combobox(input, list, dictionary, chosen) {
  let at = -1, asked = 0;

  function close() {
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
    at = -1;
  }

  function mark(index) {
    const options = list.querySelectorAll("[role=option]");
    if (!options.length) return;
    at = (index + options.length) % options.length;
    options.forEach((option, k) => option.setAttribute("aria-selected", String(k === at)));
    input.setAttribute("aria-activedescendant", options[at].id);
    options[at].scrollIntoView({ block: "nearest" });
  }

  function take(word) {
    input.value = word;
    close();
    chosen(word);
  }

  function option(word, k, prefix = "") {
    const image = element("img", { alt: "", loading: "lazy", src: wordThumbnail(dictionary(), word) });
    image.addEventListener("error", () => image.removeAttribute("src"));
    const item = element("li", { role: "option", id: "option-" + k, "aria-selected": "false" }, image, element("span", {}, prefix + word));
    item.addEventListener("mousedown", (event) => { event.preventDefault(); take(word); });
    return item;
  }

  async function show() {
    const request = ++asked;
    const text = input.value.trim();
    if (!dictionary()) return;
    const answer = await ask("GET", "/api/words/" + path(dictionary()) + "?q=" + encodeURIComponent(text)).catch(() => null);
    if (!answer || request !== asked || document.activeElement !== input) return;
    const prefix = answer.words.length ? "" : t("meant") + " ";
    const words = answer.words.length ? answer.words : answer.meant;
    list.replaceChildren(...words.map((word, k) => option(word, k, prefix)));
    list.hidden = !words.length;
    input.setAttribute("aria-expanded", String(words.length > 0));
    at = -1;
  }

  input.addEventListener("input", show);
  input.addEventListener("focus", show);
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") { if (list.hidden) show(); else mark(at + 1); }
    else if (event.key === "ArrowUp") mark(at - 1);
    else if (event.key === "Escape" && !list.hidden) { close(); event.stopPropagation(); }
    else if (event.key === "Enter" && at >= 0 && !list.hidden) take(list.querySelectorAll("[role=option] span")[at].textContent.replace(t("meant") + " ", ""));
    else return;
    event.preventDefault();
  });
}
