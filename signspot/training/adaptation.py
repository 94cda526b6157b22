"""Adapts an encoder to subtitled footage and a dictionary, if cross-validation shows a gain."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signspot.corpus.corpus import Corpus, with_split
from signspot.dictionary.dictionary import Dictionary
from signspot.io.progress import Stage, quiet
from signspot.models.encoder import Encoder
from signspot.spotting.spot_options import MatchBy
from signspot.spotting.spotter import Spotter
from signspot.training.adaptation_data import (
    AdaptOptions,
    EmbeddedFootage,
    Gain,
    HeldOutScores,
    Turn,
    gains,
    read_footage,
    score_segments,
)
from signspot.training.adapters import (
    AdapterChoice,
    Adapters,
    SegmentBatches,
    adapt_gallery,
    adapt_track,
    fold,
    frame_coder,
    train_adapters,
)
from signspot.training.distributed import current_group

Scores = NDArray[np.floating[Any]]

FEWEST_LABELLED = 8  # words with labels on held-out footage, from which on labels decide instead of subtitles
_FEWEST_ABOVE = 20  # scores above a threshold, from which on it can be set anew


@dataclass(frozen=True)
class AdaptationResult:
    """The outcome of an adaptation."""

    encoder: Encoder | None  # None: there is no gain; keep the one that was adapted
    base: Encoder  # that was adapted
    gains: Mapping[str, tuple[Gain, ...]]  # of the map of codes ("alignment") and of embeddings ("embedding")
    kept: AdapterChoice  # which adapters the encoder has
    learned: int  # segments
    held: int  # segments
    words: int  # learned from
    labels: int  # learned from
    videos: int  # for training
    test_videos: int  # that were not looked at
    hours: float  # of footage
    seconds: float  # that it took

    def deciding(self, match: str) -> Gain:
        """The gain by which it was decided whether a map is kept."""
        return deciding(self.gains[match])


def adapt(
    spotter: Spotter,
    corpus: Corpus,
    dictionary: Dictionary,
    folder: str | PathLike[str],
    options: AdaptOptions | None = None,
    *,
    stage: Stage = quiet,
    command: str = "",
) -> AdaptationResult:
    """Adapt the encoder of a spotter to a user's own footage, and measure the gain by cross-validation.

    Only training videos are looked at: those that `splits.json` names, or those of a split that is made by video and
    kept in the folder as `splits.json`. Each part of them and of the words is held out in turn. Where the turns
    together show a gain, the encoder learns from all of it.

    Args:
        spotter: with an encoder of frame codes; it is not changed.
        corpus: videos with subtitles; labels are used where there are any. Its test videos are left alone.
        dictionary: of the words that subtitles name.
        folder: where the state is kept; an interrupted run resumes there. Its name is that of the new encoder.
        options: how to learn.
        stage: shows the progress of each stage.
        command: for the card.

    Raises:
        OptionsError: the encoder gives no frame codes, there are no subtitles or common words, or too little footage.
        CheckpointError: the folder holds the state of another adaptation.
        KeyboardInterrupt: it was interrupted; the state is saved.
    """
    began, chosen, base = time.monotonic(), options or AdaptOptions(), spotter.encoder
    frame_coder(base)
    with current_group().first_ahead():
        whole_corpus = with_split(corpus, Path(folder) / "splits.json")
        footage = read_footage(spotter, whole_corpus, dictionary, chosen, stage)
    test_videos = len(whole_corpus.in_split("test"))
    turns = _cross_validate(spotter, footage, chosen, Path(folder), stage)
    measured: dict[str, tuple[Gain, ...]] = {match: tuple(gains(of_turns)) for match, of_turns in turns.items()}
    choice = AdapterChoice(is_kept(measured["alignment"]), "embedding" in measured and is_kept(measured["embedding"]))
    whole = footage.whole()
    encoder = None
    if choice:
        with stage("learning from all of it") as progress:
            adapters = train_adapters(base, SegmentBatches(whole, chosen), folder, progress)
        threshold = base.contract.threshold
        if choice.codes:
            others = [(turn.before.others, turn.after.others) for turn in turns["alignment"]]
            threshold = same_rate(threshold, *(np.concatenate(scores) for scores in zip(*others, strict=True)))
        card = _card(base, whole, chosen, measured, choice, command)
        folded = fold(base, adapters, choice, footage.gallery, Path(folder).resolve().name, card)
        encoder = replace(folded, contract=replace(folded.contract, threshold=threshold))
    return AdaptationResult(
        encoder,
        base,
        measured,
        choice,
        len(whole.learned),
        sum(len(part.held) for part in footage.turns(chosen)),
        len(whole.words),
        whole.labels,
        len(whole_corpus.videos) - test_videos,
        test_videos,
        footage.hours,
        time.monotonic() - began,
    )


def deciding(measured: tuple[Gain, ...]) -> Gain:
    """The gain on all words: by labels where enough held-out words have some, else by what subtitles name."""
    every = [gain for gain in measured if gain.group == "all words"]
    labelled = [gain for gain in every if gain.measure == "labelled" and gain.words >= FEWEST_LABELLED]
    return (labelled or every)[0]


def is_kept(measured: tuple[Gain, ...]) -> bool:
    """Whether a gain is shown on all words of the held-out footage, and no loss on the words that were held out."""
    chosen = deciding(measured)
    unseen = [gain for gain in measured if gain.measure == chosen.measure and gain.group == "held-out words"]
    return chosen.is_shown and all(gain.difference.high >= 0 for gain in unseen)


def same_rate(threshold: float, before: Scores, after: Scores) -> float:
    """The threshold that words which no subtitle names pass as often as before; as it was, where too few do.

    Args:
        threshold: of the scores before.
        before: (N,) best scores of words that are not named.
        after: (N,) the same by the adapted encoder.
    """
    above = int((before >= threshold).sum())
    if above < _FEWEST_ABOVE or above >= len(after):
        return threshold
    falling = np.sort(after)[::-1]
    return round(float((falling[above - 1] + falling[above]) / 2), 3)


def _cross_validate(
    spotter: Spotter, footage: EmbeddedFootage, options: AdaptOptions, folder: Path, stage: Stage
) -> dict[MatchBy, list[Turn]]:
    """Measure each part while it is held out: by alignment, and by embedding too if a map of embeddings is learned."""
    matches: list[MatchBy] = ["alignment", "embedding"] if options.embeddings else ["alignment"]
    turns: dict[MatchBy, list[Turn]] = {match: [] for match in matches}
    parts = footage.turns(options)
    for number, part in enumerate(parts, 1):
        with stage(f"learning, part {number} of {len(parts)} held out") as progress:
            adapters = train_adapters(
                spotter.encoder, SegmentBatches(part, options), folder / f"without-{number}", progress
            )
        before, after = (_measure(spotter, part, candidate, matches, stage) for candidate in (None, adapters))
        for match in matches:
            turns[match].append(Turn(before[match], after[match], part.words))
    return turns


def _measure(
    spotter: Spotter, footage: EmbeddedFootage, adapters: Adapters | None, matches: Sequence[MatchBy], stage: Stage
) -> dict[str, HeldOutScores]:
    """Scores of held-out segments; of the adapted encoder, where adapters are given."""
    tracks = {segment.video: footage.tracks[segment.video] for segment in footage.held}
    gallery, searcher = footage.gallery, spotter
    if adapters is not None:
        encoder = fold(spotter.encoder, adapters, AdapterChoice(codes=True, embedding=True), gallery, "adapted", {})
        tracks = {name: adapt_track(track, adapters, encoder.hash) for name, track in tracks.items()}
        gallery, searcher = adapt_gallery(gallery, adapters), Spotter(encoder)
    scores: dict[str, HeldOutScores] = {}
    for match in matches:
        with stage(f"held-out footage, {match}, {'adapted' if adapters else 'as it is'}") as progress:
            scores[match] = score_segments(searcher, tracks, footage.held, gallery, match, progress)
    return scores


def _card(
    base: Encoder,
    footage: EmbeddedFootage,
    options: AdaptOptions,
    measured: Mapping[str, tuple[Gain, ...]],
    choice: AdapterChoice,
    command: str,
) -> dict[str, Any]:
    parts = " and ".join(
        name for name, is_in in (("frame codes", choice.codes), ("embeddings", choice.embedding)) if is_in
    )
    sentence = (
        f"{parts.capitalize()} of '{base.name}' ({base.hash}), adapted by Watch-Read-Lookup on "
        f"{len(footage.learned):,} subtitled segments of {footage.hours:.2f} hours of training videos, "
        f"{len(footage.words):,} words and {footage.labels:,} labels; the gain was cross-validated."
    )
    return {
        "licence": base.card.get("licence", ""),
        "data": f"{sentence} The encoder before: {base.card.get('data', '') or 'unknown'}",
        "config": {"kind": "adapted", **options.as_dict(), "base": base.hash, "footage": footage.digest},
        "metrics": {match: [gain.as_dict() for gain in of_match] for match, of_match in measured.items()},
        "command": command,
    }
