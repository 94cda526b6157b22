"""The paper's tables on synthetic signing, from a name to Markdown and a plot."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from experiments.paper import recognition_tables, spotting_benchmark, table_a4, table_c1
from experiments.paper.cells import Cells
from experiments.paper.labelled_corpora import RecognitionSize
from experiments.paper.setup import ReproductionSize, Setup
from experiments.paper.table import as_markdown, draw, measurable, measure, prepare
from experiments.paper.tables import FIGURE_5, TABLE_2, TABLE_3, TABLE_4, TABLE_5, TABLE_A1, TABLE_A2, TABLE_A3
from signspot.corpus.corpus import Corpus
from signspot.errors import OptionsError
from signspot.io.files import atomic_write
from signspot.io.progress import Stage, quiet
from signspot.models.contract import Encoder
from signspot.training.item_batches import EmbeddingConfig, ItemBatchOptions
from signspot.training.recogniser import RecogniserConfig
from signspot.training.sign_clips import Augmentation, ClipOptions
from signspot_synthetic.knobs import Knobs
from signspot_synthetic.options import CorpusOptions

_ALL = (TABLE_2, TABLE_3, FIGURE_5, TABLE_4, TABLE_5, TABLE_A1, TABLE_A2, TABLE_A3)
TABLES = {table.name: table for table in _ALL}
NAMES = (*TABLES, table_a4.NAME, *recognition_tables.TABLES, table_c1.NAME, spotting_benchmark.NAME)
ALL = "all"
_MODEL = {"hand_width": 64, "part_width": 32, "width": 128, "last_width": 256, "features": 256, "norm": "batch"}
_CLIPS = ClipOptions(clips=64)
_AUGMENTATION = Augmentation(lost=0.3)
# Of the synthetic words 45 % have several signs. At that, whoever learns to merge them wins on mAP over words; the
# paper's numbers show no such thing. Here it is half as many.
_KNOBS = Knobs(variants=0.5)
FULL = ReproductionSize(
    CorpusOptions(words=600, hours=8.0, seed=31, test_share=0.3, knobs=_KNOBS),
    RecogniserConfig(steps=250, clips=_CLIPS, augmentation=_AUGMENTATION, model=_MODEL),
    EmbeddingConfig(bags="released", epochs=10, batch=ItemBatchOptions(items=64)),
    3,
)
QUICK = ReproductionSize(
    CorpusOptions(words=80, hours=1.0, seed=21, test_share=0.3, knobs=_KNOBS),
    RecogniserConfig(steps=100, clips=_CLIPS, augmentation=_AUGMENTATION, model=_MODEL),
    EmbeddingConfig(bags="released", epochs=10, batch=ItemBatchOptions(items=32)),
    1,
)


RECOGNITION = RecognitionSize()
RECOGNITION_QUICK = replace(
    RECOGNITION, corpora=1, words=12, hours=0.05, seeds=1, training=replace(RECOGNITION.training, steps=20)
)
# So many words and exemplars that they are not learned by heart.
PRETRAINING = replace(
    RECOGNITION, words=60, hours=0.5, exemplars=5.0, training=replace(RECOGNITION.training, steps=100)
)


@dataclass(frozen=True, slots=True)
class Reproduced:
    """A table that was measured."""

    title: str
    text: str  # Markdown
    path: Path  # where the text is; its plot is beside it


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes of everything."""

    retrieval: ReproductionSize = FULL  # Tables 2 to 5 and of Appendix A
    recognition: RecognitionSize = field(default_factory=lambda: RECOGNITION)  # Tables 6 to 8
    pretraining: RecognitionSize = field(default_factory=lambda: PRETRAINING)  # Appendix C.1
    benchmark: spotting_benchmark.BenchmarkSize = field(default_factory=lambda: spotting_benchmark.FULL)


SMALL = Sizes(QUICK, RECOGNITION_QUICK, RECOGNITION_QUICK, spotting_benchmark.QUICK)


def reproduce(
    names: Sequence[str],
    out: Path,
    sizes: Sizes | None = None,
    corpus: Corpus | None = None,
    encoder: Encoder | None = None,
    stage: Stage = quiet,
) -> Iterator[Reproduced]:
    """Measure tables; write each as Markdown and as a plot as soon as it is done.

    Args:
        names: which ones; `all` for all of them.
        out: folder of everything; a run that was stopped there goes on.
        sizes: of the synthetic corpora and of the trainings.
        corpus: one that exists already, in place of the synthetic; the labels of Table 8 are then its own.
        encoder: whose trunk is frozen, in place of trunks that are trained on the corpus (Tables 2 to 5, Appendix A).
        stage: shows the progress of each stage.

    Returns:
        Each table, once it is done.

    Raises:
        OptionsError: there is no such table, or the corpus lacks something.
    """
    chosen = sizes or Sizes()
    setup = Setup(chosen.retrieval, out, corpus, encoder, stage)
    return (_reproduced(each, setup, chosen, corpus) for each in names_of(names))


def names_of(names: Sequence[str]) -> tuple[str, ...]:
    """The tables that names stand for: themselves, or all.

    Raises:
        OptionsError: there is no such table.
    """
    for name in names:
        if name not in (*NAMES, ALL):
            raise OptionsError(f"no table '{name}'. There are: {', '.join((*NAMES, ALL))}")
    return NAMES if ALL in names else tuple(dict.fromkeys(names))


def _reproduced(name: str, setup: Setup, sizes: Sizes, corpus: Corpus | None) -> Reproduced:
    path, picture = setup.out / f"{name}.md", setup.out / f"{name}.png"
    if name in recognition_tables.TABLES:
        recognised = recognition_tables.TABLES[name]
        found = recognition_tables.measure(recognised, sizes.recognition, setup.out, corpus, setup.stage)
        text, title = recognition_tables.as_markdown(recognised, *found, sizes.recognition), recognised.title
        recognition_tables.draw(recognised, *found, picture)
    elif name == table_c1.NAME:
        recipes = table_c1.measure(sizes.pretraining, setup.out, setup.stage)
        text, title = table_c1.as_markdown(recipes, sizes.pretraining), table_c1.TITLE
        table_c1.draw(recipes, picture)
    elif name == spotting_benchmark.NAME:
        spotted = spotting_benchmark.measure(sizes.benchmark, setup.out, sizes.recognition.encoder, setup.stage)
        text, title = spotting_benchmark.as_markdown(spotted), spotting_benchmark.TITLE
        spotting_benchmark.draw(spotted, picture)
    elif name == table_a4.NAME:
        trunks = table_a4.measure(setup)
        text, title = table_a4.as_markdown(trunks), table_a4.TITLE
        table_a4.draw(trunks, picture)
    else:
        table, cells = measurable(TABLES[name]), Cells(setup)
        prepare(table, cells, setup.size.seeds)
        with setup.stage(name) as progress:
            outcomes = measure(table, cells, setup.size.seeds, progress)
        text, title = as_markdown(table, outcomes), table.title
        draw(table, outcomes, picture)
    with atomic_write(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return Reproduced(title, text, path)
