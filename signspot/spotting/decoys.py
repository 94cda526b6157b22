"""Decoys: exemplars of signs that nobody looks for, which come with an encoder.

What they score is what chance scores, and an exemplar that is near to many of them is near to everything.
"""

import hashlib
import logging
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from signspot.embedding.exemplars import Gallery
from signspot.embedding.tracks import read_arrays, write_arrays
from signspot.errors import FormatError, OutputError
from signspot.landmarks.features import CHANNELS, JOINTS
from signspot.models.encoder import Encoder
from signspot.spotting.matching import FloatArray, fitted, warping_costs
from signspot.types import Exemplar

logger = logging.getLogger(__name__)

_KIND = "signspot decoys 1"  # raised with all that decides the cached values: the code of rest, `_NEAREST`
_FITTED = fitted("decoys")
_NEAREST: int = _FITTED["nearest"]  # decoys whose mean cost says how near an exemplar is to everything
_OWN_WORDS = (100, 400)  # fewest and most words of a gallery that are decoys for its others
_OWN_COSTS = 2_000_000  # costs among a gallery's exemplars that are computed before words are fewer: about 5 s
_CORRECTION: float = _FITTED["correction"]  # part of the nearness that is made up for
_LIKE_REST: float = _FITTED["like_rest"]  # of a typical decoy's distance from rest: nearer exemplars show rest
_LIKE_EVERYTHING: float = _FITTED["like_everything"]  # of a typical decoy's distance from its nearest decoys
# Nose, shoulders, elbows and wrists of somebody whose arms hang down, in shoulder widths; y is down.
_ARMS_DOWN = ((0.0, -0.9), (0.5, 0.0), (-0.5, 0.0), (0.6, 1.0), (-0.6, 1.0), (0.55, 2.0), (-0.55, 2.0))


@dataclass(frozen=True, slots=True)
class PoorExemplar:
    """An exemplar that is of little use: it matches what is not a sign."""

    exemplar: Exemplar
    matches: str  # "rest" or "everything"


@dataclass(frozen=True, slots=True)
class DecoyCosts:
    """Costs among the decoys of an encoder, which never change and take longest to compute."""

    nearest: FloatArray  # (2 K, _NEAREST) of every decoy, as it is and mirrored, to the nearest decoys, the least first
    typical: float  # as `DecoySet.typical`


