"""Labels M and D of a run of `signspot learn` on a world beside each other: how many, how right, what D adds to M.

    python -m signspot_lab.label_sources world/ learnt/

Only training videos count.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from signspot.corpus.corpus import Corpus, open_corpus
from signspot.corpus.truth import read_records, right_labels
from signspot.records import Label, LabelSource

_SAME_PLACE = 0.6  # seconds between two labels of one word that are of one sign
_OTHER_PLACE = 0.35  # likewise of two words that cannot both be right
_BEFORE_END = 0.25  # seconds from the middle of a sign to its end, where a mouthing is marked

Row = tuple[str, str, str, str]


def middle(label: Label) -> float:
    """About when the middle of a label's sign is, in seconds."""
    return label.time - _BEFORE_END if label.source is LabelSource.MOUTHING else label.time


def _beside(label: Label, others: Sequence[Label], within: float, same: Callable[[str, str], bool]) -> bool:
    return any(
        other.video == label.video and abs(middle(other) - middle(label)) < within and same(other.word, label.word)
        for other in others
    )


def label_rows(corpus: Corpus, mouthed: Sequence[Label], found: Sequence[Label]) -> Iterator[Row]:
    """Rows: which labels, how many, of how many words, the share that is at a sign of its word."""
    training = {video.id for video in corpus.in_split("train")}
    m, d = ([label for label in own if label.video in training] for own in (mouthed, found))
    agreed = [_beside(label, d, _SAME_PLACE, str.__eq__) for label in m]
    clash = [_beside(label, d, _OTHER_PLACE, str.__ne__) for label in m]
    sets = {
        "M": m,
        "M with D of the same word at its place": [label for label, is_so in zip(m, agreed, strict=True) if is_so],
        "M with D of another word at its place, not of the same": [
            label for label, same, other in zip(m, agreed, clash, strict=True) if other and not same
        ],
        "M without D": [label for label, *d_there in zip(m, agreed, clash, strict=True) if not any(d_there)],
        "D": d,
        "D where M has nothing": [label for label in d if not _beside(label, m, _SAME_PLACE, str.__eq__)],
        "M + D": [*m, *d],
    }
    sets |= {f"M from {least}": [label for label in m if label.confidence >= least] for least in (0.6, 0.7, 0.8, 0.9)}
    signs = {video: corpus.signs(video) for video in training}
    for name, own in sets.items():
        right = f"{np.mean(right_labels(own, signs)):.3f}" if own else "–"
        yield name, f"{len(own):,}", str(len({label.word for label in own})), right


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("world", type=Path, help="a corpus with truth/")
    parser.add_argument("learnt", type=Path, help="folder of a run of signspot learn on it")
    chosen = parser.parse_args()
    m, d = (list(read_records(Label, chosen.learnt / f"labels-{source}.jsonl")) for source in "MD")
    rows = [("labels", "count", "words", "right"), ("---",) * 4, *label_rows(open_corpus(chosen.world), m, d)]
    sys.stdout.write("".join(f"| {' | '.join(row)} |\n" for row in rows))


if __name__ == "__main__":
    main()
