"""Errors: the documented tree, and messages with a value and a remedy."""

import inspect

from signspot import errors


def test_the_drawn_tree_is_the_real_one() -> None:
    classes = [c for _, c in inspect.getmembers(errors, inspect.isclass) if issubclass(c, errors.SignspotError)]
    tree = errors.__doc__ or ""
    for error in classes:
        assert f"{error.__name__} " in tree + " ", f"{error.__name__} is not drawn"


def test_an_unknown_word_is_a_key_error_with_a_suggestion() -> None:
    error = errors.UnknownWordError("aple", ["apple", "pear"])
    assert isinstance(error, KeyError)
    assert str(error) == "no word 'aple' in this dictionary (2 words). Did you mean 'apple'?"
    assert "signspot dictionary info" in str(errors.UnknownWordError("xyz", ["apple"]))


def test_a_missing_extra_says_how_to_get_it() -> None:
    error = errors.MissingExtraError("pyarrow", "parquet", "writing Parquet")
    assert isinstance(error, ImportError)
    assert "signspot[parquet]" in str(error)
