"""Every reason that a job can have says what to do."""

from __future__ import annotations

import ast
import importlib
import inspect

import pytest

from traincrew.diagnosis import exit_codes
from traincrew.diagnosis.recognizers import RECOGNIZERS
from traincrew.diagnosis.replica_end import ReplicaEnd
from traincrew.inspection import advice
from traincrew.planner import failure_summary, waiting_reason

GENERAL = advice.on_waiting("NoSuchReason", "", "job")
KUBELET = (
    "CrashLoopBackOff", "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "CreateContainerConfigError", "RunContainerError",
    "StartError", "Unschedulable", "SchedulingGated", "FailedMount",
)  # fmt: skip
"""Reasons of kubelet and scheduler that a job takes over."""


def reasons_in_the_planner() -> set[str]:
    """The first argument of every WaitingReason, and of every other call that sets the reason of a job."""
    found: set[str] = set()
    for module in (waiting_reason, importlib.import_module("traincrew.planner.plan")):
        constants = {name: value for name, value in vars(module).items() if isinstance(value, str)}
        for node in ast.walk(ast.parse(inspect.getsource(module))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in (
                "WaitingReason",
                "with_since",
            ):
                for argument in node.args[:2]:
                    found |= {argument.value} if isinstance(argument, ast.Constant) and isinstance(argument.value, str) else set()
                    found |= {constants[argument.id]} if isinstance(argument, ast.Name) and argument.id in constants else set()
    endings = {*failure_summary.ENDINGS.values(), failure_summary.REPLICA, "QuotaExceeded", "FailedCreatePod", "InvalidSpec"}
    return {each for each in found if each and each[0].isupper() and " " not in each} | endings


def test_the_reasons_of_the_planner_are_found() -> None:
    assert {
        "NodeUnreachable",
        "StuckTerminating",
        "NothingToRun",
        "WaitingForGang",
        "PodsStillRunning",
    } <= reasons_in_the_planner()


@pytest.mark.parametrize("reason", sorted({*reasons_in_the_planner(), *KUBELET}))
def test_every_reason_of_a_job_has_a_remedy_of_its_own(reason: str) -> None:
    remedy = advice.on_waiting(reason, "", "pytorchjob/j")
    assert remedy.endswith(".")
    assert "{" not in remedy
    assert remedy != GENERAL.replace("job`", "pytorchjob/j`")


@pytest.mark.parametrize(
    "recognizer", [pytest.param(each, id=f"{number}-{each.name}") for number, each in enumerate(RECOGNIZERS)]
)
def test_every_known_fault_has_a_remedy(recognizer: object) -> None:
    assert getattr(recognizer, "advice").endswith(".")  # noqa: B009


@pytest.mark.parametrize("code", [1, 2, 126, 127, *range(129, 160)])
def test_every_exit_code_has_a_remedy(code: int) -> None:
    end = ReplicaEnd("Worker 0", exit_code=code)
    found = exit_codes.by_signal(end)
    assert (found.advice if found is not None else exit_codes.advice(code)).endswith(".")


@pytest.mark.parametrize("reason", exit_codes.REASONS)
def test_every_reason_of_an_ended_container_has_a_remedy(reason: str) -> None:
    found = exit_codes.by_reason(ReplicaEnd("Worker 0", exit_code=1, reason=reason))
    assert found is not None
    assert found.advice.endswith(".")
