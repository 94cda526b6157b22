"""Values collected by group, a word or a video: what every metric accumulates before the ratio is taken."""

import math
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass

Group = Hashable  # a word or a video: a string or a whole number


@dataclass(frozen=True, slots=True)
class Averages:
    """The two means of values that belong to groups; both nan where there is no value."""

    per_group: float  # the mean over groups of each group's mean: every word counts the same
    per_instance: float  # the mean over all values


class GroupedValues(Mapping[Group, tuple[float, ...]]):
    """Values by group, kept one by one, so that workers can be merged and groups resampled.

    Sums are exactly rounded (`math.fsum`): the averages do not depend on the order in which values came in.
    """

    def __init__(self) -> None:
        self._values: dict[Group, list[float]] = {}

    def add(self, group: Group, value: float) -> None:
        """Take in one value of a group."""
        self._values.setdefault(group, []).append(float(value))

    def merge(self, other: "GroupedValues") -> None:
        """Take in all values of another collection."""
        for group, values in other._values.items():
            self._values.setdefault(group, []).extend(values)

    def value(self) -> Averages:
        """Average over groups and over instances; nan and nan where nothing was added."""
        return Averages(mean(list(self.means().values())), mean(self.instances()))

    def means(self) -> dict[Group, float]:
        """Every group's own mean."""
        return {group: mean(values) for group, values in self._values.items()}

    def instances(self) -> list[float]:
        """All values, group after group."""
        return [value for values in self._values.values() for value in values]

    def __getitem__(self, group: Group) -> tuple[float, ...]:
        return tuple(self._values[group])

    def __iter__(self) -> Iterator[Group]:
        return iter(self._values)

    def __len__(self) -> int:
        """How many groups there are."""
        return len(self._values)


def mean(values: list[float]) -> float:
    """The mean, the same in whatever order; nan of nothing."""
    return math.fsum(values) / len(values) if values else math.nan
