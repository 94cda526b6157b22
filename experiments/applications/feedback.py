"""Feedback measured: signs with one parameter changed on purpose, and real signs taken for their word or another.

    python -m experiments.applications.feedback --seed 53 --words 16 --corpus lsa64/ --corpus wlasl/
    python -m experiments.applications.feedback --fit feedback.json --words 40 --seed 51 --further 61 151 161 251 261

`--fit` fits the classifier that is shipped as signspot/applications/feedback.json.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments.applications.synthetic_signs import (
    Clip,
    add_corpora,
    embed_clips,
    gallery_of,
    make_words,
    parser_of,
    perform,
)
from experiments.markdown import print_table
from signspot.applications.feedback import (
    DISSIMILARITY,
    LEAST,
    MOST,
    MeasuredDifference,
    beyond_usual,
    chance,
    dissimilarity,
    error_classifier,
    is_right,
    measure_sign,
    strengths,
    typical_cost,
)
from signspot.applications.performance_differences import DescribedSign, describe_sign
from signspot.corpus.isolated import FPS, IsolatedClip, read_isolated
from signspot.embedding.exemplars import Gallery
from signspot.embedding.inputs import sign_in_context
from signspot.landmarks.features import mirror_features
from signspot.landmarks.landmarks import Landmarks
from signspot.spotting.spot_options import SpotOptions
from signspot.spotting.spotter import Match, Spotter, load
from signspot_synthetic.language.lexicon import Lexicon, change_one
from signspot_synthetic.language.phonology import PLACES, Hands, Region, Sign
from signspot_synthetic.random_streams import named_rng

EXEMPLARS = 3
_FIELDS = {"location": "place"}  # of a synthetic sign, where it is not called as the error
_STEPS, _LR, _DECAY = 1500, 0.03, 0.01  # of the fit
Floats = NDArray[np.float64]


def alter(lexicon: Lexicon, seed: int) -> Iterator[tuple[str, str, Sign]]:
    """Every word as it is, and with each error that can be made: word, error (none: empty), sign."""
    for word, entry in lexicon.items():
        yield word, "", entry.variants[0]
        for error in error_classifier().errors:
            changed = _change(entry.variants[0], seed, word, _FIELDS.get(error, error))
            if changed is not None:
                yield word, error, changed


def _change(sign: Sign, seed: int, word: str, field: str) -> Sign | None:
    """The sign with this field changed and no other; None where chance finds none soon."""
    if field == "hands":
        free = PLACES[sign.place].region is Region.SPACE
        return replace(sign, hands=Hands.SYMMETRIC) if sign.hands is Hands.ONE and free else None
    random = named_rng(seed, "alter", field, word)
    changes = (change_one(sign, random) for _ in range(60))
    return next((other for other in changes if sign.differences(other) == (field,)), None)


@dataclass(frozen=True, slots=True)
class Trial:
    """One clip, the error made in it, its measures, and how its word ranks."""

    error: str  # empty: none
    measured: Mapping[str, MeasuredDifference]
    rank: int
    score: float
    dissimilarity: float

    @property
    def log_odds(self) -> dict[str, float]:
        """Log-odds of each error."""
        return error_classifier().log_odds(strengths(self.measured, self.dissimilarity))

    @property
    def right(self) -> bool:
        """Whether it is taken for the word."""
        return is_right(self.rank, self.score, error_classifier().doubt(self.log_odds))

    @property
    def named(self) -> str:
        """The parameter that a learner is told first."""
        log_odds = self.log_odds
        return error_classifier().errors[max(log_odds, key=log_odds.__getitem__)]


def described(landmarks: Landmarks, *, mirror: bool = False) -> DescribedSign:
    """The sign in a clip."""
    frames, first, last = sign_in_context(landmarks, FPS)
    sign = frames[first : last + 1]
    return describe_sign(mirror_features(sign) if mirror else sign)


def synthetic_trials(spotter: Spotter, words: int, seed: int) -> Iterator[Trial]:
    """Every sign as it is, and with each error, against exemplars by three others."""
    lexicon = make_words(words, seed)
    exemplars: dict[str, list[Clip]] = {}
    for word, entry in lexicon.items():
        sign = entry.variants[0]
        clips = embed_clips(spotter, ((word, word, "", perform(sign, seed, word, number)) for number in count()))
        exemplars[word] = list(islice(clips, EXEMPLARS))
    signs = {word: [described(clip.landmarks) for clip in clips] for word, clips in exemplars.items()}
    gallery = gallery_of([clip for clips in exemplars.values() for clip in clips])
    typical = typical_cost(gallery, spotter.encoder)
    for word, error, sign in alter(lexicon, seed):
        field = _FIELDS.get(error, error)
        for clip in embed_clips(spotter, [(word, error, "", perform(sign, seed, "learner", word, field))]):
            matches = spotter.identify_views(clip.views, gallery, SpotOptions())
            rank = 1 + [match.word for match in matches].index(word)
            measured = measure_sign(described(clip.landmarks), signs[word])
            cost = dissimilarity(clip.views, gallery, matches[rank - 1], typical)
            yield Trial(error, measured, rank, matches[rank - 1].score, cost)


def synthetic_rows(trials: Sequence[Trial]) -> Iterator[tuple[str, ...]]:
    """Rows: the error, clips, taken for right, parameter named, and what it was most often taken for."""
    errors = error_classifier().errors
    for error in ("", *errors):
        with_error = [trial for trial in trials if trial.error == error]
        others = Counter(trial.named for trial in with_error if not error or trial.named != errors[error])
        named = _mean([trial.named == errors[error] for trial in with_error]) if error else ""
        most = ", ".join(f"{name} {times}" for name, times in others.most_common(2))
        yield error or "none", str(len(with_error)), _mean([trial.right for trial in with_error]), named, most
    wrong = [trial for trial in trials if trial.error]
    named = _mean([trial.named == errors[trial.error] for trial in wrong])
    yield "any", str(len(wrong)), _mean([trial.right for trial in wrong]), named, ""


def _mean(values: Sequence[float]) -> str:
    return f"{np.mean(values):.2f}" if len(values) else ""


def fit(trials: Sequence[Trial]) -> dict[str, object]:
    """Fit the classifier: the usual differences between right signs, then the regression on strengths beyond them."""
    shipped = error_classifier()
    names, classes = list(shipped.measures), ["", *shipped.errors]
    pairs = {name: [p for t in trials if name in t.measured for p in t.measured[name].pairs] for name in names}
    between = {name: float(np.mean(values)) if values else 0.0 for name, values in pairs.items()}
    beyond = np.array([[_beyond(trial, name, between[name]) for name in names] for trial in trials])
    same = np.array([not trial.error for trial in trials])
    more = np.nanmedian(beyond[same], axis=0)
    spread = 1.4826 * np.nanmedian(np.abs(beyond[same] - more), axis=0)
    spread = np.maximum(spread, 0.3 * np.nanstd(beyond[same], axis=0)) + 1e-6
    inputs = np.clip(np.nan_to_num((beyond - more) / spread), LEAST, MOST)
    weights, bias = _regression(inputs, np.array([classes.index(trial.error) for trial in trials]), len(classes))
    log_odds = inputs @ weights + bias
    measures = {
        name: {
            "parameter": shipped.measures[name].parameter,
            "between": round(between[name], 3),
            "more": round(float(more[number]), 3),
            "spread": round(float(spread[number]), 3),
            "weights": weights[number].round(3).tolist(),
        }
        for number, name in enumerate(names)
    }
    return {
        "errors": dict(shipped.errors),
        "bias": dict(zip(shipped.errors, bias.round(3).tolist(), strict=True)),
        "limit": round(float(np.quantile(np.logaddexp.reduce(log_odds[same], axis=1), 0.9)), 3),
        "notable": round(chance(float(np.quantile(log_odds[same].max(axis=1), 0.9))), 3),
        "dissimilarity_limits": list(shipped.dissimilarity_limits),
        "typical_cost": shipped.typical_cost,
        "measures": measures,
    }


def _beyond(trial: Trial, name: str, between: float) -> float:
    if name == DISSIMILARITY:
        return float(np.log(trial.dissimilarity))
    return beyond_usual(trial.measured[name], between) if name in trial.measured else float("nan")


def _regression(inputs: Floats, classes: NDArray[np.int64], count: int) -> tuple[Floats, Floats]:
    """(N, M) strengths and (N,) classes to weights (M, errors) and biases, relative to right signs, by Adam's steps.

    Right signs weigh as much as all others together; the bias is not decayed.
    """
    right = classes == 0
    share = np.where(right, 0.5 / right.sum(), 0.5 / (~right).sum())[:, None]
    targets, inputs = np.eye(count)[classes], np.concatenate([inputs, np.ones((len(inputs), 1))], axis=1)
    decay = np.full((inputs.shape[1], 1), _DECAY)
    decay[-1] = 0.0
    weights = np.zeros((inputs.shape[1], count))
    first, second = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, _STEPS + 1):
        scores = inputs @ weights
        chances = np.exp(scores - scores.max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
        slope = inputs.T @ (share * (chances - targets)) + decay * weights
        first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope**2
        weights -= _LR * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
    relative = weights[:, 1:] - weights[:, :1]
    return relative[:-1], relative[-1]


def real_row(spotter: Spotter, clips: Sequence[IsolatedClip], queries: int = 300, seed: int = 0) -> tuple[str, ...]:
    """Real signs by one signer against exemplars by up to three others, for their word and for the nearest other word.

    Returns:
        Words, clips, right taken for right, the nearest other word taken for right, the same where the dictionary has
        not the right one, MRR.
    """
    random, lent, query_clips = np.random.default_rng(seed), list[IsolatedClip](), list[IsolatedClip]()
    for word in sorted({clip.word for clip in clips}):
        clips_of_word = [clip for clip in clips if clip.word == word]
        signers = random.permutation(sorted({clip.signer for clip in clips_of_word})).tolist()
        if len(signers) > 1:
            query_clips += [clip for clip in clips_of_word if clip.signer == signers[0]][:2]
            lent += [
                next(clip for clip in clips_of_word if clip.signer == signer) for signer in signers[1 : 1 + EXEMPLARS]
            ]
    exemplars = list(embed_clips(spotter, [(clip.word, clip.word, clip.signer, clip.landmarks) for clip in lent]))
    gallery = gallery_of(exemplars)
    typical, rows = typical_cost(gallery, spotter.encoder), list[tuple[float, ...]]()
    query_clips = [
        query_clips[number]
        for number in random.permutation(len(query_clips)).tolist()
        if query_clips[number].word in gallery.words
    ]
    for clip in embed_clips(spotter, [(c.word, c.word, c.signer, c.landmarks) for c in query_clips[:queries]]):
        matches = spotter.identify_views(clip.views, gallery, SpotOptions())
        rank = 1 + [match.word for match in matches].index(clip.word)
        other = next(match for match in matches if match.word != clip.word)
        mine, theirs = (_doubt(clip, match, exemplars, gallery, typical) for match in (matches[rank - 1], other))
        first = 1 + (matches[0].word != other.word)
        accepted = is_right(rank, matches[rank - 1].score, mine), is_right(first, other.score, theirs)
        rows.append((*accepted, is_right(1, other.score, theirs), 1 / rank))
    return str(len(gallery.words)), str(len(rows)), *(f"{share:.2f}" for share in np.mean(rows, axis=0))


def _doubt(clip: Clip, match: Match, exemplars: Sequence[Clip], gallery: Gallery, typical: float) -> float:
    """The doubt that a clip shows the word of a match, as `feedback_on` computes it."""
    exemplar_landmarks = [exemplar.landmarks for exemplar in exemplars if exemplar.word == match.word]
    measured = measure_sign(
        described(clip.landmarks), [described(exemplar, mirror=match.mirrored) for exemplar in exemplar_landmarks]
    )
    cost = dissimilarity(clip.views, gallery, match, typical)
    return error_classifier().doubt(error_classifier().log_odds(strengths(measured, cost)))


def main() -> None:
    """Print the tables, or fit the classifier."""
    parser = parser_of(__doc__, words=60)
    parser.add_argument("--fit", type=Path, help="write the fitted classifier (.json)")
    parser.add_argument("--further", type=int, nargs="*", default=[], help="of --fit: further seeds")
    add_corpora(parser)
    args = parser.parse_args()
    spotter = load(args.encoder, cache=False)
    if args.fit:
        trials = [t for seed in (args.seed, *args.further) for t in synthetic_trials(spotter, args.words, seed)]
        args.fit.write_text(json.dumps(fit(trials), indent=1) + "\n", encoding="utf-8")
        return
    heads = ("error", "clips", "taken for right", "named", "else named")
    print_table(heads, synthetic_rows(list(synthetic_trials(spotter, args.words, args.seed))))
    shares = "right taken for right", "nearest other taken for right", "the same, without the right word"
    rows = ((folder.name, *real_row(spotter, read_isolated(folder))) for folder in args.corpus)
    if args.corpus:
        print_table(("corpus", "words", "clips", *shares, "MRR"), rows)


if __name__ == "__main__":
    main()
