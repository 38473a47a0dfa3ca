"""Each case under cases/ has the diagnosis that its file expects."""

from __future__ import annotations

import itertools
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from tests.diagnosis import case_files

from traincrew.diagnosis import cause, native_exceptions, rank_streams, tracebacks
from traincrew.diagnosis.recognizer import Recognizer
from traincrew.diagnosis.recognizers import RECOGNIZERS

EVERY_CASE = [pytest.param(path, id=path.stem) for path in case_files.paths()]


def found(ends: tuple[Any, ...]) -> dict[str, Any]:
    diagnosis = cause.diagnose(ends)
    assert diagnosis is not None
    result: dict[str, Any] = {"replica": diagnosis.replica, "recognizer": diagnosis.recognizer, "cause": diagnosis.cause}
    if diagnosis.victims:
        result["victims"] = list(diagnosis.victims)
    return result


@pytest.mark.parametrize("path", EVERY_CASE)
def test_the_cause_is_the_expected_one(path: pathlib.Path) -> None:
    case = case_files.load(path)
    expected = {key: value for key, value in case.expected.items() if key != "status"}
    assert found(case.ends) == expected


@pytest.mark.parametrize("path", EVERY_CASE)
def test_the_operator_finds_the_expected_cause_in_the_status_of_the_pods(path: pathlib.Path) -> None:
    """Kubernetes keeps 2 KiB of the output. If the cause is not in them, the case says under `status` what is found."""
    case = case_files.load(path)
    whole = {key: value for key, value in case.expected.items() if key != "status"}
    expected = {**whole, **case.expected.get("status", {})}
    assert found(case_files.seen_by_the_operator(case.ends)) == {key: value for key, value in expected.items() if value != []}


@pytest.mark.parametrize("path", EVERY_CASE)
def test_every_case_has_an_advice_and_says_where_it_comes_from(path: pathlib.Path) -> None:
    case = case_files.load(path)
    diagnosis = cause.diagnose(case.ends)
    assert diagnosis is not None
    assert diagnosis.advice.endswith(".")
    assert "{" not in diagnosis.advice
    assert case.origin


@pytest.mark.parametrize("path", EVERY_CASE)
def test_the_evidence_is_short_and_has_neither_rulers_nor_tensors(path: pathlib.Path) -> None:
    diagnosis = cause.diagnose(case_files.load(path).ends)
    assert diagnosis is not None
    assert len(diagnosis.evidence) <= 8
    for line in (diagnosis.cause, *diagnosis.evidence):
        assert len(line) <= 300
        assert not set(line) <= set("-=*# ") or not line


def proven(output: str) -> Iterator[Recognizer]:
    """The rows of the table that match an output. Of those for exceptions, the first that matches is used."""
    for stream in rank_streams.separate(output):
        yield from (each for each in RECOGNIZERS if each.place == "line" and each.search(stream.text))
        bare = tracebacks.bare_exception(stream.lines)
        found = [*tracebacks.exceptions(stream.lines), *native_exceptions.exceptions(stream.lines), *([bare] if bare else [])]
        for exception in found:
            rows = (each for each in RECOGNIZERS if each.place == "exception" and each.search(exception.text))
            yield from itertools.islice(rows, 1)


PROVEN = {each for path in case_files.paths() for end in case_files.load(path).ends for each in proven(end.output)}


@pytest.mark.parametrize("row", [pytest.param(each, id=f"{number}-{each.name}") for number, each in enumerate(RECOGNIZERS)])
def test_every_row_of_the_table_has_a_case(row: Recognizer) -> None:
    assert row in PROVEN


def test_cases_without_a_run_name_the_public_page_and_the_reason() -> None:
    """The messages of GPUs and of file systems with quotas: this machine has neither."""
    for path in case_files.paths():
        data = yaml.safe_load(path.read_text())
        assert ("job" in data) != ("documented" in data), path.stem
        assert data["origin"].startswith("https://") == ("documented" in data), path.stem
