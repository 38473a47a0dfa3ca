"""A graph of TensorFlow that runs out of memory needs a smaller batch; the operation is not at fault."""

from __future__ import annotations

import pytest

from traincrew.diagnosis import cause
from traincrew.diagnosis.replica_end import ReplicaEnd

TRACEBACK = 'Traceback (most recent call last):\n  File "/w/train.py", line 3, in <module>\n    model.fit(data)\n'
ERROR = f"""{TRACEBACK}tensorflow.python.framework.errors_impl.ResourceExhaustedError: Graph execution error:

{{}}
\t [[{{{{{{{{node Adam/update}}}}}}}}]]
"""
OOM = "OOM when allocating tensor with shape[64,1024] and type float on /job:localhost/device:GPU:0 by allocator GPU_0_bfc"


@pytest.mark.parametrize("message", [OOM, "failed to allocate memory"])
def test_a_graph_that_runs_out_of_memory_needs_a_smaller_batch(message: str) -> None:
    found = cause.examine(ReplicaEnd("Worker 0", ERROR.format(message), 1))
    assert (found.cause, found.advice) == (message, "Use a smaller batch.")


def test_a_program_that_has_found_its_batch_fails_of_something_else() -> None:
    output = ERROR.format(OOM) + "trying a batch of 32\n" + TRACEBACK + "ValueError: bad label\n"
    assert cause.examine(ReplicaEnd("Worker 0", output, 1)).cause == "ValueError: bad label"
