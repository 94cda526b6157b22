"""The tables and figures of the paper that are reproduced: their rows, and the numbers that the paper gives."""

from experiments.paper.cells import CellRecipe
from experiments.paper.setup import SETTINGS
from experiments.paper.table import Table, TableRow, published
from signspot.words.synonyms import WordNet

TABLE_2 = Table(
    "table2",
    "Table 2: the effect of the loss",
    ("embedding", "learned by"),
    (
        TableRow(
            ("trunk, dictionary", "classification"),
            CellRecipe(trunk="dictionary", learn=None),
            {"seen": published(2.68, 3.57), "unseen": published(1.21, 1.29)},
        ),
        TableRow(
            ("trunk, continuous", "classification"),
            CellRecipe(trunk="continuous", learn=None),
            {"seen": published(13.09, 17.25), "unseen": published(6.74, 8.94)},
        ),
        TableRow(
            ("trunk, both", "classification"),
            CellRecipe(learn=None),
            {"seen": published(19.81, 25.57), "unseen": published(4.81, 6.89)},
        ),
        TableRow(
            ("trunk, both + MLP", "classification"),
            CellRecipe(learn={"loss": "classification"}),
            {
                "seen": published(37.13, 39.68, (0.29, 0.57)),
                "unseen": published(10.33, 13.33, (0.43, 1.11)),
            },
        ),
        TableRow(
            ("trunk, both + MLP", "InfoNCE"),
            CellRecipe(learn={"loss": "info_nce"}),
            {
                "seen": published(43.59, 52.59, (0.76, 0.75)),
                "unseen": published(11.40, 14.76, (0.42, 0.40)),
            },
        ),
        TableRow(
            ("trunk, both + MLP", "Watch-Lookup"),
            CellRecipe(learn={"loss": "watch_lookup"}),
            {
                "seen": published(44.72, 55.51, (0.85, 2.17)),
                "unseen": published(11.02, 15.03, (0.27, 0.45)),
            },
        ),
        TableRow(
            ("trunk, both + MLP", "Watch-Read-Lookup"),
            CellRecipe(learn={"loss": "watch_read_lookup"}),
            {
                "seen": published(47.93, 60.76, (0.20, 1.45)),
                "unseen": published(14.86, 19.85, (1.29, 1.94)),
            },
        ),
    ),
    SETTINGS,
)


_LEARN = {"loss": "watch_read_lookup"}

TABLE_3 = Table(
    "table3",
    "Table 3: the dictionary's vocabulary, Watch-Read-Lookup, unseen words",
    ("dictionary",),
    (
        TableRow(
            ("words with labels",),
            CellRecipe(learn=_LEARN),
            {"unseen": published(14.86, 19.85, (1.29, 1.94))},
        ),
        TableRow(
            ("all words",),
            CellRecipe(learn=_LEARN, vocabulary="full"),
            {"unseen": published(15.82, 21.67, (0.48, 0.72))},
        ),
    ),
    ("unseen",),
)


_PAPER = {0.9: (37.55, 47.54), 0.8: (39.49, 48.84), 0.7: (41.87, 51.15), 0.6: (42.44, 52.42), 0.5: (43.65, 53.03)}

TABLE_4 = Table(
    "table4",
    "Table 4: least confidence of labels, Watch-Lookup, seen words",
    ("confidence",),
    tuple(
        TableRow(
            (f"{least}",),
            CellRecipe(learn={"loss": "watch_lookup", "items.least.mouthing": least}),
            {"seen": published(*numbers)},
        )
        for least, numbers in _PAPER.items()
    ),
    sizes=True,
)


_PAPER_5 = {16: (31.96, 38.98), 8: (38.46, 47.38), 4: (44.92, 54.65), 2: (45.39, 55.63), 1: (43.65, 53.03)}

TABLE_5 = Table(
    "table5",
    "Table 5: frames between windows, Watch-Lookup, seen words",
    ("stride",),
    tuple(
        TableRow(
            (f"{stride}",),
            CellRecipe(learn={"loss": "watch_lookup"}, stride=stride),
            {"seen": published(*numbers)},
        )
        for stride, numbers in _PAPER_5.items()
    ),
)


_PAPER_A1 = (
    (False, 96, (41.65, 54.73)),
    (False, 192, (42.07, 54.25)),
    (False, 384, (43.14, 54.28)),
    (True, 96, (43.65, 53.03)),
    (True, 192, (43.55, 54.20)),
)

TABLE_A1 = Table(
    "table-a1",
    "Table A.1: class balance, Watch-Lookup, seen words",
    ("class balance", "batch size"),
    tuple(
        TableRow(
            ("yes" if distinct else "no", f"{size}"),
            CellRecipe(learn={"loss": "watch_lookup", "batch.distinct": distinct, "batch.items": size}),
            {"seen": published(*numbers)},
        )
        for distinct, size, numbers in _PAPER_A1
    ),
)


TABLE_A2 = Table(
    "table-a2",
    "Table A.2: domain-specific layers, Watch-Lookup, seen words",
    ("domain-specific layers",),
    (
        TableRow(
            ("yes",),
            CellRecipe(learn={"loss": "watch_lookup", "domain_specific": True}),
            {"seen": published(43.58, 53.54)},
        ),
        TableRow(("no",), CellRecipe(learn={"loss": "watch_lookup"}), {"seen": published(43.65, 53.03)}),
    ),
)


TABLE_A3 = Table(
    "table-a3",
    "Table A.3: language-aware negatives, Watch-Lookup, seen words",
    ("synonyms",),
    (
        TableRow(
            ("English ones discarded",),
            CellRecipe(learn={"loss": "watch_lookup", "synonyms": "english"}),
            {"seen": published(43.27, 54.24)},
            needs=WordNet,
        ),
        TableRow(
            ("those of one sign discarded",),
            CellRecipe(learn={"loss": "watch_lookup", "synonyms": "sign"}),
            {"seen": published(45.03, 54.19)},
        ),
        TableRow(("kept as negatives",), CellRecipe(learn={"loss": "watch_lookup"}), {"seen": published(43.65, 53.03)}),
    ),
)


BATCH_SIZES = (8, 16, 32, 64, 128, 256)
TEMPERATURES = (0.01, 0.02, 0.04, 0.07, 0.1, 0.2, 0.5, 1.0)

FIGURE_5 = Table(
    "figure5",
    "Fig. 5: batch size and temperature, Watch-Lookup, seen words",
    ("what", "value"),
    (
        *(
            TableRow(("batch size", f"{size}"), CellRecipe(learn={"loss": "watch_lookup", "batch.items": size}))
            for size in BATCH_SIZES
        ),
        *(
            TableRow(("temperature", f"{value:g}"), CellRecipe(learn={"loss": "watch_lookup", "temperature": value}))
            for value in TEMPERATURES
        ),
    ),
    curves=True,
)
