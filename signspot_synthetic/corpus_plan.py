"""Options of a corpus, and its plan: its language, its people, and who signs what, all fixed by the options."""

import math
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from signspot.corpus.truth import Splits, split_words
from signspot.errors import OptionsError
from signspot_synthetic.body.signers import Role, Signer, make_signers
from signspot_synthetic.difficulty_knobs import Knobs
from signspot_synthetic.language.english import EnglishWord, as_english, english_words, vocabulary
from signspot_synthetic.language.lexicon import Lexicon, LexiconOptions, make_lexicon
from signspot_synthetic.language.phonology import Sign
from signspot_synthetic.language.sentences import GESTURES, Interpreter, SentenceWriter
from signspot_synthetic.random_streams import named_rng

SHORTEST_VIDEO = 6.0  # seconds
_VARIANT_SHARES = LexiconOptions().variant_shares


@dataclass(frozen=True, slots=True)
class CorpusOptions:
    """Options of a corpus. The same options give the same bytes, on the same platform."""

    words: int | tuple[str, ...] = 1064  # how many common words the dictionary lists, or which
    hours: float = 2.0  # of continuous signing
    seed: int = 7
    render: bool = False  # make videos (.mp4), too
    size: tuple[int, int] = (320, 240)  # width and height of the image
    video_seconds: float = 180.0  # about how long a continuous video is
    test_share: float = 0.2  # of the videos
    train_signers: int = 16
    test_signers: int = 4
    dictionary_signers: int = 24
    exemplars: float = 3.0  # a word, on average
    most_exemplars: int = 10  # a word
    variants: int = 4  # a word, at most
    minimal_pair_share: float = 0.2  # of the words have a partner differing in one parameter
    synonym_share: float = 0.05  # of the words use another word's sign
    fingerspelled_share: float = 0.04  # of the words
    knobs: Knobs = field(default_factory=Knobs)

    def __post_init__(self) -> None:
        if self.word_count < 1:
            raise OptionsError(f"a corpus needs at least 1 word; got {self.word_count}")
        self._check_time()
        self._check_counts()
        self._check_dictionary()
        self.lexicon_options(self.words)  # raises where a share is impossible

    def lexicon_options(self, words: Sequence[str] | int) -> LexiconOptions:
        """The options of the lexicon of some words."""
        return LexiconOptions(
            words=words,
            seed=self.seed,
            minimal_pair_share=self.minimal_pair_share,
            synonym_share=self.synonym_share,
            fingerspelled_share=self.fingerspelled_share,
            variant_shares=self.variant_shares,
        )

    @property
    def word_count(self) -> int:
        """The number of words that the dictionary lists."""
        return self.words if isinstance(self.words, int) else len(self.words)

    @property
    def variant_shares(self) -> tuple[float, ...]:
        """Of the words with 1, 2, … variants; the knob `variants` moves them towards one variant per word."""
        more = [share * min(1.0, self.knobs.variants) for share in _VARIANT_SHARES[1 : self.variants]]
        return (1 - sum(more), *more) if sum(more) > 0 else (1.0,)

    def _check_time(self) -> None:
        least = 2 * SHORTEST_VIDEO / 3600
        if not (math.isfinite(self.hours) and self.hours >= least):
            raise OptionsError(
                f"hours must be at least {least:.4f} (a video of {SHORTEST_VIDEO:.0f} s to train and one to test); "
                f"got {self.hours}"
            )
        if not (math.isfinite(self.video_seconds) and self.video_seconds >= SHORTEST_VIDEO):
            raise OptionsError(f"video_seconds must be at least {SHORTEST_VIDEO:.0f}; got {self.video_seconds}")
        if not 0 < self.test_share < 1:
            raise OptionsError(f"test_share must lie between 0 and 1, both excluded; got {self.test_share}")

    def _check_counts(self) -> None:
        for name in ("train_signers", "test_signers", "dictionary_signers", "most_exemplars", "variants"):
            if getattr(self, name) < 1:
                raise OptionsError(f"{name} must be at least 1; got {getattr(self, name)}")
        if self.seed < 0:
            raise OptionsError(f"the seed must be 0 or more; got {self.seed}")
        if self.variants > len(_VARIANT_SHARES):
            raise OptionsError(f"variants must be at most {len(_VARIANT_SHARES)} a word; got {self.variants}")
        if min(self.size) < 64:
            raise OptionsError(f"the image must be at least 64 x 64 pixels; got {self.size[0]} x {self.size[1]}")

    def _check_dictionary(self) -> None:
        if self.variants > self.most_exemplars:
            raise OptionsError(
                f"more variants ({self.variants}) than exemplars ({self.most_exemplars}) a word: every variant needs "
                "an exemplar. Allow more exemplars or fewer variants"
            )
        mean = sum(count * share for count, share in enumerate(self.variant_shares, start=1))
        if not mean <= self.exemplars <= self.most_exemplars:
            raise OptionsError(
                f"exemplars, on average, must lie between {mean:.2f} (the mean number of variants) and "
                f"{self.most_exemplars}; got {self.exemplars}"
            )


def options_as_json(options: CorpusOptions) -> dict[str, Any]:
    """The options as they stand in `corpus.json`."""
    values = asdict(options)
    if not options.knobs.lips:  # as it was before there was this knob: the bytes of such a corpus are the same
        del values["knobs"]["lips"]
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


