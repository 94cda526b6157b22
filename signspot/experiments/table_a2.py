"""Table A.2, domain-specific layers: one MLP for both domains, or one a domain; Watch-Lookup."""

from signspot.experiments.cells import Recipe
from signspot.experiments.table import Row, Table, published

TABLE = Table(
    "table-a2",
    "Table A.2: domain-specific layers, Watch-Lookup, seen words",
    ("domain-specific layers",),
    (
        Row(
            ("yes",),
            Recipe(learn={"loss": "watch_lookup", "domain_specific": True}),
            {"seen": published(43.58, 53.54)},
        ),
        Row(("no",), Recipe(learn={"loss": "watch_lookup"}), {"seen": published(43.65, 53.03)}),
    ),
)
