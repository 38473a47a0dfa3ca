from __future__ import annotations

from typing import Any

import pytest
from tests.embedded.kubelet.lifecycle.pods import (
    UID,
    at,
    deleting,
    next_steps_at,
    observed_container,
    observed_pod,
    pod,
    status_of,
)
from tests.embedded.kubelet.lifecycle.simulated_pod import Behavior, SimulatedPod

from traincrew.embedded.kubelet.lifecycle import probes as lifecycle_probes
from traincrew.embedded.kubelet.lifecycle import steps, transitions
from traincrew.embedded.kubelet.lifecycle.observed import ProbeResults, Running

EXEC = {"exec": {"command": ["check"]}}
UP = Running(0, at(0))


def results_after(probe: dict[str, Any], results: str) -> list[bool | None]:
    found, verdicts = ProbeResults(), []
    for result in results:
        found = lifecycle_probes.record(probe, found, {"+": True, "-": False, "?": None}[result])
        verdicts.append(found.result)
    return verdicts


def probes(result: steps.NextSteps) -> set[str]:
    return {step.kind for step in result.steps if isinstance(step, steps.RunProbe)}


def test_the_failure_threshold_makes_a_failure() -> None:
    assert results_after(EXEC, "+--+---+") == [True, True, True, True, True, True, False, True]


def test_the_success_threshold_makes_a_success() -> None:
    assert results_after({**EXEC, "successThreshold": 3, "failureThreshold": 1}, "++++-+") == [
        None,
        None,
        True,
        True,
        False,
        False,
    ]


def test_a_probe_that_cannot_be_executed_is_neither_success_nor_failure() -> None:
    assert results_after({**EXEC, "failureThreshold": 2}, "-?-") == [None, None, False]


@pytest.mark.parametrize("kind", ["startup", "readiness", "liveness"])
def test_no_probe_before_its_initial_delay(kind: str) -> None:
    probed = pod({"name": "main", f"{kind}Probe": {**EXEC, "initialDelaySeconds": 10}})
    early = next_steps_at(probed, observed_pod({"main": observed_container(UP)}), 9)
    assert probes(early) == set()
    assert early.sync_at == at(10)
    assert probes(next_steps_at(probed, observed_pod({"main": observed_container(UP)}), 10)) == {kind}


def test_a_probe_is_repeated_after_its_period_but_not_while_it_runs() -> None:
    probed = pod({"name": "main", "readinessProbe": {**EXEC, "periodSeconds": 7, "timeoutSeconds": 3}})
    first = next_steps_at(probed, observed_pod({"main": observed_container(UP)}), 0)
    assert first.steps == (steps.RunProbe("main", 0, "readiness", EXEC, 3.0),)
    running = transitions.step_started(observed_pod({"main": observed_container(UP)}), first.steps[0], at(0))
    assert next_steps_at(probed, running, 20).steps == ()
    answered = transitions.probe_finished(running, first.steps[0], probed["spec"]["containers"][0]["readinessProbe"], True)
    assert next_steps_at(probed, answered, 3).sync_at == at(7)
    assert probes(next_steps_at(probed, answered, 7)) == {"readiness"}


def test_the_startup_probe_delays_the_other_probes() -> None:
    probed = pod({"name": "main", "startupProbe": EXEC, "readinessProbe": EXEC, "livenessProbe": EXEC})
    before = next_steps_at(probed, observed_pod({"main": observed_container(UP)}), 1)
    assert probes(before) == {"startup"}
    assert not status_of(before, "main")["started"]
    passed = observed_container(UP, probes={"startup": ProbeResults(1, 0, at(1), result=True)})
    after = next_steps_at(probed, observed_pod({"main": passed}), 2)
    assert probes(after) == {"readiness", "liveness"}
    assert (status_of(after, "main")["started"], status_of(after, "main")["ready"]) == (True, False)