@dataclass(frozen=True, slots=True)
class ExemplarPlan:
    """One exemplar that is to be made."""

    id: str
    word: str
    variant: int  # index into the word's variants
    signer: Signer


@dataclass(frozen=True, slots=True)
class VideoPlan:
    """One continuous video that is to be made."""

    id: str
    signer: Signer
    split: str  # train or test
    seconds: float  # about how long


class CorpusPlan:
    """Facts about a corpus that are known before it is made."""

    def __init__(self, options: CorpusOptions):
        self.options = options

    @cached_property
    def vocabulary(self) -> tuple[EnglishWord, ...]:
        """The words that the dictionary lists, common ones first."""
        words = self.options.words
        return vocabulary(words) if isinstance(words, int) else as_english(words)

    @cached_property
    def listed(self) -> frozenset[str]:
        """The words that the dictionary lists."""
        return frozenset(word.word for word in self.vocabulary)

    @cached_property
    def lexicon(self) -> Lexicon:
        """The signs of all words that are ever signed: the listed ones, some others, and gestures."""
        others = [word.word for word in english_words() if word.word not in self.listed]
        unlisted = others[: max(20, len(self.vocabulary) // 4)]
        words = [*(word.word for word in self.vocabulary), *unlisted, *GESTURES]
        return make_lexicon(self.options.lexicon_options(words))

    @cached_property
    def writer(self) -> SentenceWriter:
        """Writes the sentences."""
        return SentenceWriter(self.vocabulary)

    @cached_property
    def interpreter(self) -> Interpreter:
        """Turns sentences into signs."""
        return Interpreter(self.writer, self.lexicon, self.options.seed)

    @cached_property
    def same_sign(self) -> dict[str, frozenset[str]]:
        """Word → all words that share its sign, itself included; only words that share one."""
        groups: dict[str, set[str]] = defaultdict(set)
        for entry in self.lexicon.values():
            if entry.synonym_of is not None:
                groups[entry.synonym_of] |= {entry.word, entry.synonym_of}
        return {word: frozenset(group) for group in groups.values() for word in group}

    @cached_property
    def exemplars(self) -> tuple[ExemplarPlan, ...]:
        """All exemplars, word by word: every variant at least once, by different signers where possible."""
        people = make_signers(self.options.dictionary_signers, self.options.seed, Role.DICTIONARY)
        names = _file_names([word.word for word in self.vocabulary])
        plans: list[ExemplarPlan] = []
        for word, name in names.items():
            rng = named_rng(self.options.seed, "exemplars", word)
            variants = self._variants_shown(len(self.lexicon[word].variants), rng)
            order = rng.permutation(len(people))
            for turn, variant in enumerate(variants):
                signer = people[int(order[turn % len(people)])]
                plans.append(ExemplarPlan(f"{name}-{turn + 1}", word, variant, signer))
        return tuple(plans)

    def _variants_shown(self, variants: int, rng: np.random.Generator) -> list[int]:
        """The variant that each exemplar of a word shows: all in turn, then mostly the common ones."""
        shares = self.options.variant_shares
        mean = sum(count * share for count, share in enumerate(shares, start=1))
        more = int(rng.geometric(1 / (1 + self.options.exemplars - mean))) - 1
        more = min(more, self.options.most_exemplars - variants)
        odds = 0.5 ** np.arange(variants)
        return [*range(variants), *(int(v) for v in rng.choice(variants, size=more, p=odds / odds.sum()))]

    @cached_property
    def exemplars_of_sign(self) -> dict[Sign, tuple[str, ...]]:
        """Sign → ids of the exemplars that show it, whatever their word."""
        ids_of: dict[Sign, list[str]] = defaultdict(list)
        for plan in self.exemplars:
            ids_of[self.lexicon[plan.word].variants[plan.variant]].append(plan.id)
        return {sign: tuple(ids) for sign, ids in ids_of.items()}

    @cached_property
    def videos(self) -> tuple[VideoPlan, ...]:
        """All continuous videos; signers take turns, and none is in both splits."""
        options = self.options
        total = options.hours * 3600
        count = max(2, round(total / options.video_seconds))
        tests = min(max(1, round(count * options.test_share)), count - 1)
        seconds = max(SHORTEST_VIDEO, total / count)
        plans: list[VideoPlan] = []
        for role, videos, people in (
            (Role.TRAIN, count - tests, options.train_signers),
            (Role.TEST, tests, options.test_signers),
        ):
            signers = make_signers(people, options.seed, role)
            plans += [
                VideoPlan(f"{role}-{i + 1:04d}", signers[i % len(signers)], str(role), seconds) for i in range(videos)
            ]
        return tuple(plans)

    @cached_property
    def splits(self) -> Splits:
        """Videos by split, words by the protocol of Sec. 4.2."""
        by_split = {s: tuple(v.id for v in self.videos if v.split == s) for s in ("train", "test")}
        words = [word.word for word in self.vocabulary]
        split = split_words(words, self.same_sign, named_rng(self.options.seed, "word split"))
        return Splits(by_split["train"], by_split["test"], split)


def _file_names(words: Sequence[str]) -> dict[str, str]:
    """A name for files of every word: 'ice cream' → 'ice-cream'; a number follows where two would be one."""
    names: dict[str, str] = {}
    used: set[str] = set()
    for word in words:
        base = name = re.sub(r"[^\w]+", "-", word).strip("-")[:60] or "word"
        turn = 1
        while name in used:
            turn += 1
            name = f"{base}~{turn}"
        used.add(name)
        names[word] = name
    return names
