"""The lexicon holds what its options say, and every sign is a sign of its own."""

import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from signspot.errors import OptionsError, UnknownWordError
from signspot_synthetic.language.lexicon import LexiconOptions, change_one, make_lexicon
from signspot_synthetic.language.phonology import PLACES, Contact, Hands, Local, PathKind, Region, Sign

OPTIONS = LexiconOptions(words=600, seed=7)
LEXICON = make_lexicon(OPTIONS)


def test_the_shares_are_what_was_asked_for():
    entries = list(LEXICON.values())
    assert len(entries) == 600
    assert sum(e.fingerspelled for e in entries) == round(0.04 * 600)
    assert sum(e.synonym_of is not None for e in entries) == round(0.05 * 600)
    assert sum(e.minimal_pair_of is not None for e in entries) == round(0.2 * 600 / 2)
    counts = Counter(len(e.variants) for e in entries if not (e.fingerspelled or e.synonym_of))
    assert set(counts) == {1, 2, 3, 4}
    assert counts[1] > counts[2] > counts[3] > counts[4]


def test_signs_are_distinct_except_for_synonyms():
    signs = [sign for e in LEXICON.values() if e.synonym_of is None for sign in e.variants]
    assert len(set(signs)) == len(signs)
    for entry in LEXICON.values():
        if entry.synonym_of:
            assert entry.variants[0] == LEXICON[entry.synonym_of].variants[0]


def test_minimal_pairs_differ_in_one_parameter_only():
    kinds = Counter()
    for entry in LEXICON.values():
        if entry.minimal_pair_of:
            first, second = entry.variants[0], LEXICON[entry.minimal_pair_of].variants[0]
            (kind,) = first.differences(second)
            kinds[kind] += 1
            assert first.detail == second.detail
    assert len(kinds) >= 5


def test_everything_that_a_sign_can_be_occurs():
    signs = [sign for e in LEXICON.values() for sign in e.variants]
    assert {s.hands for s in signs} == set(Hands)
    assert {s.path.kind for s in signs} == set(PathKind)
    assert {s.local for s in signs} == set(Local)
    assert {s.contact for s in signs} == set(Contact)
    assert {1, 2, 3} <= {s.repetition for s in signs}
    assert len({s.place for s in signs}) >= 20
    assert {PLACES[s.place].region for s in signs} == set(Region)
    assert len({s.shape for s in signs}) >= 40
    assert sum(s.shape != s.end_shape for s in signs) > 0.1 * len(signs)


def test_the_same_options_give_the_same_lexicon_and_another_seed_another():
    again, other = make_lexicon(OPTIONS), make_lexicon(replace(OPTIONS, seed=8))
    assert {w: e.variants for w, e in again.items()} == {w: e.variants for w, e in LEXICON.items()}
    assert [e.variants[0].detail for e in again.values()] == [e.variants[0].detail for e in LEXICON.values()]
    assert {e.variants[0] for e in other.values()} != {e.variants[0] for e in LEXICON.values()}


def test_given_words_keep_their_order_and_unknown_ones_are_refused():
    lexicon = make_lexicon(LexiconOptions(words=["tree", "apple", "ice cream"], seed=1))
    assert list(lexicon) == ["tree", "apple", "ice cream"]
    with pytest.raises(UnknownWordError, match="'apple'"):
        lexicon["aple"]


@pytest.mark.parametrize(
    "shares", [(0.0, 1.0, 0.0), (0.4, 0.5, 0.1), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0), (0.0, 0.0, 0.0)]
)
def test_extreme_shares_still_give_a_lexicon(shares):
    pairs, synonyms, spelled = shares
    options = LexiconOptions(
        words=21, seed=2, minimal_pair_share=pairs, synonym_share=synonyms, fingerspelled_share=spelled
    )
    lexicon = make_lexicon(options)
    assert len(lexicon) == 21
    assert sum(e.fingerspelled for e in lexicon.values()) == round(21 * spelled)
    assert all(e.variants for e in lexicon.values())


def test_change_one_changes_at_most_one_parameter():
    rng = np.random.default_rng(0)
    signs = [e.variants[0] for e in LEXICON.values() if not e.fingerspelled]
    for sign in signs[:80]:
        assert len(sign.differences(change_one(sign, rng))) <= 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"words": 0}, "at least 1 word; got 0"),
        ({"words": ["a", "b", "a"]}, "'a' is given twice"),
        ({"synonym_share": 1.5}, "synonym_share must lie between 0 and 1; got 1.5"),
        ({"minimal_pair_share": 0.8, "fingerspelled_share": 0.4}, "add up to more than 1"),
        ({"variant_shares": (0.5, 0.2)}, "add up to 1"),
        ({"variant_shares": (0.2,) * 5}, "1 to 4 shares"),
    ],
)
def test_impossible_options_give_one_line(changes, message):
    with pytest.raises(OptionsError, match=re.escape(message)) as caught:
        LexiconOptions(**changes)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"shape": "Z9"}, "no handshape 'Z9'"),
        ({"place": "knee"}, "no place 'knee'"),
        ({"place": "weak palm"}, "cannot be at 'weak palm'"),
        ({"hands": Hands.BASE, "place": "weak palm", "base_shape": "Y"}, "a base hand is one of"),
        ({"repetition": 9}, "1 to 4 times; got 9"),
    ],
)
def test_impossible_signs_are_refused(changes, message):
    with pytest.raises(OptionsError, match=re.escape(message)):
        Sign(**changes)