@dataclass(frozen=True)
class DecoySet:
    """The decoys of an encoder: words that nobody looks for, each by several signers."""

    codes: FloatArray  # (K, 2, L, C) frame codes, as they are and mirrored
    embeddings: FloatArray  # (K, 2, D) unit norm
    words: NDArray[np.int64]  # (K,) which word each is an exemplar of
    rest: FloatArray | None = None  # (C,) the frame code of somebody at rest, hands down
    cached: DecoyCosts | None = None  # what was computed before
    _nearest_costs: dict[bytes, FloatArray] = field(default_factory=dict, repr=False, compare=False)  # by content
    _last: list[tuple[Gallery, NDArray[np.float32]]] = field(default_factory=list, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.cached is not None:
            self._nearest_costs.update(zip(_digests(self._all_codes), self.cached.nearest, strict=True))

    @property
    def _all_codes(self) -> FloatArray:
        """(2 K, L, C) codes of all decoys, as they are and mirrored."""
        return self.codes.reshape(-1, *self.codes.shape[2:])

    def costs(self) -> DecoyCosts:
        """The costs among decoys, to be cached."""
        typical = self.typical
        return DecoyCosts(self._nearest(self._all_codes), typical)

    @cached_property
    def exemplars(self) -> int:
        """The number of exemplars that each word has at least."""
        return int(np.unique(self.words, return_counts=True)[1].min())

    @cached_property
    def typical(self) -> float:
        """The nearness of a typical exemplar: the mean cost of decoys to their nearest decoys of other words."""
        if self.cached is not None:
            return self.cached.typical
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
        typical, nearness, from_rest = self.typical, self._nearest(codes).mean(axis=1), self._from_rest(codes)
        corrections = _CORRECTION * (typical - nearness)
        resting = from_rest < _LIKE_REST * self.typical_rest
        heavier = np.where(resting, np.maximum(corrections, self.typical_rest - from_rest), corrections)
        return np.asarray(heavier, np.float32)

    def poor_exemplars(self, gallery: Gallery) -> list[PoorExemplar]:
        """The exemplars of a gallery that match rest, or everything, in the order of the gallery."""
        if gallery.codes is None:
            return []
        rows = np.flatnonzero(~gallery.mirrored)
        nearness, from_rest = self._nearest(gallery.codes[rows]).mean(axis=1), self._from_rest(gallery.codes[rows])
        resting, hub = from_rest < _LIKE_REST * self.typical_rest, nearness < _LIKE_EVERYTHING * self.typical
        return [
            PoorExemplar(gallery.exemplars[gallery.rows[row]], "rest" if is_resting else "everything")
            for row, is_resting, is_hub in zip(rows, resting, hub, strict=True)
            if is_resting or is_hub
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
        digests = _digests(codes)
        new = [row for row, digest in enumerate(digests) if digest not in self._nearest_costs]
        if new:
            self._remember(codes[new], warping_costs(codes[new], self.codes[:, 0]))
        return np.stack([self._nearest_costs[digest] for digest in digests])

    def _remember(self, codes: FloatArray, costs: FloatArray) -> None:
        """Keep the least of (V, K) costs of (V, L, C) frame codes to all decoys."""
        nearest = np.sort(costs, axis=1)[:, :_NEAREST]
        self._nearest_costs.update(zip(_digests(codes), nearest.copy(), strict=True))

    def corrections_in(self, gallery: Gallery) -> NDArray[np.float32]:
        """As `corrections_of` all rows of a gallery, whose own words are decoys for each other beside these.

        They are of the language and the cameras at hand, which the encoder's may not be. The more of them serve, the
        nearer are the nearest: all up to 400, or else words at equal steps through the gallery. The mean of the
        corrections stays what it is without them.
        """
        if self._last and self._last[0][0] is gallery:
            return self._last[0][1]
        assert gallery.codes is not None, "identified by embeddings"
        words = list(gallery.words)
        fewest, most = _OWN_WORDS
        count = max(fewest, min(most, _OWN_COSTS // len(gallery.codes)))
        chosen = np.linspace(0, len(words) - 1, min(len(words), count)).astype(int)
        rows = [int(gallery.words[words[index]][0]) for index in chosen]
        costs = warping_costs(gallery.codes, gallery.codes[rows])
        for column, index in enumerate(chosen):
            costs[gallery.words[words[index]], column] = np.inf
        to_decoys = self._nearest(gallery.codes)
        nearness = np.sort(np.concatenate([costs, to_decoys], axis=1), axis=1)[:, : to_decoys.shape[1]].mean(axis=1)
        typical = self.typical - float(to_decoys.mean() - nearness.mean())
        corrections = np.asarray(_CORRECTION * (typical - nearness), np.float32)
        self._last[:] = [(gallery, corrections)]
        return corrections

    @property
    def background(self) -> FloatArray:
        """(T, C) signing: all decoys one after the other."""
        return self.codes[:, 0].reshape(-1, self.codes.shape[-1])

    def gallery(self, exemplars: int, *, mirror: bool) -> Gallery:
        """The first so many exemplars of every word, or all there are; mirrored, too, if wanted."""
        rows = np.concatenate([np.flatnonzero(self.words == word)[:exemplars] for word in np.unique(self.words)])
        decoys = [Exemplar(f"decoy {self.words[row]}", f"decoy {row}") for row in rows]
        views = slice(0, 2 if mirror else 1)
        return Gallery.of(decoys, self.embeddings[rows, views].astype(np.float32), self.codes[rows, views])


def _digests(codes: FloatArray) -> list[bytes]:
    """Digests of (V, L, C) frame codes, by content."""
    return [hashlib.blake2b(row.tobytes(), digest_size=16).digest() for row in codes]


def alignment_scale(encoder: Encoder) -> float:
    """The cost of aligning two different signs, whose score is a half; 1 where the encoder gives no frame codes."""
    if not encoder.contract.codes:
        return 1.0
    from signspot.models.frame_coder import FrameCoder

    trunk = encoder.module.trunk
    return float(trunk.typical_cost) if isinstance(trunk, FrameCoder) else 1.0


def decoys_of(encoder: Encoder) -> DecoySet | None:
    """The decoys in an encoder's weights; None where there are none."""
    if not encoder.contract.codes:
        return None
    import torch

    from signspot.models.frame_coder import FrameCoder

    trunk = encoder.module.trunk
    if not isinstance(trunk, FrameCoder) or not trunk.options.decoys:
        return None
    frames = np.zeros((2 * trunk.code_reach + 1, JOINTS, CHANNELS), np.float32)  # arms down, hands not seen
    frames[:, : len(_ARMS_DOWN), :2] = _ARMS_DOWN
    frames[:, : len(_ARMS_DOWN), 3] = 1  # seen
    with torch.inference_mode():
        rest = trunk.frame_codes(torch.from_numpy(frames).to(encoder.device))[0]
        embeddings = encoder.module.mlp(trunk.pooled(trunk.decoys), "dictionary")
    codes, words = trunk.decoys.cpu().numpy(), trunk.decoy_words.cpu().numpy().astype(np.int64)
    return DecoySet(codes, embeddings.cpu().numpy(), words, rest.cpu().numpy())


@dataclass(frozen=True, slots=True)
class ScoreCalibration:
    """What turns the costs of an encoder's alignments into scores, and scores into false alarms."""

    scale: float = 1.0  # the cost of aligning two different signs, whose score is a half
    decoys: DecoySet | None = None  # None: the encoder comes without decoys


def score_calibration(encoder: Encoder, cache: Path | None = None) -> ScoreCalibration:
    """The calibration of an encoder: out of the cache folder, or out of its network, and then cached there."""
    if not encoder.contract.codes:
        return ScoreCalibration()
    entry = None if cache is None else cache / "decoys" / f"{encoder.hash}.safetensors"
    try:
        if entry is not None and entry.is_file():
            return _read_calibration(entry)
    except (FormatError, KeyError, ValueError, AssertionError) as error:
        logger.info("cached decoys are made again: %s", error)
    calibration = ScoreCalibration(alignment_scale(encoder), decoys_of(encoder))
    if entry is not None:
        try:
            _write_calibration(entry, calibration)
        except OutputError as error:
            logger.info("the cache cannot be used: %s", error)
    return calibration


def _read_calibration(entry: Path) -> ScoreCalibration:
    arrays, header = read_arrays(entry, _KIND)
    scale = float(header["scale"])
    if "codes" not in arrays:
        return ScoreCalibration(scale)
    costs = DecoyCosts(arrays["nearest"], float(header["typical"]))
    decoys = DecoySet(arrays["codes"], arrays["embeddings"], arrays["words"], arrays["rest"], costs)
    return ScoreCalibration(scale, decoys)


def _write_calibration(entry: Path, calibration: ScoreCalibration) -> None:
    header, arrays, decoys = {"scale": repr(calibration.scale)}, {}, calibration.decoys
    if decoys is not None:
        costs = decoys.costs()
        header["typical"] = repr(costs.typical)
        arrays = {"codes": decoys.codes, "embeddings": decoys.embeddings, "words": decoys.words}
        arrays |= {"nearest": costs.nearest} | ({} if decoys.rest is None else {"rest": decoys.rest})
    write_arrays(entry, _KIND, arrays, header)
