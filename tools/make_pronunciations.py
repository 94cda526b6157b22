"""Make signspot/mouthing/data/pronunciations.txt.xz from the file cmudict.dict of the CMU pronouncing dictionary.

Usage: python tools/make_pronunciations.py cmudict.dict

Kept is the first pronunciation of each word of letters; secondary stress counts as stress. The licence of that
dictionary (BSD, 2 clauses) lies beside the data.
"""

import lzma
import re
import sys
from pathlib import Path

from signspot.mouthing.visemes import CODES, PHONEMES

TARGET = Path(__file__).parent.parent / "signspot" / "mouthing" / "data" / "pronunciations.txt.xz"
_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?")


def convert(text: str) -> str:
    """The lines of cmudict.dict as lines of ours: a word, a tabulator, one character a phoneme."""
    codes = dict(zip(PHONEMES, CODES, strict=True))
    lines = []
    for line in text.splitlines():
        word, *phonemes = line.split("#")[0].split()
        if _WORD.fullmatch(word):
            lines.append(f"{word}\t{''.join(codes[phoneme.replace('2', '1')] for phoneme in phonemes)}\n")
    return "".join(lines)


if __name__ == "__main__":
    content = convert(Path(sys.argv[1]).read_text(encoding="utf-8"))
    TARGET.write_bytes(lzma.compress(content.encode("ascii"), preset=9 | lzma.PRESET_EXTREME))
    print(f"{TARGET}: {content.count(chr(10)):,} words")
