"""Decoys: exemplars of signs that nobody looks for, which come with an encoder.

What they score is what chance scores, and an exemplar that is near to many of them is near to everything.
"""

import hashlib
import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signspot.embedding.exemplars import Gallery
from signspot.embedding.tracks import read_arrays, write_arrays
from signspot.errors import FormatError, OptionsError, OutputError
from signspot.models.contract import Encoder
from signspot.spotting.alignment import warping_costs
from signspot.types import Exemplar

logger = logging.getLogger(__name__)

FloatArray = NDArray[np.floating[Any]]

_KIND = "signspot decoys 1"  # raised with all that decides what is kept: the code of rest, `_NEAREST`
_NEAREST = 15  # decoys whose mean cost tells how near an exemplar is to everything
_OWN_WORDS = (100, 400)  # fewest and most words of a gallery that are decoys for its others
_OWN_COSTS = 2_000_000  # costs among a gallery's exemplars that are worked out before words are fewer: about 5 s
_CORRECTION = 0.5  # part of the nearness that is made up for
_LIKE_REST = 0.3  # of the distance of a typical decoy from rest: an exemplar nearer than that shows hands at rest
_LIKE_EVERYTHING = 0.7  # of the distance of a typical decoy from its nearest decoys, likewise


@dataclass(frozen=True, slots=True)
class Suspect:
    """An exemplar that is of little use: it matches what is no sign."""

    exemplar: Exemplar
    matches: str  # "rest" or "everything"


@dataclass(frozen=True, slots=True)
class KeptCosts:
    """Costs among the decoys of an encoder, which never change."""

    nearest: FloatArray  # (2 K, _NEAREST) of every decoy, as it is and mirrored, to the nearest decoys, the least first
    typical: float  # as `Cohort.typical`


