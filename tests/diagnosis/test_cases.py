"""Each case under cases/ has the diagnosis that its file expects."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
from tests.diagnosis import case_files

from traincrew.diagnosis import cause
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


def test_recognizers_that_no_case_proves_are_known() -> None:
    """New rows come with a case. These came without one; a case removes them from this list."""
    ends = [end for path in case_files.paths() for end in case_files.load(path).ends]
    proven = {cause.examine(end).recognizer for end in ends}
    assert {each.name for each in RECOGNIZERS} - proven == UNPROVEN


UNPROVEN = frozenset(
    {
        "connection-lost",
        "devices-differ",
        "exec-failed",
        "gloo-connect",
        "gpu-build",
        "gpu-error",
        "horovod-mismatch",
        "horovod-peer-lost",
        "horovod-slots",
        "horovod-stalled",
        "horovodrun",
        "import",
        "jax-out-of-memory",
        "jax-peer-lost",
        "mpi-daemon",
        "mpi-lost-daemon",
        "mpi-peer-lost",
        "native-abort",
        "nccl-interface",
        "nccl-system",
        "nccl-warning",
        "no-egress",
        "paddle-launch",
        "paddle-peer-lost",
        "quota",
        "rendezvous-lost",
        "rendezvous-timeout",
        "ssh-closed",
        "ssh-host-key",
        "ssh-refused",
        "store-lost",
        "tensorflow-graph",
        "tensorflow-out-of-memory",
        "terminated-by-torchrun",
        "unused-parameters",
    }
)
