"""Options of a corpus: what is impossible is refused; shares of variants."""

import pytest

from signspot.errors import OptionsError
from signspot_synthetic.corpus_plan import CorpusOptions
from signspot_synthetic.difficulty_knobs import Knobs


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"words": 0}, "at least 1 word; got 0"),
        ({"words": ()}, "at least 1 word; got 0"),
        ({"hours": -1.0}, "hours must be at least 0.0033"),
        ({"hours": 0.001}, "got 0.001"),
        ({"hours": float("nan")}, "got nan"),
        ({"variants": 4, "most_exemplars": 3}, r"more variants \(4\) than exemplars \(3\)"),
        ({"variants": 5}, "at most 4 a word; got 5"),
        ({"exemplars": 1.2}, "the mean number of variants"),
        ({"exemplars": 11.0}, "and 10; got 11.0"),
        ({"train_signers": 0}, "train_signers must be at least 1"),
        ({"test_share": 1.0}, "test_share"),
        ({"video_seconds": 5.0}, "video_seconds must be at least 6"),
        ({"size": (10, 10)}, "64 x 64"),
        ({"seed": -1}, "seed"),
        ({"synonym_share": 2.0}, "synonym_share"),
    ],
)
def test_impossible_values_give_one_line(values, message):
    with pytest.raises(OptionsError, match=message) as caught:
        CorpusOptions(**values)
    assert "\n" not in str(caught.value)


def test_the_variants_knob_leads_to_one_variant():
    assert CorpusOptions(knobs=Knobs.off()).variant_shares == (1.0,)
    assert sum(CorpusOptions(variants=2).variant_shares) == pytest.approx(1)
    assert len(CorpusOptions(variants=2).variant_shares) == 2
