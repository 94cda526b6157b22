"""Annotation into a real PostgreSQL: the same result as in SQLite, also when the server goes away and comes back."""

import logging
from dataclasses import replace
from threading import Event, Thread

import pytest

from signspot.annotation.run import AnnotationJob, annotate
from signspot.errors import StoreError
from tests.annotation.conftest import OPTIONS, Disturbed, lines


def test_both_databases_hold_the_same(job: AnnotationJob, here, postgres, expected: list[str]) -> None:
    report = annotate(replace(job, database=postgres.url), OPTIONS, here)
    assert report.annotated == 4
    assert lines(postgres.url) == expected
    report = annotate(replace(job, database=postgres.url), OPTIONS, here)
    assert (report.annotated, report.unchanged) == (0, 4)


def test_a_server_that_goes_away_and_comes_back_loses_nothing(
    job: AnnotationJob, here, postgres, expected: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    """The server starts again as soon as the run has said that it waits."""
    is_missed = Event()
    returning = Thread(target=lambda: is_missed.wait() and postgres.start())

    class Missed(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            is_missed.set()

    def away() -> None:
        postgres.stop()
        returning.start()

    logger, handler = logging.getLogger("signspot.annotation.store"), Missed()
    logger.addHandler(handler)
    try:
        report = annotate(replace(job, database=postgres.url), OPTIONS, Disturbed(4, away))
    finally:
        logger.removeHandler(handler)
        is_missed.set()
        returning.join()
    assert (report.annotated, report.failed) == (4, [])
    assert lines(postgres.url) == expected
    messages = [record.getMessage() for record in caplog.records if "database" in record.getMessage()]
    assert len(messages) == 2
    assert messages[0].endswith("does not answer; waiting up to 600 s")
    assert "is back after" in messages[1]
    assert "secret" not in "".join(messages)


@pytest.mark.long
def test_a_server_that_stays_away_ends_the_run_and_the_next_one_goes_on(
    job: AnnotationJob, here, postgres, expected: list[str]
) -> None:
    broken = replace(job, database=postgres.url, timeout=1.0)
    try:
        with pytest.raises(StoreError) as refused:
            annotate(broken, OPTIONS, Disturbed(4, postgres.stop))
        assert "secret" not in str(refused.value)
        assert "\n" not in str(refused.value)
        with pytest.raises(StoreError):
            annotate(broken, OPTIONS, here)
    finally:
        postgres.start()
    stored = lines(postgres.url)
    assert 0 < len(stored) < len(expected)
    report = annotate(replace(broken, timeout=job.timeout), OPTIONS, here)
    assert (report.annotated, report.unchanged) == (3, 1)
    assert lines(postgres.url) == expected


@pytest.mark.long
def test_two_runs_that_write_the_same_at_once_both_succeed(
    job: AnnotationJob, here, postgres, expected: list[str]
) -> None:
    """Two folders, one database: what one run stores while the other works is stored once."""
    other = replace(job, database=postgres.url, out=job.out.with_name("other"))

    def meanwhile() -> None:
        annotate(other, OPTIONS, type(here)())

    annotate(replace(job, database=postgres.url), OPTIONS, Disturbed(4, meanwhile))
    assert lines(postgres.url) == expected
