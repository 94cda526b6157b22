"""The paper's tables on the signing world: corpus, trunk features, trainings, a table in Markdown and a plot."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from signspot.errors import OptionsError
from signspot.experiments.table2 import Table2, as_markdown, draw
from signspot.files import write_beside
from signspot.models.encoder import Encoder
from signspot.progress import Progress, silent
from signspot.sampling.batches import BatchOptions
from signspot.training.embedding_config import EmbeddingConfig
from signspot.training.trunk_features import trunk_features
from signspot.world.corpus import make_corpus
from signspot.world.layout import Corpus, open_corpus
from signspot.world.options import CorpusOptions

TABLES = ("table2",)
Stage = Callable[[str], AbstractContextManager[Progress]]  # a title → what is told the progress of that stage


@dataclass(frozen=True, slots=True)
class Size:
    """How large the world and how long the trainings are."""

    corpus: CorpusOptions
    config: EmbeddingConfig
    seeds: int


FULL = Size(
    CorpusOptions(words=200, hours=2.5, seed=21, test_share=0.3),
    EmbeddingConfig(),
    3,
)
QUICK = Size(
    CorpusOptions(words=80, hours=1.0, seed=21, test_share=0.3),
    EmbeddingConfig(epochs=10, batch=BatchOptions(items=32)),
    1,
)


def quiet(title: str) -> AbstractContextManager[Progress]:
    """Show no progress."""
    return nullcontext(silent)


def reproduce(
    table: str,
    encoder: Encoder,
    out: Path,
    size: Size = FULL,
    corpus: Path | None = None,
    stage: Stage = quiet,
) -> str:
    """Measure a table; write it as Markdown and as a plot beside its parts.

    Args:
        table: which; one of `TABLES`.
        encoder: whose trunk is frozen.
        out: folder of everything; a run that was stopped there goes on.
        size: of the world and of the trainings.
        corpus: a corpus that exists already, in place of the world's.
        stage: shows the progress of each stage.

    Returns:
        The table in Markdown.
    """
    if table not in TABLES:
        raise OptionsError(f"no table '{table}'. There are: {', '.join(TABLES)}")
    if size.seeds < 1:
        raise OptionsError(f"seeds must be at least 1; got {size.seeds}")
    chosen = open_corpus(corpus) if corpus is not None else _world(size, out, stage)
    with stage("trunk features") as progress:
        features = trunk_features(encoder, chosen, out / "features", progress)
    with stage("trainings") as progress:
        outcomes = Table2(chosen, encoder, features, size.config, out / table).run(size.seeds, progress)
    text = as_markdown(outcomes)
    with write_beside(out / f"{table}.md") as beside:
        beside.write_text(text, encoding="utf-8")
    draw(outcomes, out / f"{table}.png")
    return text


def _world(size: Size, out: Path, stage: Stage) -> Corpus:
    with stage("signing world") as progress:
        return make_corpus(size.corpus, out / "world", progress, workers=2)
