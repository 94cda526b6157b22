"""Table 5, the stride of the windows at test time, Watch-Lookup: one training, tested five times."""

from signspot.experiments.cells import Recipe
from signspot.experiments.table import Row, Table, published

_PAPER = {16: (31.96, 38.98), 8: (38.46, 47.38), 4: (44.92, 54.65), 2: (45.39, 55.63), 1: (43.65, 53.03)}

TABLE = Table(
    "table5",
    "Table 5: frames between windows, Watch-Lookup, seen words",
    ("stride",),
    tuple(
        Row(
            (f"{stride}",),
            Recipe(learn={"loss": "watch_lookup"}, stride=stride),
            {"seen": published(*numbers)},
        )
        for stride, numbers in _PAPER.items()
    ),
)
