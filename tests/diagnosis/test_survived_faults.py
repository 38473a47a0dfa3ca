"""A program may go on after some faults. They are named only if something shows that they ended it."""

from __future__ import annotations

import pytest

from traincrew.diagnosis import cause
from traincrew.diagnosis.recognizer import RecognizedFault
from traincrew.diagnosis.replica_end import ReplicaEnd

NOT_FOUND = "sh: 1: nvidia-smi: not found\n"
EPOCHS = "".join(f"epoch {number} loss {1 / (number + 1):.2f}\n" for number in range(12))
TORCHRUN = """\
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
train.sh FAILED
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-01-01_12:00:00
  host      : worker-0
  rank      : 1 (local_rank: 1)
  exitcode  : {} (pid: 12)
  error_file: <N/A>
"""
MPIRUN = """\
mpirun detected that one or more processes exited with non-zero status, thus causing
the job to be terminated. The first process to do so was:

  Process name: [[26291,1],1]
  Exit code:    {}
"""
SSH = "ssh: connect to host j-worker-0 port 2222: Connection refused\n"
NCCL = "worker-0:12:12 [0] transport.cc:12 NCCL WARN Could not find a path between GPU 0 and 1\n"
NCCL_EXCEPTION = """\
Traceback (most recent call last):
  File "/w/train.py", line 3, in main
    dist.all_reduce(loss)
torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:77, unhandled system error
"""
FRAMES = "".join(f"frame #{number}: c10d::ProcessGroupNCCL::work{number}() + 0x1\n" for number in range(30))


def examined(output: str, code: int, reason: str = "Error") -> RecognizedFault:
    return cause.examine(ReplicaEnd("Worker 0", output, code, reason))


@pytest.mark.parametrize(
    ("output", "code", "recognizer"),
    [
        pytest.param(NOT_FOUND + EPOCHS, 3, "unknown", id="the program went on, and exited with its own code"),
        pytest.param(NOT_FOUND + EPOCHS, 137, "SIGKILL", id="the program went on, and was killed"),
        pytest.param(NOT_FOUND + "cleaned up\n", 127, "command-not-found", id="the exit code is that of the shell"),
        pytest.param(EPOCHS + NOT_FOUND, 1, "command-not-found", id="the last line"),
        pytest.param(NOT_FOUND + EPOCHS + TORCHRUN.format(3), 1, "torchrun", id="the report of torchrun has another code"),
        pytest.param(NOT_FOUND + TORCHRUN.format(127), 1, "command-not-found", id="the report of torchrun has its code"),
        pytest.param(SSH * 3 + EPOCHS + MPIRUN.format(1), 1, "mpi-exit-code", id="ssh until the worker accepts connections"),
        pytest.param(SSH, 255, "ssh-unreachable", id="ssh"),
        pytest.param(NCCL + EPOCHS, 3, "unknown", id="a warning of NCCL before the epochs"),
        pytest.param(EPOCHS + NCCL, 1, "nccl-warning", id="a warning of NCCL at the end"),
        pytest.param(NCCL + EPOCHS + NCCL_EXCEPTION, 1, "nccl-warning", id="an exception of NCCL"),
        pytest.param(NCCL + EPOCHS + "ValueError: bad label\n", 1, "exception", id="an exception without traceback"),
        pytest.param(NCCL + EPOCHS + "Traceback (most recent call last):\nValueError: bad label\n", 1, "exception", id="another"),
        pytest.param(EPOCHS + NCCL + FRAMES, 134, "nccl-warning", id="frames of NCCL after the warning"),
    ],
)
def test_a_fault_that_was_survived_is_not_the_cause(output: str, code: int, recognizer: str) -> None:
    assert examined(output, code).recognizer == recognizer


def test_of_several_commands_that_were_not_found_the_last_one_ended_the_script() -> None:
    found = examined(NOT_FOUND + EPOCHS + "train.sh: line 7: pyhton: command not found\n", 127)
    assert found.cause == "train.sh: line 7: pyhton: command not found"


@pytest.mark.parametrize(
    ("type", "message", "significance"),
    [
        ("gloo::IoException", "Connection closed by peer [10.0.0.7]:4711", "consequence"),
        ("c10::Error", "CUDA out of memory. Tried to allocate 1 GiB", "cause"),
        ("std::logic_error", "no such layer", "cause"),
    ],
)
def test_an_exception_of_c_plus_plus_is_read_as_one_of_python(type: str, message: str, significance: str) -> None:
    found = examined(f"terminate called after throwing an instance of '{type}'\n  what():  {message}\n", 134)
    assert (found.cause, found.significance) == (f"{type}: {message}", significance)


def test_an_exception_of_python_comes_before_one_of_c_plus_plus_that_follows_from_it() -> None:
    aborted = "terminate called after throwing an instance of 'c10::Error'\n  what():  driver shutting down\n"
    found = examined('Traceback (most recent call last):\n  File "/w/a.py", line 3, in f\nKeyError: 7\n' + aborted, 134)
    assert found.cause == "KeyError: 7"


def test_the_ranks_that_horovod_waited_for_are_named_without_the_log_lines_between() -> None:
    output = (
        "Missing ranks:\n0: [allreduce.a]\n2!: [allreduce.a, allreduce.b]\n"
        "[2026-01-01 12:00:00.1: E horovod/common/operations.cc:623]\n"
        'One or more rank (marked by "!") is stalled for longer than 15 seconds. Will shutdown.\n'
    )
    expected = "Horovod waited 15 seconds for ranks that did not take part: 0: [allreduce.a] 2!: [allreduce.a, allreduce.b]"
    assert examined(output, 1).cause == expected
