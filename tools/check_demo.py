"""Checks what `signspot demo` made in ./demo-out: every sign found, nothing else, and `spot` finds the same again.

    python tools/check_demo.py DEMO-OUTPUT.txt

For a Python that has signspot, where `signspot demo` ran. A fault ends with a line and exit 1.
"""

import re
import subprocess
import sys
from pathlib import Path

from signspot.formats.formats import read_spottings
from signspot_synthetic.demo import RESULTS, WORDS

OUT = Path("demo-out")
_SAME_SECONDS = _SAME_SCORE = 0.01


def main() -> None:
    """Check the counts, the files and one more search."""
    printed = Path(sys.argv[1]).read_text(encoding="utf-8")
    counts = re.search(r"(\d+) of (\d+) signs found, (\d+|no) false alarms?", printed)
    if counts is None or counts[1] != counts[2] or counts[3] not in ("0", "no"):
        sys.exit("the demo should find every sign and nothing else; see above")
    for name in RESULTS:
        if not (OUT / name).stat().st_size:
            sys.exit(f"{OUT / name} is empty")
    spottings = read_spottings(OUT / "spottings.eaf")
    word = WORDS[0]
    command = ("spot", OUT / "sentence.mp4", OUT / "dictionary", word, "--out", OUT / "one.eaf")
    subprocess.run([Path(sys.executable).parent / "signspot", *command], check=True)
    alone, together = read_spottings(OUT / "one.eaf"), [s for s in spottings if s.word == word]
    same = [
        abs(a.start - b.start) < _SAME_SECONDS and abs(a.score - b.score) < _SAME_SCORE
        for a, b in zip(alone, together, strict=True)
    ]
    if not alone or not all(same):
        sys.exit(f"asked for '{word}' alone: {alone}; in the demo: {together}")


if __name__ == "__main__":
    main()
