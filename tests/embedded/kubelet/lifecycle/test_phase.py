"""The tables by which the kubelet's own phases are tested."""

from __future__ import annotations

from typing import Any

import pytest
from tests.embedded.kubelet.lifecycle.pods import pod, sidecar

from traincrew.embedded.kubelet.lifecycle import phase as lifecycle_phase
from traincrew.embedded.kubelet.lifecycle.pod import Pod

RUNNING: dict[str, Any] = {"state": {"running": {}}}
STARTED: dict[str, Any] = {"state": {"running": {}}, "started": True}
SUCCEEDED: dict[str, Any] = {"state": {"terminated": {"exitCode": 0}}}
FAILED: dict[str, Any] = {"state": {"terminated": {"exitCode": 1}}}
WAITING: dict[str, Any] = {"state": {"waiting": {}}}
AGAIN: dict[str, Any] = {"state": {"waiting": {}}, "lastState": {"terminated": {"exitCode": 0}}}
CRASHING: dict[str, Any] = {"state": {"waiting": {}}, "lastState": {"terminated": {"exitCode": 1}}}


def computed_phase(spec: dict[str, Any], statuses: dict[str, Any], over: bool = False) -> str:
    return lifecycle_phase.phase(Pod(spec), statuses, over)


@pytest.mark.parametrize(
    ("policy", "statuses", "over", "phase"),
    [
        ("Always", {}, False, "Pending"),
        ("Always", {"a": RUNNING, "b": RUNNING}, False, "Running"),
        ("Always", {"a": SUCCEEDED, "b": SUCCEEDED}, False, "Running"),
        ("Always", {"a": SUCCEEDED, "b": SUCCEEDED}, True, "Succeeded"),
        ("Always", {"a": SUCCEEDED, "b": FAILED}, True, "Failed"),
        ("Always", {"a": RUNNING, "b": SUCCEEDED}, False, "Running"),
        ("Always", {"a": RUNNING}, False, "Pending"),
        ("Always", {"a": RUNNING, "b": WAITING}, False, "Pending"),
        ("Always", {"a": RUNNING, "b": AGAIN}, False, "Running"),
        ("Never", {}, False, "Pending"),
        ("Never", {"a": RUNNING, "b": RUNNING}, False, "Running"),
        ("Never", {"a": SUCCEEDED, "b": SUCCEEDED}, False, "Succeeded"),
        ("Never", {"a": FAILED, "b": FAILED}, False, "Failed"),
        ("Never", {"a": RUNNING, "b": SUCCEEDED}, False, "Running"),
        ("Never", {"a": RUNNING}, False, "Pending"),
        ("Never", {"a": RUNNING, "b": WAITING}, False, "Pending"),
        ("OnFailure", {"a": SUCCEEDED, "b": SUCCEEDED}, False, "Succeeded"),
        ("OnFailure", {"a": FAILED, "b": FAILED}, False, "Running"),
        ("OnFailure", {"a": RUNNING, "b": SUCCEEDED}, False, "Running"),
        ("OnFailure", {"a": RUNNING, "b": AGAIN}, False, "Running"),
    ],
)
def test_the_phase_follows_from_the_containers(policy: str, statuses: dict[str, Any], over: bool, phase: str) -> None:
    assert computed_phase(pod("a", "b", restartPolicy=policy), statuses, over) == phase


@pytest.mark.parametrize(
    ("policy", "statuses", "phase"),
    [
        ("Never", {}, "Pending"),
        ("Never", {"x": RUNNING}, "Pending"),
        ("Never", {"x": FAILED}, "Failed"),
        ("Never", {"x": AGAIN}, "Pending"),
        ("Never", {"x": CRASHING}, "Failed"),
        ("Never", {"x": WAITING}, "Pending"),
        ("Never", {"x": SUCCEEDED, "a": RUNNING, "b": RUNNING}, "Running"),
        ("Always", {"x": FAILED}, "Pending"),
        ("Always", {"x": CRASHING}, "Pending"),
        ("Always", {"x": SUCCEEDED, "a": RUNNING, "b": RUNNING}, "Running"),
    ],
)
def test_init_containers_come_first(policy: str, statuses: dict[str, Any], phase: str) -> None:
    assert computed_phase(pod("a", "b", inits=["x"], restartPolicy=policy), statuses) == phase


@pytest.mark.parametrize(
    ("statuses", "over", "phase"),
    [
        ({}, False, "Pending"),
        ({"x": RUNNING}, False, "Pending"),
        ({"x": FAILED}, False, "Pending"),
        ({"x": AGAIN}, False, "Pending"),
        ({"x": CRASHING}, False, "Pending"),
        ({"x": WAITING}, False, "Pending"),
        ({"x": STARTED, "a": RUNNING}, False, "Pending"),
        ({"x": STARTED, "a": RUNNING, "b": RUNNING}, False, "Running"),
        ({"x": RUNNING, "a": RUNNING, "b": RUNNING}, False, "Running"),
        ({"x": SUCCEEDED, "a": RUNNING, "b": RUNNING}, False, "Running"),
        ({"x": AGAIN, "a": RUNNING, "b": RUNNING}, False, "Running"),
        ({"x": FAILED, "a": SUCCEEDED, "b": SUCCEEDED}, True, "Succeeded"),
        ({"x": SUCCEEDED, "a": SUCCEEDED, "b": SUCCEEDED}, True, "Succeeded"),
    ],
)
def test_the_exit_of_a_sidecar_does_not_count_for_the_phase(statuses: dict[str, Any], over: bool, phase: str) -> None:
    assert computed_phase(pod("a", "b", inits=[sidecar("x")]), statuses, over) == phase


@pytest.mark.parametrize(
    ("statuses", "phase"),
    [
        ({"x": RUNNING, "y": RUNNING, "a": RUNNING}, "Pending"),
        ({"x": RUNNING, "y": RUNNING, "a": SUCCEEDED}, "Pending"),
        ({"x": SUCCEEDED, "y": RUNNING, "a": SUCCEEDED}, "Running"),
        ({"x": SUCCEEDED, "y": RUNNING, "a": RUNNING}, "Running"),
    ],
)
def test_a_pod_that_has_run_is_not_pending_because_of_its_sidecar(statuses: dict[str, Any], phase: str) -> None:
    assert computed_phase(pod("a", inits=["x", sidecar("y")]), statuses) == phase
