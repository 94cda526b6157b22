"""How long something takes, in seconds of the processor: what other programs do meanwhile does not count.

Measurements have a core of their own, so that on an idle machine these are seconds of the clock on the wall.
"""

from collections.abc import Callable, Iterable, Mapping
from time import process_time


def fastest(rounds: int, functions: Mapping[str, Callable[[], object]]) -> dict[str, float]:
    """Seconds of each function at its fastest, timed in turn `rounds` times."""
    best = dict.fromkeys(functions, float("inf"))
    for _ in range(rounds):
        for name, function in functions.items():
            start = process_time()
            function()
            best[name] = min(best[name], process_time() - start)
    return best


def rate(counts: Iterable[int]) -> tuple[int, float]:
    """How many in all, and how many a second once the first chunk is through (models load before it)."""
    start, first, total, end = process_time(), 0, 0, 0.0
    for count in counts:
        total += count
        end = process_time()
        if not first:
            first, begun = count, end
    if total > first:
        return total, (total - first) / (end - begun)
    return total, total / (end - start)
