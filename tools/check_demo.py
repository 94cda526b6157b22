"""Checks what `signspot demo` made in ./demo-out against what the README promises, and runs the README's next command.

    python tools/check_demo.py README.md DEMO-OUTPUT.txt

For a Python that has signspot, where `signspot demo` ran. A broken promise ends with a line and exit 1.
"""

import re
import subprocess
import sys
from pathlib import Path

from signspot.formats.formats import read_spottings
from signspot_synthetic.demo import RESULTS, WORDS

OUT = Path("demo-out")
_PROMISE = re.compile(r"\| (\d+) of (\d+), (\d+) false alarms")
_PRINTED = re.compile(r"(\d+) of (\d+) signs found, (\d+|no) false alarms?")
_SAME_SECONDS = _SAME_SCORE = 0.01


def _numbers(pattern: re.Pattern[str], text: str, where: str) -> list[int]:
    match = pattern.search(text)
    if match is None:
        sys.exit(f"{where} does not say how many signs the demo finds")
    return [0 if group == "no" else int(group) for group in match.groups()]


def _readme_command(readme: str) -> list[str]:
    """The command that README gives after the demo, word for word."""
    line = re.search(r"^\.venv/bin/signspot (spot demo-out/.*)$", readme, re.MULTILINE)
    if line is None:
        sys.exit("README gives no command after the demo")
    return line[1].split()


def main() -> None:
    """Check the files, the counts and the next command."""
    readme, printed = Path(sys.argv[1]).read_text(encoding="utf-8"), Path(sys.argv[2]).read_text(encoding="utf-8")
    promised = _numbers(_PROMISE, readme, "README")
    found, signed, wrong = _numbers(_PRINTED, printed, "the demo")
    # Video coding and MediaPipe differ a little between machines, and some scores lie near the threshold.
    if found < promised[0] - 1 or signed != promised[1] or wrong > promised[2] + 1:
        sys.exit(f"README promises {promised[0]} of {promised[1]} signs and {promised[2]} false alarms; see above")
    for name in RESULTS:
        if not (OUT / name).stat().st_size:
            sys.exit(f"{OUT / name} is empty")
    spottings = read_spottings(OUT / "spottings.eaf")
    if not spottings or not {s.word for s in spottings} <= set(WORDS):
        sys.exit(f"spottings.eaf holds {sorted({s.word for s in spottings})}, the dictionary {sorted(WORDS)}")
    subprocess.run([Path(sys.executable).parent / "signspot", *_readme_command(readme)], check=True)
    asked = read_spottings(OUT / "news.eaf")
    before = [s for s in spottings if s.word == "apple"]
    same = [
        abs(a.start - b.start) < _SAME_SECONDS and abs(a.score - b.score) < _SAME_SCORE
        for a, b in zip(asked, before, strict=True)
    ]
    if not asked or not all(same):
        sys.exit(f"asked for apple alone: {asked}; in the demo: {before}")
    if "sentence.mp4" not in (OUT / "news.html").read_text(encoding="utf-8"):
        sys.exit("news.html does not name the video")


if __name__ == "__main__":
    main()
