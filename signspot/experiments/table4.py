"""Table 4, the confidence of labels: few sure ones or many doubtful ones, Watch-Lookup."""

from signspot.experiments.cells import Recipe
from signspot.experiments.table import Row, Table, published

_PAPER = {0.9: (37.55, 47.54), 0.8: (39.49, 48.84), 0.7: (41.87, 51.15), 0.6: (42.44, 52.42), 0.5: (43.65, 53.03)}

TABLE = Table(
    "table4",
    "Table 4: least confidence of labels, Watch-Lookup, seen words",
    ("confidence",),
    tuple(
        Row(
            (f"{least}",),
            Recipe(learn={"loss": "watch_lookup", "items.confidence": least}),
            {"seen": published(*numbers)},
        )
        for least, numbers in _PAPER.items()
    ),
    sizes=True,
)
