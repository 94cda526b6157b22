from dataclasses import fields

import pytest

from experiments.difficulty import SWITCHES, measure, table
from signspot_synthetic.knobs import Knobs
from signspot_synthetic.options import CorpusOptions

OPTIONS = CorpusOptions(words=30, hours=0.03, test_share=0.7, video_seconds=25, dictionary_signers=6)


@pytest.fixture(scope="module")
def easy():
    return measure(OPTIONS, "nothing", queries=60)


@pytest.fixture(scope="module")
def hard():
    return measure(OPTIONS, "everything", queries=60)


def test_every_knob_is_in_the_table_or_does_not_concern_the_matchers():
    named = {name for switch, names in SWITCHES.items() if switch != "everything" for name in names}
    assert {item.name for item in fields(Knobs)} - named == {"lips", "mouthing"}


def test_without_difficulties_a_trivial_matcher_is_nearly_always_right(easy):
    assert min(easy.retrieval_cosine, easy.retrieval_warping) > 0.92
    assert min(easy.spotting_cosine, easy.spotting_warping) > 0.95


def test_with_all_difficulties_it_falls_a_long_way(easy, hard):
    assert hard.single_cosine < easy.single_cosine - 0.25
    assert max(hard.spotting_cosine, hard.spotting_warping) < 0.75


def test_table_has_a_line_a_row(easy, hard):
    lines = table([easy, hard]).splitlines()
    assert len(lines) == 4
    assert lines[3].startswith("| everything |")
    assert len({line.count("|") for line in lines}) == 1
