"""All tables of the paper in one run: how large, in which order, and what a given corpus or encoder rules out."""

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from experiments.paper import tables
from experiments.paper.cells import Embeddings, KeptCells, changed
from experiments.paper.page import ALIKE, Table, page_text
from experiments.paper.recognition import (
    LIPS_LEAST,
    TRAINING,
    BobslCorpus,
    Config,
    LabelledCorpus,
    LipReadCorpus,
    Recognisers,
    RecognitionSize,
    RecognitionTables,
    corpus_options,
    story_retrieval,
)
from experiments.paper.setup import ReproductionSize, Setup
from experiments.paper.spotting_benchmark import spotting_benchmark
from experiments.paper.trunks import table_a4, table_c1
from signspot.corpus.corpus import Corpus
from signspot.errors import OptionsError, SignspotError
from signspot.io.progress import Stage, quiet
from signspot.models.encoder import Encoder
from signspot.training.item_batches import EmbeddingConfig, ItemBatchOptions
from signspot.training.landmark_clips import Augmentation, ClipOptions
from signspot.training.recogniser import RecogniserConfig
from signspot.training.rgb_clips import RgbConfig
from signspot_synthetic.corpus_plan import CorpusOptions
from signspot_synthetic.difficulty_knobs import Knobs

logger = logging.getLogger(__name__)

# Of the synthetic words 45 % have several signs. At that, whoever learns to merge them wins on mAP over words; the
# paper's numbers show no such thing. Here it is half as many.
_KNOBS = Knobs(variants=0.5)
_TRUNK = RecogniserConfig(
    steps=250,
    clips=ClipOptions(clips=64),
    augmentation=Augmentation(lost=0.3),
    model={"hand_width": 64, "part_width": 32, "width": 128, "last_width": 256, "features": 256, "norm": "batch"},
)


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes of everything."""

    corpora: int = 2  # of Tables 2 to 5 and of the story
    seeds: int = 3
    retrieval: ReproductionSize = field(
        default_factory=lambda: ReproductionSize(
            CorpusOptions(words=120, hours=1.0, seed=201, test_share=0.3, knobs=_KNOBS),
            _TRUNK,
            EmbeddingConfig(bags="released", epochs=10, batch=ItemBatchOptions(items=64)),
        )
    )
    recognition: RecognitionSize = field(default_factory=RecognitionSize)  # Tables 6 to 8
    recognition_corpora: int = 3
    recogniser: Config = field(default_factory=lambda: TRAINING)  # that learns there
    story: RecogniserConfig = field(
        default_factory=lambda: changed(TRAINING, {"steps": 160, "clips.least.mouthing": LIPS_LEAST})
    )
    # So many words and exemplars that they are not learned by heart.
    pretraining: RecognitionSize = field(default_factory=lambda: RecognitionSize(60, 0.5, exemplars=5.0))
    pretrained: RecogniserConfig = field(default_factory=lambda: replace(TRAINING, steps=100))
    benchmark: CorpusOptions = field(
        default_factory=lambda: CorpusOptions(words=300, hours=2.0, seed=281, video_seconds=900.0, test_share=0.5)
    )


def full_sizes() -> Sizes:
    """As large as was thought of first: a day or more of one core."""
    medium = Sizes()
    larger = replace(medium.retrieval, corpus=replace(medium.retrieval.corpus, words=600, hours=8.0))
    return replace(medium, corpora=3, retrieval=larger, benchmark=replace(medium.benchmark, words=500, hours=6.0))


_INTRODUCTION = """# The paper's tables, measured

Written by `python -m experiments.paper --results experiments/results` from the cells in `paper-cells.jsonl` beside
this page; no number is typed by hand. The same command goes on with what is not measured yet. All of it is synthetic,
unless a real corpus is named here.

Measured on {what}.
Trunks are trained for {trunk_steps} steps, MLPs for {epochs} epochs in batches of {items}, by {seeds} seeds when all is
measured. Numbers are per cent. Square brackets are 95 % bootstrap intervals over the words of all corpora; round
brackets are the paper's numbers on BSL-1K, whose height cannot be compared. Differences are paired by word.

* **Answers.** That one row is *above* another holds if the interval of the difference lies above 0, does not hold if it
  lies below, and is undecided if it contains 0. Rows are *alike* if it lies within ± {alike} points: the paper calls
  2.0 points insignificant, and 3.2 an improvement.
