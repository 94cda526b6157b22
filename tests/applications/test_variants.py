"""Looking a sign up, and grouping exemplars into variants."""

from pathlib import Path

import pytest

from signspot.applications.identify import draw_identification, identify_sign
from signspot.applications.variants import draw_costs, find_use, find_variants, write_variants_page
from signspot.dictionary.dictionary import Dictionary
from signspot.embedding.exemplars import Gallery
from signspot.errors import OptionsError, UnknownWordError
from signspot.plots.plot import save_figure
from signspot.spotting.spotter import Spotter


def test_a_sign_is_found_and_drawn(spotter: Spotter, gallery: Gallery, clip: tuple[str, Path], tmp_path: Path) -> None:
    word, path = clip
    identification = identify_sign(spotter, path, gallery, 4)
    assert identification.matches[0].word == word
    assert [match.word for match in identification.matches] == [m.word for m in spotter.identify(path, gallery, 4)]
    assert set(identification.signs) == {match.exemplar for match in identification.matches}
    assert save_figure(draw_identification(identification), tmp_path / "look.png").stat().st_size > 10_000


def test_variants_are_those_of_the_language(
    spotter: Spotter, dictionary: Dictionary, twofold: str, tmp_path: Path
) -> None:
    variants = find_variants(spotter, dictionary, twofold)
    grouped = [{exemplar.id.split("/")[-1][0] for exemplar in group.exemplars} for group in variants.groups]
    assert sorted(map(sorted, grouped)) == [["a"], ["b"]]
    source = dictionary[twofold][0].path
    assert source is not None
    uses, searched = find_use(spotter, variants, [source])
    assert {use.variant for use in uses} <= {group.name for group in variants.groups}
    page = write_variants_page(spotter, variants, tmp_path / "v.html", (uses, searched)).read_text()
    assert page.count("<video") == 6
    assert "default-src 'none'" in page
    assert draw_costs(variants).axes
    with pytest.raises(UnknownWordError):
        find_variants(spotter, dictionary, "nothing")
    with pytest.raises(OptionsError):
        find_variants(spotter, dictionary, twofold, same=0)
