"""Table A.1, class balance: batches in which each labelled word occurs once, or in which words recur; Watch-Lookup.

The paper's batches of 512, 1,024 and 2,048 are of 1,064 words; ours are in the same proportion to our vocabulary.
"""

from signspot.experiments.cells import Recipe
from signspot.experiments.table import Row, Table, published

_PAPER = (
    (False, 96, (41.65, 54.73)),
    (False, 192, (42.07, 54.25)),
    (False, 384, (43.14, 54.28)),
    (True, 96, (43.65, 53.03)),
    (True, 192, (43.55, 54.20)),
)

TABLE = Table(
    "table-a1",
    "Table A.1: class balance, Watch-Lookup, seen words",
    ("class balance", "batch size"),
    tuple(
        Row(
            ("yes" if distinct else "no", f"{size}"),
            Recipe(learn={"loss": "watch_lookup", "batch.distinct": distinct, "batch.items": size}),
            {"seen": published(*numbers)},
        )
        for distinct, size, numbers in _PAPER
    ),
)
