"""The paper's tables on the signing world, from a name to Markdown and a plot."""

from collections.abc import Iterator
from pathlib import Path

from signspot.errors import OptionsError
from signspot.experiments import figure5, table2, table3, table4, table5, table_a1, table_a2, table_a3
from signspot.experiments.cells import Cells
from signspot.experiments.setup import Setup, Size, Stage, quiet
from signspot.experiments.table import Table, as_markdown, draw, measure, prepare
from signspot.files import write_beside
from signspot.models.encoder import Encoder
from signspot.sampling.batches import BatchOptions
from signspot.training.embedding_config import EmbeddingConfig
from signspot.training.trunk_classification import TrunkConfig
from signspot.world.layout import Corpus
from signspot.world.options import CorpusOptions

_MODULES = (table2, table3, figure5, table4, table5, table_a1, table_a2, table_a3)
TABLES = {module.TABLE.name: module.TABLE for module in _MODULES}
ALL = "all"

SMALL = {"hand_width": 64, "part_width": 32, "width": 128, "last_width": 256, "features": 512, "norm": "batch"}
FULL = Size(
    CorpusOptions(words=300, hours=8.0, seed=21, test_share=0.25),
    TrunkConfig(steps=2500, model=SMALL),
    EmbeddingConfig(bags="released", epochs=30, batch=BatchOptions(items=128)),
    3,
)
QUICK = Size(
    CorpusOptions(words=80, hours=1.0, seed=21, test_share=0.3),
    TrunkConfig(steps=400, model={**SMALL, "features": 256}),
    EmbeddingConfig(bags="released", epochs=20, batch=BatchOptions(items=32)),
    1,
)


def reproduce(
    name: str,
    out: Path,
    size: Size = FULL,
    corpus: Corpus | None = None,
    encoder: Encoder | None = None,
    stage: Stage = quiet,
) -> Iterator[tuple[Table, str]]:
    """Measure tables; write each as Markdown and as a plot as soon as it is done.

    Args:
        name: which one; `all` for all of them.
        out: folder of everything; a run that was stopped there goes on.
        size: of the world and of the trainings.
        corpus: one that exists already, in place of the world's.
        encoder: whose trunk is frozen, in place of trunks that are trained on the corpus.
        stage: shows the progress of each stage.

    Returns:
        Each table with its Markdown.

    Raises:
        OptionsError: there is no such table, or the corpus lacks something.
    """
    if name not in (*TABLES, ALL):
        raise OptionsError(f"no table '{name}'. There are: {', '.join((*TABLES, ALL))}")
    return _measured([TABLES[name]] if name != ALL else list(TABLES.values()), Setup(size, out, corpus, encoder, stage))


def _measured(tables: list[Table], setup: Setup) -> Iterator[tuple[Table, str]]:
    cells = Cells(setup)
    for table in tables:
        prepare(table, cells, setup.size.seeds)
        with setup.stage(table.name) as progress:
            outcomes = measure(table, cells, setup.size.seeds, progress)
        text = as_markdown(table, outcomes)
        with write_beside(setup.out / f"{table.name}.md") as beside:
            beside.write_text(text, encoding="utf-8")
        draw(table, outcomes, setup.out / f"{table.name}.png")
        yield table, text
