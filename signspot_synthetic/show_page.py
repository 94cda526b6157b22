"""A page on which a few sentences are signed: video, subtitles and glosses in step, in one file."""

import base64
import json
import os
from html import escape
from pathlib import Path
from string import Template
from tempfile import TemporaryDirectory
from typing import Any

from signspot.errors import OptionsError
from signspot.io.files import atomic_write
from signspot.io.progress import Progress, silent
from signspot_synthetic.performance import PerformedVideo, perform_video
from signspot_synthetic.render.appearance import make_appearance
from signspot_synthetic.render.render import render_video
from signspot_synthetic.world import VideoPlan, World

_PAGE = Template("""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
<style>
  body { margin: 0; font: 16px/1.5 system-ui, sans-serif; color: #20242a; background: #f5f6f8; }
  main { max-width: 60rem; margin: 0 auto; padding: 1.5rem; }
  h1 { font-size: 1.25rem; margin: 0 0 .25rem; }
  p.note { color: #5b626c; margin: 0 0 1rem; }
  .stage { display: flex; flex-wrap: wrap; gap: 1.5rem; align-items: flex-start; }
  figure { margin: 0; flex: 0 1 26rem; }
  video { width: 100%; border-radius: 8px; background: #000; display: block; }
  #now { min-height: 3em; margin: .5rem 0 0; text-align: center; font-size: 1.1rem; white-space: pre-line; }
  .lists { flex: 1 1 20rem; }
  h2 { font-size: .95rem; margin: 0 0 .5rem; color: #5b626c; font-weight: 600; }
  button { font: inherit; border: 1px solid #d5d9df; border-radius: 6px; background: #fff; color: inherit;
           padding: .15rem .55rem; margin: 0 .3rem .4rem 0; cursor: pointer; text-align: left; }
  button small { color: #7a818b; }
  button.unlisted { border-style: dashed; }
  button.now { background: #c45c18; border-color: #c45c18; color: #fff; }
  button.now small { color: #fff; }
  #subtitles button { display: block; width: 100%; white-space: pre-line; }
</style>
</head>
<body>
<main>
<h1>$title</h1>
<p class="note">$note</p>
<div class="stage">
<figure>
<video id="video" controls loop muted playsinline src="data:video/mp4;base64,$video"></video>
<figcaption id="now" aria-live="off"></figcaption>
</figure>
<div class="lists">
<h2>Signed (dashed: not in the dictionary)</h2>
<div id="signs"></div>
<h2>Subtitles, which come later or earlier than the signing</h2>
<div id="subtitles"></div>
</div>
</div>
</main>
<script>
const data = $data;
const video = document.getElementById("video");
const caption = document.getElementById("now");
function buttons(place, items) {
  return items.map(item => {
    const button = document.createElement("button");
    button.append(item.text + " ");
    const time = document.createElement("small");
    time.textContent = item.start.toFixed(1) + " s";
    button.append(time);
    if (item.listed === false) button.className = "unlisted";
    button.onclick = () => { video.currentTime = item.start + 0.001; };
    document.getElementById(place).append(button);
    return { item, button };
  });
}
const signs = buttons("signs", data.signs);
const subtitles = buttons("subtitles", data.subtitles);
function show() {
  const time = video.currentTime;
  const on = entry => time >= entry.item.start && time < entry.item.end;
  for (const entry of [...signs, ...subtitles]) entry.button.classList.toggle("now", on(entry));
  caption.textContent = subtitles.filter(on).map(entry => entry.item.text).join("\\n");
}
function tick() { show(); requestAnimationFrame(tick); }
tick();
const start = new URLSearchParams(location.search).get("t");
if (start !== null) video.addEventListener("loadeddata", () => { video.currentTime = Number(start); }, { once: true });
</script>
</body>
</html>
""")


def page(
    world: World,
    path: str | os.PathLike[str],
    *,
    seconds: float = 15.0,
    height: int = 360,
    progress: Progress = silent,
) -> Path:
    """Write an HTML page that plays a few sentences of a world, with glosses and subtitles in step.

    The page is one file that needs no network; a time in its address (`?t=4.2`) is where it starts.

    Args:
        world: whose words, sentences and signers are shown.
        path: the HTML file.
        seconds: about how long the signing lasts.
        height: of the video in pixels; its width follows from the world's image.
        progress: told how many frames are drawn.

    Raises:
        OptionsError: the time is not between 1 and 300 seconds, or the height is out of range.
        OutputError: the file cannot be written.
    """
    if not 1 <= seconds <= 300:
        raise OptionsError(f"a page shows 1 to 300 seconds of signing; got {seconds}")
    first = next(plan for plan in world.videos if plan.split == "test")
    plan = VideoPlan("page", first.signer, "test", seconds)
    performed = perform_video(world, plan)
    width, tall = world.options.size
    film = _film(performed, plan, (round(height * width / tall), height), progress)
    text = _PAGE.substitute(
        title=escape(f"Signing of {plan.signer.id}, world {world.options.seed}"),
        note=escape(f"{len(performed.signs)} signs, co-articulated; everything here is made from one seed."),
        video=base64.b64encode(film).decode(),
        data=json.dumps(_data(performed)).replace("<", "\\u003c"),
    )
    with atomic_write(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return Path(path)


def _film(performed: PerformedVideo, plan: VideoPlan, size: tuple[int, int], progress: Progress) -> bytes:
    """The rendered video, as bytes."""
    exact, appearance = performed.footage.exact, make_appearance(plan.signer.appearance_seed)
    with TemporaryDirectory() as folder:
        film = render_video(exact, appearance, Path(folder) / "page.mp4", size, exact.fps, progress=progress)
        return film.read_bytes()


def _data(performed: PerformedVideo) -> dict[str, list[dict[str, Any]]]:
    """Glosses and subtitles with their times, as the page's script reads them."""
    signs = [
        {"text": sign.word, "start": sign.start, "end": sign.end, "listed": sign.listed} for sign in performed.signs
    ]
    subtitles = [{"text": line.text, "start": line.start, "end": line.end} for line in performed.subtitles]
    return {"signs": signs, "subtitles": subtitles}
