"""The tables by which the kubelet's own conditions are tested."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from tests.embedded.kubelet.lifecycle.pods import at as moment
from tests.embedded.kubelet.lifecycle.pods import (
    condition,
    next_steps_at,
    observed_container,
    observed_pod,
    pod,
    sidecar,
    timestamp,
)

from traincrew.embedded.kubelet.lifecycle import conditions
from traincrew.embedded.kubelet.lifecycle.observed import Exited, ExitStatus, Running
from traincrew.embedded.kubelet.lifecycle.pod import Pod

READY: dict[str, Any] = {"ready": True, "state": {}}
UNREADY: dict[str, Any] = {"ready": False, "state": {}}
EXITED = Exited(0, ExitStatus(0, started=moment(1), finished=moment(4)))


def expected_condition(status: str, reason: str = "", message: str = "") -> dict[str, Any]:
    found = {"status": status, "reason": reason, "message": message}
    return {key: value for key, value in found.items() if value}


def without_type(found: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in found.items() if key != "type"}


@pytest.mark.parametrize(
    ("names", "statuses", "phase", "expected"),
    [
        ("1234", None, "Running", expected_condition("False", "UnknownContainerStatuses")),
        ("", {}, "Running", expected_condition("True")),
        ("1234", {}, "Running", expected_condition("False", "ContainersNotReady", "containers with unknown status: [1234]")),
        ("1234 5678", {"1234": READY, "5678": READY}, "Running", expected_condition("True")),
        (
            "1234 5678",
            {"1234": READY},
            "Running",
            expected_condition("False", "ContainersNotReady", "containers with unknown status: [5678]"),
        ),
        (
            "1234 5678",
            {"1234": UNREADY, "5678": UNREADY},
            "Running",
            expected_condition("False", "ContainersNotReady", "containers with unready status: [1234 5678]"),
        ),
        (
            "1234 5678",
            {"5678": UNREADY},
            "Running",
            expected_condition(
                "False", "ContainersNotReady", "containers with unknown status: [1234], containers with unready status: [5678]"
            ),
        ),
        ("1234", {"1234": UNREADY}, "Succeeded", expected_condition("False", "PodCompleted")),
        ("1234", {"1234": READY}, "Failed", expected_condition("False", "PodFailed")),
    ],
)
def test_containers_are_ready_if_all_are(names: str, statuses: Any, phase: str, expected: dict[str, Any]) -> None:
    spec = pod()
    spec["spec"]["containers"] = [{"name": name} for name in names.split()]
    assert without_type(conditions.containers_ready(Pod(spec), statuses, phase)) == expected


@pytest.mark.parametrize(
    ("statuses", "message"),
    [
        ({"regular": READY}, "containers with unknown status: [one two]"),
        ({"regular": READY, "one": READY, "two": UNREADY}, "containers with unready status: [two]"),
        ({"regular": READY, "one": READY, "two": READY}, None),
    ],
)
def test_sidecars_count_for_readiness_too(statuses: Any, message: str | None) -> None:
    spec = pod("regular", inits=["init", sidecar("one"), sidecar("two")])
    assert conditions.containers_ready(Pod(spec), statuses, "Running").get("message") == message


@pytest.mark.parametrize(
    ("gates", "known_conditions", "expected"),
    [
        (
            ["gate1"],
            {},
            expected_condition(
                "False", "ReadinessGatesNotReady", 'corresponding condition of pod readiness gate "gate1" does not exist.'
            ),
        ),
        (
            ["gate1"],
            {"gate1": "False"},
            expected_condition(
                "False", "ReadinessGatesNotReady", 'the status of pod readiness gate "gate1" is not "True", but False'
            ),
        ),
        (["gate1"], {"gate1": "True"}, expected_condition("True")),
        (
            ["gate1", "gate2"],
            {"gate1": "True"},
            expected_condition(
                "False", "ReadinessGatesNotReady", 'corresponding condition of pod readiness gate "gate2" does not exist.'
            ),
        ),
        (["gate1", "gate2"], {"gate1": "True", "gate2": "True"}, expected_condition("True")),
    ],
)
def test_a_pod_is_not_ready_until_its_readiness_gates_are_true(
    gates: list[str], known_conditions: dict[str, str], expected: dict[str, Any]
) -> None:
    parsed = Pod(pod(readinessGates=[{"conditionType": gate} for gate in gates]))
    others = [{"type": kind, "status": status} for kind, status in known_conditions.items()]
    ready = conditions.containers_ready(parsed, {"main": READY}, "Running")
    assert without_type(conditions.ready(parsed, ready, others)) == expected


@pytest.mark.parametrize(
    ("inits", "statuses", "phase", "expected"),
    [
        (["1234", "5678"], None, "Running", ("False", "UnknownContainerStatuses")),
        ([], {}, "Running", ("True", None)),
        (["1234"], {}, "Running", ("False", "ContainersNotInitialized")),
        (["1234", "5678"], {"1234": READY, "5678": READY}, "Running", ("True", None)),
        (["1234", "5678"], {"1234": READY}, "Running", ("False", "ContainersNotInitialized")),
        (["1234", "5678"], {"1234": READY, "5678": UNREADY}, "Running", ("False", "ContainersNotInitialized")),
        (["1234"], {"1234": READY}, "Succeeded", ("True", "PodCompleted")),
        ([sidecar("1234")], {"1234": {"started": False}}, "Pending", ("False", "ContainersNotInitialized")),
        ([sidecar("1234")], {"1234": {"started": True}}, "Running", ("True", None)),
        ([sidecar("1234")], {"1234": {"started": False}, "main": {"state": {"running": {}}}}, "Running", ("True", None)),
    ],
)
def test_a_pod_is_initialized_when_its_init_containers_are(inits: Any, statuses: Any, phase: str, expected: Any) -> None:
    found = conditions.initialized(Pod(pod(inits=inits)), statuses, phase)
    assert (found["status"], found.get("reason")) == expected


def test_other_conditions_are_kept_and_transition_times_change_with_the_status_only() -> None:
    old = [
        {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": timestamp(-5)},
        {"type": "example.com/gate", "status": "False", "lastTransitionTime": timestamp(-4)},
        {"type": "Ready", "status": "False", "lastTransitionTime": timestamp(-3)},
    ]
    result = next_steps_at(
        pod(status={"phase": "Pending", "conditions": old}), observed_pod({"main": observed_container(Running(0, moment(1)))}), 10
    )
    assert [each["type"] for each in result.status["conditions"]] == [
        "example.com/gate", "PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled",
    ]  # fmt: skip
    assert condition(result, "PodScheduled")["lastTransitionTime"] == timestamp(-5)
    assert condition(result, "Ready") == {
        "type": "Ready", "status": "True", "lastProbeTime": None, "lastTransitionTime": timestamp(10),
    }  # fmt: skip
    assert condition(result, "example.com/gate")["lastTransitionTime"] == timestamp(-4)


def test_a_sync_during_a_write_computes_the_transition_times_that_are_being_written() -> None:
    """Otherwise two syncs, each during the write of the other's result, would write two times in turn for ever."""
    old = [{"type": "Ready", "status": "True", "lastTransitionTime": timestamp(1)}]
    before, observed = pod(status={"phase": "Running", "conditions": old}), observed_pod({"main": observed_container(EXITED)})
    written = next_steps_at(before, observed, 5).status
    during = dataclasses.replace(observed, last_status=written)
    assert next_steps_at(before, during, 7).status == written
    assert next_steps_at(pod(status=written), during, 7).status == written
