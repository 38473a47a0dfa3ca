"""Exceptions of processes that print them and do not exit."""

from __future__ import annotations

import datetime as dt

import pytest

from traincrew.diagnosis import last_exception

THEN = dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)
LATER = THEN + dt.timedelta(seconds=24)
TRACEBACK = """step 5
Traceback (most recent call last):
  File "/w/train.py", line 6, in <module>
    raise ValueError("bad data")
ValueError: bad data
"""
CHAIN = (
    TRACEBACK
    + """
The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/w/train.py", line 9, in <module>
    raise RuntimeError("no batch")
RuntimeError: no batch
"""
)


@pytest.mark.parametrize("output", [TRACEBACK, CHAIN, "".join(f"[rank1]: {line}\n" for line in TRACEBACK.splitlines())])
def test_an_exception_at_the_end_is_found(output: str) -> None:
    found = last_exception.find(output, THEN, LATER)
    assert found is not None
    assert found.summary == "ValueError: bad data"
    assert 'File "/w/train.py", line 6, in <module>' in found.evidence


@pytest.mark.parametrize("output", ["", "step 5\n", f"{TRACEBACK}retrying\n", f"Exception in thread Thread-1:\n{TRACEBACK[7:]}"])
def test_a_process_that_goes_on_after_an_exception_is_not_reported(output: str) -> None:
    assert last_exception.find(output, THEN, LATER) is None


def test_a_process_gets_some_time_to_exit() -> None:
    assert last_exception.find(TRACEBACK, THEN, THEN + dt.timedelta(seconds=3)) is None
