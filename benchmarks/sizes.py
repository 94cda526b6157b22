"""Sizes of all benchmarks: in full, and so small that a test can run all of them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sizes:
    """Amounts that are measured."""

    short: float = 30.0  # seconds of the shorter video; both are longer than a block of windows
    long: float = 60.0  # seconds of the longer one
    footage: float = 10.0  # seconds that are filmed and then repeated; both videos are multiples of it
    side: int = 320  # pixels of the square picture
    track: float = 3600.0  # seconds of the track that is searched
    words: int = 20  # of the small dictionary, with three exemplars each
    exemplars: int = 2_000  # of the large one
    archive: int = 1_000_000  # windows of the archive that is searched
    archive_signs: int = 300  # signed in the footage that it is mixed of
    items: int = 128  # of a training batch: 11 clips each
    batch_exemplars: int = 1436  # of that batch
    windows: int = 1000  # that the landmark trunk embeds
    rgb_windows: int = 8  # that I3D embeds
    rgb_side: int = 224  # pixels
    signing: float = 180.0  # seconds of landmarks that the synthetic corpus generates
    corpus_words: int = 20  # in the synthetic dictionary
    corpus: float = 0.1  # hours of the smaller corpus; the larger one has four times as much
    rendered: float = 10.0  # seconds that each core renders
    rendered_side: int = 256  # pixels
    annotated: float = 0.15  # hours of landmarks that are annotated
    annotated_words: int = 100  # of their dictionary
    lip_windows: int = 120  # in which mouthed words are looked for
    lips: float = 900.0  # seconds through which lips are followed, and four times as long
    adapted: float = 0.15  # hours of landmarks by which an encoder is adapted
    adapted_words: int = 40  # of their dictionary
    adapting_steps: int = 50  # of learning
    rounds: int = 3  # how often what takes less than a second is timed; the fastest counts
    apart: bool = True  # every measurement in a process of its own; without, peak memory says nothing


FULL = Sizes()
QUICK = Sizes(
    short=0.4,
    long=0.8,
    footage=0.4,
    side=160,
    track=30.0,
    exemplars=60,
    archive=3000,
    archive_signs=9,
    items=4,
    batch_exemplars=45,
    windows=20,
    rgb_windows=4,
    rgb_side=32,
    signing=20.0,
    corpus_words=2,
    corpus=0.0112,
    rendered=0.2,
    rendered_side=64,
    annotated=0.0112,
    annotated_words=4,
    lip_windows=2,
    lips=2.0,
    adapted=0.04,
    adapted_words=12,
    adapting_steps=1,
    rounds=1,
    apart=False,
)
