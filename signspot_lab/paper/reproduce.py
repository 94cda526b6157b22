"""The paper's tables on the signing world, from a name to Markdown and a plot."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from signspot.corpus.corpus import Corpus
from signspot.errors import OptionsError
from signspot.files import write_beside
from signspot.models.encoder import Encoder
from signspot.progress import Stage, quiet
from signspot.training.augment import Augmentation
from signspot.training.embedding.batches import ItemBatchOptions
from signspot.training.embedding.config import EmbeddingConfig
from signspot.training.recogniser.clips import ClipOptions
from signspot.training.recogniser.training import TrunkConfig
from signspot_lab.paper import table_a4
from signspot_lab.paper.cells import Cells
from signspot_lab.paper.setup import ReproductionSize, Setup
from signspot_lab.paper.table import as_markdown, draw, measurable, measure, prepare
from signspot_lab.paper.tables import FIGURE_5, TABLE_2, TABLE_3, TABLE_4, TABLE_5, TABLE_A1, TABLE_A2, TABLE_A3
from signspot_world.knobs import Knobs
from signspot_world.options import CorpusOptions

_ALL = (TABLE_2, TABLE_3, FIGURE_5, TABLE_4, TABLE_5, TABLE_A1, TABLE_A2, TABLE_A3)
TABLES = {table.name: table for table in _ALL}
NAMES = (*TABLES, table_a4.NAME)
ALL = "all"
_MODEL = {"hand_width": 64, "part_width": 32, "width": 128, "last_width": 256, "features": 256, "norm": "batch"}
_CLIPS = ClipOptions(clips=64)
_AUGMENTATION = Augmentation(lost=0.3)
# Of the world's words 45 % have several signs. At that, whoever learns to merge them wins on mAP over words; the
# paper's numbers show no such thing. Here it is half as many.
_KNOBS = Knobs(variants=0.5)
FULL = ReproductionSize(
    CorpusOptions(words=600, hours=8.0, seed=31, test_share=0.3, knobs=_KNOBS),
    TrunkConfig(steps=250, clips=_CLIPS, augmentation=_AUGMENTATION, model=_MODEL),
    EmbeddingConfig(bags="released", epochs=10, batch=ItemBatchOptions(items=64)),
    3,
)
QUICK = ReproductionSize(
    CorpusOptions(words=80, hours=1.0, seed=21, test_share=0.3, knobs=_KNOBS),
    TrunkConfig(steps=100, clips=_CLIPS, augmentation=_AUGMENTATION, model=_MODEL),
    EmbeddingConfig(bags="released", epochs=10, batch=ItemBatchOptions(items=32)),
    1,
)


@dataclass(frozen=True, slots=True)
class Reproduced:
    """A table that was measured."""

    title: str
    text: str  # Markdown
    path: Path  # where the text is; its plot is beside it


def reproduce(
    name: str,
    out: Path,
    size: ReproductionSize = FULL,
    corpus: Corpus | None = None,
    encoder: Encoder | None = None,
    stage: Stage = quiet,
) -> Iterator[Reproduced]:
    """Measure tables; write each as Markdown and as a plot as soon as it is done.

    Args:
        name: which one; `all` for all of them.
        out: folder of everything; a run that was stopped there goes on.
        size: of the world and of the trainings.
        corpus: one that exists already, in place of the world's.
        encoder: whose trunk is frozen, in place of trunks that are trained on the corpus.
        stage: shows the progress of each stage.

    Returns:
        Each table, once it is done.

    Raises:
        OptionsError: there is no such table, or the corpus lacks something.
    """
    setup = Setup(size, out, corpus, encoder, stage)
    return (_reproduced(each, setup) for each in names_of(name))


def names_of(name: str) -> tuple[str, ...]:
    """The tables that a name stands for: itself, or all.

    Raises:
        OptionsError: there is no such table.
    """
    if name not in (*NAMES, ALL):
        raise OptionsError(f"no table '{name}'. There are: {', '.join((*NAMES, ALL))}")
    return NAMES if name == ALL else (name,)


def _reproduced(name: str, setup: Setup) -> Reproduced:
    path, picture = setup.out / f"{name}.md", setup.out / f"{name}.png"
    if name == table_a4.NAME:
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
    with write_beside(path) as beside:
        beside.write_text(text, encoding="utf-8")
    return Reproduced(title, text, path)
