"""A download that fails for lack of a name is about egress, not about the names of replicas."""

from __future__ import annotations

import pytest

from traincrew.diagnosis import cause
from traincrew.diagnosis.replica_end import ReplicaEnd

TRACEBACK = 'Traceback (most recent call last):\n  File "/w/train.py", line 3, in <module>\n    load()\n{}\n'


@pytest.mark.parametrize(
    ("exception", "recognizer", "advice"),
    [("urllib.error.URLError: <urlopen error [Errno -3] Temporary failure in name resolution>", "no-egress", "network policies"),
     ("socket.gaierror: [Errno -3] Temporary failure in name resolution", "unknown-host", "names of replicas")],
)  # fmt: skip
def test_the_advice_about_a_name_that_does_not_resolve(exception: str, recognizer: str, advice: str) -> None:
    found = cause.diagnose([ReplicaEnd("Worker 0", output=TRACEBACK.format(exception), exit_code=1)])
    assert found is not None
    assert (found.recognizer, advice in found.advice) == (recognizer, True)
