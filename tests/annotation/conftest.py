"""A job on the tiny corpus, the lines of its store, and engines that are disturbed in the middle of their work."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from signspot.annotation.run import AnnotationJob, annotate
from signspot.annotation.run_options import AnnotateOptions
from signspot.annotation.store import dump, open_store
from tests.fixtures.annotation import HereEngine

_ROUNDING = 1e-5  # of scores, kept to six decimals, of codes summed in float32

OPTIONS = AnnotateOptions(keep=0.0, negatives=4)


@pytest.fixture
def job(corpus_folder: Path, encoder_file: Path, shared_cache: Path, tmp_path: Path) -> AnnotationJob:
    dictionary = corpus_folder / "dictionary"
    return AnnotationJob(corpus_folder, dictionary, tmp_path / "run", encoder=str(encoder_file), cache=shared_cache)


@pytest.fixture(scope="session")
def expected(
    corpus_folder: Path, encoder_file: Path, shared_cache: Path, tmp_path_factory: pytest.TempPathFactory
) -> list[str]:
    """The lines of the store of an undisturbed run in one process."""
    dictionary, out = corpus_folder / "dictionary", tmp_path_factory.mktemp("expected")
    annotate(
        AnnotationJob(corpus_folder, dictionary, out, encoder=str(encoder_file), cache=shared_cache),
        OPTIONS,
        HereEngine(),
    )
    return lines(out)


def lines(address: Path | str) -> list[str]:
    with open_store(address) as store:
        return list(dump(store))


def assert_same_to_rounding(actual: list[str], expected: list[str]) -> None:
    """The same records, where tracks were made anew: sums split over other threads differ in their last digits."""
    records, expected_records = ([json.loads(line) for line in part] for part in (actual, expected))
    assert [list(record) for record in records] == [list(record) for record in expected_records]
    for record, other in zip(records, expected_records, strict=True):
        for kind, values in record.items():
            numbers = {name: value for name, value in other[kind].items() if isinstance(value, float)}
            assert {name: values[name] for name in numbers} == pytest.approx(numbers, abs=_ROUNDING, rel=0)
            assert values | numbers == other[kind]


class Disturbed(HereEngine):
    """Does something when so many items are finished, before the last of them is stored."""

    def __init__(self, number: int, disturb: Callable[[], object]) -> None:
        super().__init__()
        self._number, self._disturb = number, disturb

    def run(self, work: Any, items: Any) -> Any:
        for item, result in super().run(work, items):
            if len(self.items) == self._number:
                self._disturb()
            yield item, result
