"""Table 3, the dictionary's vocabulary: looking up subtitle words that have no labels, those of the test among them."""

from signspot.experiments.cells import Recipe
from signspot.experiments.table import Row, Table, published

_LEARN = {"loss": "watch_read_lookup"}

TABLE = Table(
    "table3",
    "Table 3: the dictionary's vocabulary, Watch-Read-Lookup, unseen words",
    ("dictionary",),
    (
        Row(
            ("words with labels",),
            Recipe(learn=_LEARN),
            {"unseen": published(14.86, 19.85, (1.29, 1.94))},
        ),
        Row(
            ("all words",),
            Recipe(learn=_LEARN, vocabulary="full"),
            {"unseen": published(15.82, 21.67, (0.48, 0.72))},
        ),
    ),
    ("unseen",),
)