@dataclass(frozen=True)
class Cohort:
    """Decoys that come with an encoder: words that nobody looks for, each by several signers."""

    codes: FloatArray  # (K, 2, L, C) frame codes, as they are and mirrored
    embeddings: FloatArray  # (K, 2, D) unit norm
    words: NDArray[np.int64]  # (K,) which word each is an exemplar of
    rest: FloatArray | None = None  # (C,) the frame code of somebody at rest, hands down
    kept: "KeptCosts | None" = None  # what was worked out before
    _known: dict[bytes, FloatArray] = field(default_factory=dict, repr=False, compare=False)  # least costs, by content
    _last: list[tuple[Gallery, NDArray[np.float32]]] = field(default_factory=list, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.kept is not None:
            self._known.update(zip(self._names, self.kept.nearest, strict=True))

    @cached_property
    def _names(self) -> list[bytes]:
        """Digests of all decoys, as they are and mirrored."""
        return _digests(self.codes.reshape(-1, *self.codes.shape[2:]))

    def costs_to_keep(self) -> "KeptCosts":
        """The costs among decoys, which are searched like words: they take longest to work out."""
        typical = self.typical
        nearest = self._nearest(self.codes.reshape(-1, *self.codes.shape[2:]))
        return KeptCosts(nearest, typical)

    @cached_property
    def most(self) -> int:
        """The number of exemplars that each word has at least."""
        return int(np.unique(self.words, return_counts=True)[1].min())

    @cached_property
    def typical(self) -> float:
        """The nearness of a typical exemplar: that of decoys to decoys of other words."""
        if self.kept is not None:
            return self.kept.typical
        costs = warping_costs(self.codes[:, 0], self.codes[:, 0])
        self._remember(self.codes[:, 0], costs)  # decoys are searched like words, and need not be compared again
        costs[self.words[:, None] == self.words] = np.inf
        return float(np.sort(costs, axis=1)[:, :_NEAREST].mean())

    def corrections_of(self, codes: FloatArray) -> NDArray[np.float32]:
        """Additional costs of matching exemplars that are near to everything, or to rest.

        Args:
            codes: (V, L, C) frame codes.

        Returns:
            (V,) to be added to the cost of each: above 0 for an exemplar to which many decoys are near, and for one
            that shows hands at rest.
        """
        typical, near, apart = self.typical, self._nearest(codes).mean(axis=1), self._from_rest(codes)
        corrections = _CORRECTION * (typical - near)
        resting = apart < _LIKE_REST * self.typical_rest
        heavier = np.where(resting, np.maximum(corrections, self.typical_rest - apart), corrections)
        return np.asarray(heavier, np.float32)

    def suspects(self, gallery: Gallery) -> list[Suspect]:
        """The exemplars of a gallery that match rest, or everything, in the order of the gallery."""
        if gallery.codes is None:
            return []
        plain = np.flatnonzero(~gallery.mirrored)
        near, apart = self._nearest(gallery.codes[plain]).mean(axis=1), self._from_rest(gallery.codes[plain])
        resting, hub = apart < _LIKE_REST * self.typical_rest, near < _LIKE_EVERYTHING * self.typical
        return [
            Suspect(gallery.exemplars[gallery.rows[row]], "rest" if resting[place] else "everything")
            for place, row in enumerate(plain)
            if resting[place] or hub[place]
        ]

    @cached_property
    def typical_rest(self) -> float:
        """The distance of a typical decoy from rest; 0 where rest is not known."""
        return float(np.median(self._from_rest(self.codes[:, 0])))

    def _from_rest(self, codes: FloatArray) -> NDArray[np.float64]:
        """(V,) mean distance of the frames of (V, L, C) codes from rest; 0 where rest is not known."""
        if self.rest is None:
            return np.zeros(len(codes))
        return np.asarray(np.linalg.norm(codes - self.rest, axis=-1).mean(axis=-1), np.float64)

    def _nearest(self, codes: FloatArray) -> FloatArray:
        """(V, L, C) frame codes to (V, _NEAREST) their costs to the nearest decoys, the least first."""
        names = _digests(codes)
        new = [row for row, name in enumerate(names) if name not in self._known]
        if new:
            self._remember(codes[new], warping_costs(codes[new], self.codes[:, 0]))
        return np.stack([self._known[name] for name in names])

    def _remember(self, codes: FloatArray, costs: FloatArray) -> None:
        """Keep the least of (V, K) costs of (V, L, C) frame codes to all decoys."""
        nearest = np.sort(costs, axis=1)[:, :_NEAREST]
        self._known.update(zip(_digests(codes), nearest.copy(), strict=True))

    def corrections_in(self, gallery: Gallery) -> NDArray[np.float32]:
        """As `corrections_of` all rows of a gallery, whose own words are decoys for each other beside the shipped ones.

        They are of the language and the cameras at hand, which the shipped ones may not be. The more of them serve, the
        nearer are the nearest: all up to 400, or else words at equal steps through the gallery. The mean of the
        corrections stays what it is without them.
        """
        if self._last and self._last[0][0] is gallery:
            return self._last[0][1]
        assert gallery.codes is not None, "identified by embeddings"
        words = list(gallery.words)
        fewest, most = _OWN_WORDS
        serving = max(fewest, min(most, _OWN_COSTS // len(gallery.codes)))
        steps = np.linspace(0, len(words) - 1, min(len(words), serving)).astype(int)
        shown = [int(gallery.words[words[step]][0]) for step in steps]
        own = warping_costs(gallery.codes, gallery.codes[shown])
        for column, step in enumerate(steps):
            own[gallery.words[words[step]], column] = np.inf
        shipped = self._nearest(gallery.codes)
        nearest = np.sort(np.concatenate([own, shipped], axis=1), axis=1)[:, : shipped.shape[1]].mean(axis=1)
        typical = self.typical - float(shipped.mean() - nearest.mean())
        corrections = np.asarray(_CORRECTION * (typical - nearest), np.float32)
        self._last[:] = [(gallery, corrections)]
        return corrections

    @property
    def background(self) -> FloatArray:
        """(T, C) signing: all decoys one after the other."""
        return self.codes[:, 0].reshape(-1, self.codes.shape[-1])

    def gallery(self, exemplars: int, *, mirror: bool) -> Gallery:
        """The first so many exemplars of every word, or all there are; mirrored, too, if wanted."""
        chosen = np.concatenate([np.flatnonzero(self.words == word)[:exemplars] for word in np.unique(self.words)])
        shown = [Exemplar(f"decoy {self.words[row]}", f"decoy {row}") for row in chosen]
        views = slice(0, 2 if mirror else 1)
        return Gallery.of(shown, self.embeddings[chosen, views].astype(np.float32), self.codes[chosen, views])


def _digests(codes: FloatArray) -> list[bytes]:
    """Names of (V, L, C) frame codes, by content."""
    return [hashlib.blake2b(row.tobytes(), digest_size=16).digest() for row in codes]


def cohort_of(encoder: Encoder) -> Cohort | None:
    """The decoys in an encoder's weights; None where there are none."""
    if not encoder.contract.codes:
        return None
    from signspot.spotting.weight_facts import decoy_arrays

    found = decoy_arrays(encoder)
    return None if found is None else Cohort(found.codes, found.embeddings, found.words, found.rest)


@dataclass(frozen=True, slots=True)
class Yardsticks:
    """Measures by which the costs of an encoder's alignments are read."""

    scale: float = 1.0  # the cost of aligning two different signs, whose score is a half
    cohort: Cohort | None = None  # None: the encoder comes without decoys


def yardsticks_of(encoder: Encoder, cache: Path | None = None) -> Yardsticks:
    """The yardsticks of an encoder: out of the cache folder, or out of its network, and then kept there."""
    if not encoder.contract.codes:
        return Yardsticks()
    entry = None if cache is None else cache / "decoys" / f"{encoder.hash}.safetensors"
    try:
        if entry is not None and entry.is_file():
            return _read_yardsticks(entry)
    except (FormatError, KeyError, ValueError, AssertionError) as error:
        logger.info("decoys are taken from the weights again: %s", error)
    from signspot.spotting.weight_facts import typical_cost

    made = Yardsticks(typical_cost(encoder), cohort_of(encoder))
    if entry is not None:
        try:
            _write_yardsticks(entry, made)
        except OutputError as error:
            logger.info("the cache cannot be used: %s", error)
    return made


def _read_yardsticks(entry: Path) -> Yardsticks:
    arrays, header = read_arrays(entry, _KIND)
    scale = float(header["scale"])
    if "codes" not in arrays:
        return Yardsticks(scale)
    kept = KeptCosts(arrays["nearest"], float(header["typical"]))
    codes, embeddings, words = arrays["codes"], arrays["embeddings"], arrays["words"]
    return Yardsticks(scale, Cohort(codes, embeddings, words, arrays["rest"], kept))


def _write_yardsticks(entry: Path, made: Yardsticks) -> None:
    header, arrays, cohort = {"scale": repr(made.scale)}, {}, made.cohort
    if cohort is not None:
        costs = cohort.costs_to_keep()
        header["typical"] = repr(costs.typical)
        arrays = {"codes": cohort.codes, "embeddings": cohort.embeddings, "words": cohort.words}
        arrays |= {"nearest": costs.nearest} | ({} if cohort.rest is None else {"rest": cohort.rest})
    write_arrays(entry, _KIND, arrays, header)


def threshold_for(encoder: Encoder, rate: float) -> float:
    """The threshold at which an encoder gives `rate` false alarms per hour and word, by its card.

    Between the rates that the card tells of, the threshold is linear in the logarithm of the rate.

    Raises:
        OptionsError: the card tells nothing of it, or the rate is outside of what it tells.
    """
    table: Mapping[str, float] = dict(encoder.card.get("false_alarms_per_hour") or {})
    if not table:
        raise OptionsError(f"the encoder '{encoder.name}' is not calibrated. Use --threshold, or signspot calibrate")
    known = sorted((float(each), value) for each, value in table.items())
    if not known[0][0] <= rate <= known[-1][0]:
        raise OptionsError(
            f"the encoder '{encoder.name}' is calibrated for {known[0][0]:g} to {known[-1][0]:g} false alarms per hour "
            f"and word; got {rate:g}"
        )
    return float(np.interp(math.log(rate), [math.log(each) for each, _ in known], [value for _, value in known]))
