"""Isolated signs for measuring applications: words with variants, and signs with one parameter changed on purpose."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from signspot.applications.feedback import CHANGES
from signspot.landmarks.landmarks import Landmarks
from signspot_synthetic.body.motion import isolated
from signspot_synthetic.body.signers import Role, make_signer
from signspot_synthetic.camera.estimator import observe
from signspot_synthetic.camera.projection import project
from signspot_synthetic.knobs import named_rng
from signspot_synthetic.language.lexicon import Lexicon, LexiconOptions, change_one, make_lexicon
from signspot_synthetic.language.phonology import PLACES, Hands, Region, Sign


def make_words(words: int, seed: int, variants: tuple[float, ...] = (1.0,)) -> Lexicon:
    """Words without synonyms and fingerspelling; `variants` are the shares of words with 1, 2 … variants."""
    options = LexiconOptions(
        words=words,
        seed=seed,
        minimal_pair_share=0,
        synonym_share=0,
        fingerspelled_share=0,
        variant_shares=variants,
    )
    return make_lexicon(options)


def film(sign: Sign, seed: int, *names: str | int, left: float = 0.0) -> Landmarks:
    """A sign by a signer of its own, as an estimator sees it; `left` is the share of left-handed signers."""
    random = named_rng(seed, *names)
    signer = make_signer("-".join(map(str, names)), seed, Role.DICTIONARY, left_share=left)
    return observe(project(isolated(sign, signer, random)[0], signer.camera), random)


@dataclass(frozen=True, slots=True)
class Altered:
    """A clip in which one parameter of a sign was changed; none, where it is the sign itself."""

    word: str
    changed: str  # of `CHANGES`; empty: nothing
    sign: Sign

    def landmarks(self, seed: int) -> Landmarks:
        """As a learner performs it."""
        return film(self.sign, seed, "learner", self.word, self.changed)


def alter(lexicon: Lexicon, seed: int) -> Iterator[Altered]:
    """Every sign as it is, and with each parameter changed that can be."""
    for word, entry in lexicon.items():
        sign = entry.variants[0]
        yield Altered(word, "", sign)
        for changed in CHANGES:
            other = _change(sign, changed, seed, word)
            if other is not None:
                yield Altered(word, changed, other)


def _change(sign: Sign, parameter: str, seed: int, word: str) -> Sign | None:
    """The sign with this parameter changed and no other; None where chance finds none soon."""
    if parameter == "hands":
        free = PLACES[sign.place].region is Region.SPACE
        return replace(sign, hands=Hands.SYMMETRIC) if sign.hands is Hands.ONE and free else None
    random = named_rng(seed, "alter", parameter, word)
    for _ in range(60):
        other = change_one(sign, random)
        if sign.differences(other) == (parameter,):
            return other
    return None