def test_a_terminating_pod_is_probed_for_readiness_only() -> None:
    probed = deleting(pod({"name": "main", "readinessProbe": EXEC, "livenessProbe": EXEC}), 5)
    assert probes(next_steps_at(probed, observed_pod({"main": observed_container(UP)}), 6)) == {"readiness"}


def test_after_a_failed_liveness_probe_no_probe_runs_until_the_next_attempt() -> None:
    probed = pod({"name": "main", "livenessProbe": EXEC})
    failed = observed_container(UP, probes={"liveness": ProbeResults(0, 3, at(20), "down", result=False)})
    result = next_steps_at(probed, observed_pod({"main": failed}), 60)
    assert result.steps == (steps.TerminateContainer("main", 0, 30.0, "liveness"),)


def test_the_grace_period_of_a_probe_overrides_that_of_the_pod() -> None:
    probed = pod({"name": "main", "livenessProbe": {**EXEC, "terminationGracePeriodSeconds": 5}})
    failed = observed_container(UP, probes={"liveness": ProbeResults(0, 3, at(20), "down", result=False)})
    assert next_steps_at(probed, observed_pod({"main": failed}), 21).steps == (
        steps.TerminateContainer("main", 0, 5.0, "liveness"),
    )


def test_probe_results_lost_by_a_restart_are_taken_from_the_api() -> None:
    reported = {"name": "main", "containerID": f"traincrew://{UID}/main/0", "ready": True, "started": True}
    probed = pod({"name": "main", "startupProbe": EXEC, "readinessProbe": EXEC})
    probed["status"]["containerStatuses"] = [reported]
    adopted = next_steps_at(probed, observed_pod({"main": observed_container(UP)}, adopted=True), 50)
    assert status_of(adopted, "main")["ready"]
    assert probes(adopted) == {"readiness"}
    restarted = next_steps_at(probed, observed_pod({"main": observed_container(Running(1, at(49)))}, adopted=True), 50)
    assert not status_of(restarted, "main")["ready"], "another attempt has to prove itself"


def test_a_container_that_fails_its_liveness_probe_is_restarted_and_its_events_say_why() -> None:
    probe = {**EXEC, "periodSeconds": 5, "failureThreshold": 2}
    simulated = SimulatedPod(
        pod({"name": "main", "livenessProbe": probe}), {"main": [Behavior(probe_passes=lambda kind, age: age < 12), Behavior()]}
    )
    simulated.run(60)
    assert simulated.messages("Unhealthy") == ["Liveness probe failed: probe failed"] * 2
    assert simulated.messages("Killing") == ["Container main failed liveness probe, will be restarted"]
    assert [attempt for _, _, attempt in simulated.starts()] == [0, 1]
    assert simulated.status["containerStatuses"][0]["restartCount"] == 1


def test_a_failed_startup_probe_fails_a_pod_with_restart_policy_never() -> None:
    probe = {**EXEC, "periodSeconds": 1, "failureThreshold": 1}
    simulated = SimulatedPod(
        pod({"name": "main", "startupProbe": probe}, restartPolicy="Never"),
        {"main": [Behavior(probe_passes=lambda kind, age: False)]},
    )
    simulated.run(60)
    assert simulated.messages("Killing") == ["Container main failed startup probe"]
    assert simulated.phases() == ["Pending", "Running", "Failed"]


def test_a_probe_that_passes_with_a_warning_has_an_event() -> None:
    probed = pod({"name": "main", "readinessProbe": EXEC})
    step = steps.RunProbe("main", 0, "readiness", EXEC, 1.0)
    started = transitions.step_started(observed_pod({"main": observed_container(UP)}), step, at(0))
    passed = transitions.probe_finished(started, step, EXEC, True, "redirected")
    result = next_steps_at(probed, passed, 1)
    assert status_of(result, "main")["ready"]
    assert [(each.type, each.message) for each in result.events if each.reason == "ProbeWarning"] == [
        ("Warning", "Readiness probe warning: redirected")
    ]
