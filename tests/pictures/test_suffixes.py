"""Picture names are checked before long work."""

import pytest

from signspot.errors import OutputError
from signspot.pictures.plot import check_picture


@pytest.mark.parametrize(("picture", "name"), [("plot", "a.PNG"), ("film", "a.mp4"), ("report", "a.htm")])
def test_fitting_names_pass(picture: str, name: str) -> None:
    assert check_picture(picture, name).name == name  # type: ignore[arg-type]


@pytest.mark.parametrize(("picture", "name"), [("plot", "a.bmp"), ("film", "a.avi"), ("report", "a")])
def test_others_are_refused_with_the_known_ones(picture: str, name: str) -> None:
    with pytest.raises(OutputError, match=rf"cannot write the {picture} {name}: unknown kind .* Known: \."):
        check_picture(picture, name)  # type: ignore[arg-type]
