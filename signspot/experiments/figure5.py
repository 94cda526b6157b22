"""Fig. 5, batch size and temperature of Watch-Lookup; the paper shows curves and no numbers."""

from signspot.experiments.cells import Recipe
from signspot.experiments.table import Row, Table

BATCH_SIZES = (8, 16, 32, 64, 128, 256)
TEMPERATURES = (0.01, 0.02, 0.04, 0.07, 0.1, 0.2, 0.5, 1.0)

TABLE = Table(
    "figure5",
    "Fig. 5: batch size and temperature, Watch-Lookup, seen words",
    ("what", "value"),
    (
        *(
            Row(("batch size", f"{size}"), Recipe(learn={"loss": "watch_lookup", "batch.items": size}))
            for size in BATCH_SIZES
        ),
        *(
            Row(("temperature", f"{value:g}"), Recipe(learn={"loss": "watch_lookup", "temperature": value}))
            for value in TEMPERATURES
        ),
    ),
    curves=True,
)
