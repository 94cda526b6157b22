"""Table 2, the effect of the loss: trunks alone, and an MLP on a frozen trunk by each loss; words seen and unseen."""

from signspot.experiments.cells import Recipe
from signspot.experiments.setup import SETTINGS
from signspot.experiments.table import Row, Table, published

TABLE = Table(
    "table2",
    "Table 2: the effect of the loss",
    ("embedding", "learned by"),
    (
        Row(
            ("trunk, dictionary", "classification"),
            Recipe(trunk="dictionary", learn=None),
            {"seen": published(2.68, 3.57), "unseen": published(1.21, 1.29)},
        ),
        Row(
            ("trunk, continuous", "classification"),
            Recipe(trunk="continuous", learn=None),
            {"seen": published(13.09, 17.25), "unseen": published(6.74, 8.94)},
        ),
        Row(
            ("trunk, both", "classification"),
            Recipe(learn=None),
            {"seen": published(19.81, 25.57), "unseen": published(4.81, 6.89)},
        ),
        Row(
            ("trunk, both + MLP", "classification"),
            Recipe(learn={"loss": "classification"}),
            {
                "seen": published(37.13, 39.68, (0.29, 0.57)),
                "unseen": published(10.33, 13.33, (0.43, 1.11)),
            },
        ),
        Row(
            ("trunk, both + MLP", "InfoNCE"),
            Recipe(learn={"loss": "info_nce"}),
            {
                "seen": published(43.59, 52.59, (0.76, 0.75)),
                "unseen": published(11.40, 14.76, (0.42, 0.40)),
            },
        ),
        Row(
            ("trunk, both + MLP", "Watch-Lookup"),
            Recipe(learn={"loss": "watch_lookup"}),
            {
                "seen": published(44.72, 55.51, (0.85, 2.17)),
                "unseen": published(11.02, 15.03, (0.27, 0.45)),
            },
        ),
        Row(
            ("trunk, both + MLP", "Watch-Read-Lookup"),
            Recipe(learn={"loss": "watch_read_lookup"}),
            {
                "seen": published(47.93, 60.76, (0.20, 1.45)),
                "unseen": published(14.86, 19.85, (1.29, 1.94)),
            },
        ),
    ),
    SETTINGS,
)