* **What is compared.** The first row of a claim minus the second, on the corpora and with the seeds that both have been
  measured with. A dash in place of the paper's numbers is a control of ours, or a finding that it shows in a plot.
* **What an interval leaves out.** It is over words. What the draw of a training or of a corpus does to all words alike
  is not in it, so the difference stands beside for each corpus and each seed: where they disagree, trust it less.
* **How much can be decided.** With the words of two corpora an interval is about ± 4 points wide, and the paper's
  losses differ by 1 to 4. Of claims with nothing behind them one in twenty is decided by chance, and claims share
  trunks and test words: one whose interval just leaves 0 out is weak.
* **Why.** What is said behind the numbers is how the setup differs, as far as it bears on the claim; whether that is
  the reason was not tested. All differences are in [the paper's experiments](../../docs/explanation/paper.md)."""


class Plan:
    """The tables by name; what is given takes the place of what would be made."""

    def __init__(
        self,
        sizes: Sizes,
        out: Path,
        kept: KeptCells,
        corpus: Corpus | None = None,
        encoder: Encoder | None = None,
        encoder_file: str | None = None,
        stage: Stage = quiet,
    ):
        """Prepare; nothing is made yet.

        Args:
            sizes: of corpora and trainings.
            out: folder of corpora, trunks and runs; what is there already is not made again.
            kept: cells that are measured already, and where new ones go.
            corpus: one that exists already, in place of synthetic ones.
            encoder: whose trunk is frozen, or who is benchmarked.
            encoder_file: its name or file, which finds D.
            stage: shows the progress of each stage.
        """
        self.sizes, self.out, self.kept, self.corpus, self.stage = sizes, out, kept, corpus, stage
        self.encoder, self.encoder_file = encoder, encoder_file

    @property
    def _makers(self) -> dict[str, Callable[[], Table]]:
        """Name → table; the order in which they are measured and shown."""
        sizes = self.sizes
        return {
            "table2": lambda: tables.TABLE_2.on(self._embeddings, sizes.seeds),
            "table3": lambda: tables.TABLE_3.on(self._embeddings, sizes.seeds),
            "test-labels": lambda: tables.test_labels(self._embeddings, sizes.seeds),
            "story-retrieval": lambda: story_retrieval(self._lip_read, sizes.seeds),
            "story": lambda: self._recognition(self._lip_read, sizes.story).story(),
            "table4": lambda: tables.TABLE_4.on(self._embeddings, sizes.seeds),
            "table5": lambda: tables.TABLE_5.on(self._embeddings, sizes.seeds),
            "figure5": lambda: tables.FIGURE_5.on(self._embeddings, sizes.seeds),
            "table-a1": lambda: tables.table_a1(self._setups[0].word_count).on(self._embeddings, sizes.seeds),
            "table-a2": lambda: tables.TABLE_A2.on(self._embeddings, sizes.seeds),
            "table-a3": lambda: tables.TABLE_A3.on(self._embeddings, sizes.seeds),
            "spotting-benchmark": lambda: spotting_benchmark(self._setup(sizes.benchmark), self.encoder),
            "table6": lambda: self._recognition(self._recognised()).table_6(),
            "table7": lambda: self._recognition(self._recognised()).table_7(),
            "table8": lambda: self._recognition(self._recognised(bobsl=True)).table_8(),
            "table-c1": lambda: table_c1(
                LabelledCorpus(0, self._setup(corpus_options(sizes.pretraining, 0)), self.encoder_file),
                sizes.pretrained,
                sizes.seeds,
            ),
            "table-a4": lambda: table_a4(sizes.seeds, self.out, self.corpus, self.stage, sizes.retrieval.device),
        }

    def refusal(self, name: str) -> str | None:
        """Why a table cannot be made with the given encoder; None: it can."""
        if self.encoder is None and self.encoder_file is None:
            return None
        return {
            "table2": "it compares trunks that it trains; with one given, test-labels compares the losses",
            "story": "its point is that no encoder is given",
            "story-retrieval": "its point is that no encoder is given",
            "table-c1": "it compares trunks that it trains",
            "table-a4": "it compares trunks that it trains",
        }.get(name)

    def chosen(self, names: Sequence[str] = ()) -> list[Table]:
        """The tables of these names; without any, all that can be made.

        Raises:
            OptionsError: there is no such table, it cannot be made with what is given, or the corpus lacks something.
        """
        for name in names:
            if name not in self._makers:
                raise OptionsError(f"no table '{name}'. There are: {', '.join(self._makers)}")
            if reason := self.refusal(name):
                raise OptionsError(f"{name} takes no --encoder: {reason}")
        return list(self._make(names))

    def _make(self, names: Sequence[str]) -> Iterator[Table]:
        for name, make in self._makers.items():
            if names and name not in names:
                continue
            reason = self.refusal(name)
            try:
                if reason is None:
                    yield make()
            except OptionsError as error:
                if names:
                    raise
                reason = str(error)
            if reason is not None:
                logger.warning("%s is left out: %s", name, reason)

    def run(self, chosen: Sequence[Table], write_page: Callable[[], None]) -> None:
        """Measure all cells, seed by seed, so that a run that is stopped has whole tables."""
        seeds = sorted({cell.seed for table in chosen for cell in table.cells()})
        for seed in seeds:
            for table in chosen:
                cells = [cell for cell in table.cells() if cell.seed == seed]
                for done, cell in enumerate(cells):
                    begin = time.monotonic()
                    is_new = self.kept.read(cell) is None
                    try:
                        self.kept.measure(cell)
                    except SignspotError as error:  # such as WordNet that is not installed
                        logger.warning("%s: a cell is left out. %s", table.name, error)
                    if is_new:
                        seconds = time.monotonic() - begin
                        logger.info("seed %d, %s: %d of %d, %.0f s", seed, table.name, done + 1, len(cells), seconds)
                write_page()

    def page(self, chosen: Sequence[Table]) -> str:
        """The page, from kept cells alone."""
        return page_text(chosen, self.kept, self._introduction())

    def _introduction(self) -> str:
        size, corpus = self.sizes.retrieval, self.sizes.retrieval.corpus
        if self.corpus is not None:
            material = f"the corpus `{self.corpus.folder.name}`"
        else:
            seeds = ", ".join(str(corpus.seed + number) for number in range(self.sizes.corpora))
            material = (
                f"synthetic corpora (seeds {seeds}) of {corpus.words} words and {corpus.hours:g} h each, "
                f"{100 * corpus.test_share:.0f} % of it\nby test signers; a quarter of the words are test words"
            )
        return _INTRODUCTION.format(
            what=material,
            trunk_steps=size.trunk.steps,
            epochs=size.embedding.epochs,
            items=size.embedding.batch.items,
            seeds=self.sizes.seeds,
            alike=f"{100 * ALIKE:.0f}",
        )

    def _setup(self, corpus: CorpusOptions, encoder: Encoder | None = None) -> Setup:
        """A synthetic corpus, or the given one in its place."""
        return Setup(replace(self.sizes.retrieval, corpus=corpus), self.out, self.corpus, encoder, self.stage)

    @cached_property
    def _setups(self) -> list[Setup]:
        first, count = self.sizes.retrieval.corpus, 1 if self.corpus is not None else self.sizes.corpora
        return [self._setup(replace(first, seed=first.seed + number), self.encoder) for number in range(count)]

    @cached_property
    def _embeddings(self) -> list[Embeddings]:
        return [Embeddings(setup, number) for number, setup in enumerate(self._setups)]

    @cached_property
    def _lip_read(self) -> list[LipReadCorpus]:
        return [LipReadCorpus(number, setup) for number, setup in enumerate(self._setups)]

    def _recognised(self, *, bobsl: bool = False) -> list[LabelledCorpus]:
        """The corpora of Tables 6 to 8."""
        kind = BobslCorpus if bobsl and self.corpus is not None else LabelledCorpus
        size, rendered = self.sizes.recognition, isinstance(self.sizes.recogniser, RgbConfig)
        numbers = range(1 if self.corpus is not None else self.sizes.recognition_corpora)
        options = [corpus_options(size, number, rendered=rendered) for number in numbers]
        return [kind(number, self._setup(options[number]), self.encoder_file) for number in numbers]

    def _recognition(self, corpora: Sequence[LabelledCorpus], training: Config | None = None) -> RecognitionTables:
        chosen = training or self.sizes.recogniser
        recognisers = Recognisers(self.out, chosen, self.sizes.retrieval.device)
        return RecognitionTables(recognisers, corpora, self.sizes.seeds)
