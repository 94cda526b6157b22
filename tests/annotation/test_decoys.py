"""Decoys: everything is asked once, at the place of another subtitle."""

from hypothesis import given
from hypothesis import strategies as st

from signspot.annotation.decoys import rotated


@given(st.lists(st.integers(), unique=True))
def test_everything_moves_and_nothing_is_lost(asked: list[int]) -> None:
    moved = rotated(asked)
    assert sorted(moved) == sorted(asked)
    if len(asked) > 1:
        assert not any(before == after for before, after in zip(asked, moved, strict=True))


def test_it_moves_by_half() -> None:
    assert "".join(rotated("abcde")) == "cdeab"
