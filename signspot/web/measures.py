"""Measures of decisions: precision with intervals, accuracy per word, agreement of annotators."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import sqrt

from signspot.web.verification import Item, Verdict, verified

_Z = 1.959964  # of a 95 % interval


@dataclass(frozen=True, slots=True)
class Share:
    """A share of yes among yes and no, with its 95 % interval by Wilson's formula."""

    yes: int
    no: int
    unsure: int = 0

    @property
    def value(self) -> float | None:
        """The share; None where there is neither yes nor no."""
        return self.yes / (self.yes + self.no) if self.yes + self.no else None

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % confidence interval of the share: (0, 1) where nothing is known."""
        count = self.yes + self.no
        if not count:
            return 0.0, 1.0
        share, square = self.yes / count, _Z * _Z
        middle = (share + square / (2 * count)) / (1 + square / count)
        half = _Z * sqrt(share * (1 - share) / count + square / (4 * count * count)) / (1 + square / count)
        return max(0.0, middle - half), min(1.0, middle + half)


@dataclass(frozen=True, slots=True)
class Agreement:
    """Two people who decided about the same items."""

    one: str
    other: str
    items: int
    observed: float  # share of equal answers
    kappa: float | None  # Cohen's; None where chance alone would make all answers equal


@dataclass(frozen=True, slots=True)
class Person:
    """Counts of one annotator."""

    name: str
    decisions: int
    seconds: float  # median per decision


@dataclass(frozen=True, slots=True)
class Measures:
    """Measures of a queue's decisions."""

    items: int
    decided: int  # items with a standing decision
    precision: Share
    words: dict[str, Share]  # by word, those with most decisions first
    agreement: tuple[Agreement, ...]
    people: tuple[Person, ...]


def measure(items: Sequence[Item], verdicts: Sequence[Verdict]) -> Measures:
    """Measure a queue; where people disagree about an item, it counts as unsure."""
    answers: Counter[tuple[str, str]] = Counter()
    seen: set[int] = set()
    for item, own, spotting in verified(items, verdicts):
        if own and item.item not in seen:
            seen.add(item.item)
            answers[item.spotting.word, spotting.decision] += 1
    words = {word: _share(answers, word) for word in dict.fromkeys(word for word, _ in answers)}
    ordered = dict(sorted(words.items(), key=lambda pair: (-(pair[1].yes + pair[1].no + pair[1].unsure), pair[0])))
    total = Share(*(sum(getattr(share, name) for share in words.values()) for name in ("yes", "no", "unsure")))
    return Measures(len(items), len(seen), total, ordered, tuple(agreements(verdicts)), tuple(_people(verdicts)))


def _share(answers: Counter[tuple[str, str]], word: str) -> Share:
    return Share(answers[word, "yes"], answers[word, "no"], answers[word, "unsure"])


def agreements(verdicts: Iterable[Verdict]) -> list[Agreement]:
    """Cohen's kappa of every two people who share items, on yes, no and unsure; most shared items first."""
    by_person: dict[str, dict[int, str]] = {}
    for verdict in verdicts:
        by_person.setdefault(verdict.annotator, {})[verdict.item] = verdict.plain
    found = []
    for one, other in combinations(sorted(by_person), 2):
        shared = sorted(by_person[one].keys() & by_person[other].keys())
        if shared:
            pairs = [(by_person[one][item], by_person[other][item]) for item in shared]
            observed = sum(a == b for a, b in pairs) / len(pairs)
            found.append(Agreement(one, other, len(pairs), observed, cohens_kappa(pairs)))
    return sorted(found, key=lambda each: -each.items)


def cohens_kappa(pairs: Sequence[tuple[str, str]]) -> float | None:
    """Agreement beyond chance of (n,) pairs of answers: 1 is perfect, 0 is chance; None where chance is certain."""
    count = len(pairs)
    if not count:
        return None
    ones, others = Counter(one for one, _ in pairs), Counter(other for _, other in pairs)
    chance = sum(ones[answer] * others[answer] for answer in ones) / count**2
    observed = sum(one == other for one, other in pairs) / count
    return None if chance >= 1 else (observed - chance) / (1 - chance)


def _people(verdicts: Iterable[Verdict]) -> list[Person]:
    times: dict[str, list[float]] = {}
    for verdict in verdicts:
        times.setdefault(verdict.annotator, []).append(verdict.seconds)
    return [Person(name, len(own), sorted(own)[len(own) // 2]) for name, own in sorted(times.items())]
