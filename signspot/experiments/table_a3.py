"""Table A.3, language-aware negatives: words of one meaning or one sign are discarded as negatives; Watch-Lookup."""

from signspot.experiments.cells import Recipe
from signspot.experiments.table import Row, Table, published
from signspot.text.synonyms import WordNet

TABLE = Table(
    "table-a3",
    "Table A.3: language-aware negatives, Watch-Lookup, seen words",
    ("synonyms",),
    (
        Row(
            ("English ones discarded",),
            Recipe(learn={"loss": "watch_lookup", "synonyms": "english"}),
            {"seen": published(43.27, 54.24)},
            needs=WordNet,
        ),
        Row(
            ("those of one sign discarded",),
            Recipe(learn={"loss": "watch_lookup", "synonyms": "sign"}),
            {"seen": published(45.03, 54.19)},
        ),
        Row(("kept as negatives",), Recipe(learn={"loss": "watch_lookup"}), {"seen": published(43.65, 53.03)}),
    ),
)
