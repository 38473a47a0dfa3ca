"""Both servers respond alike to the recorded requests of real clients. No difference is accepted."""

from __future__ import annotations

import pytest
from tests.differential.recording import RECORDINGS
from tests.differential.runner import replay_all
from tests.differential.target import Target


@pytest.mark.parametrize("name", sorted(path.stem for path in RECORDINGS.glob("*.jsonl")))
def test_a_recorded_session_gets_the_same_responses(real: Target, embedded: Target, name: str) -> None:
    report = replay_all(real, embedded, name)
    print(report.summary())
    assert report.requests > 0
    assert not report.differences, "\n".join(str(each) for each in report.differences)
