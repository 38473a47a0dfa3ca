"""What real clients have sent is answered alike, with no difference accepted."""

from __future__ import annotations

import pytest
from tests.differential.recording import RECORDINGS
from tests.differential.run import replay_all
from tests.differential.target import Target


@pytest.mark.parametrize("name", sorted(path.stem for path in RECORDINGS.glob("*.jsonl")))
def test_a_recorded_session_is_answered_alike(real: Target, embedded: Target, name: str) -> None:
    report = replay_all(real, embedded, name)
    print(report.tell())
    assert report.requests > 0
    assert not report.differences, "\n".join(str(each) for each in report.differences)
