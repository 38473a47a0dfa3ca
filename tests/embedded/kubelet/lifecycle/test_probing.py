from __future__ import annotations

from typing import Any

import pytest
from tests.embedded.kubelet.lifecycle.pods import UID, ask, at, deleting, facts, known, pod, status_of
from tests.embedded.kubelet.lifecycle.worlds import Run, World

from traincrew.embedded.kubelet.lifecycle import fact_changes, steps
from traincrew.embedded.kubelet.lifecycle import probes as lifecycle_probes
from traincrew.embedded.kubelet.lifecycle.facts import ProbeFacts, Running

EXEC = {"exec": {"command": ["check"]}}
UP = Running(0, at(0))


def folded(probe: dict[str, Any], results: str) -> list[bool | None]:
    found, verdicts = ProbeFacts(), []
    for result in results:
        found = lifecycle_probes.fold(probe, found, {"+": True, "-": False, "?": None}[result])
        verdicts.append(found.verdict)
    return verdicts


def probes(answer: steps.Steps) -> set[str]:
    return {step.kind for step in answer.steps if isinstance(step, steps.Probe)}


def test_three_failures_in_a_row_make_a_failure() -> None:
    assert folded(EXEC, "+--+---+") == [True, True, True, True, True, True, False, True]


def test_as_many_successes_as_the_threshold_says_make_a_success() -> None:
    assert folded({**EXEC, "successThreshold": 3, "failureThreshold": 1}, "++++-+") == [None, None, True, True, False, False]


def test_a_probe_that_cannot_be_made_counts_neither_way() -> None:
    assert folded({**EXEC, "failureThreshold": 2}, "-?-") == [None, None, False]


@pytest.mark.parametrize("kind", ["startup", "readiness", "liveness"])
def test_no_probe_before_its_initial_delay(kind: str) -> None:
    probed = pod({"name": "main", f"{kind}Probe": {**EXEC, "initialDelaySeconds": 10}})
    early = ask(probed, facts({"main": known(UP)}), 9)
    assert probes(early) == set()
    assert early.look_again == at(10)
    assert probes(ask(probed, facts({"main": known(UP)}), 10)) == {kind}


def test_a_probe_comes_again_after_its_period_and_not_while_one_is_under_way() -> None:
    probed = pod({"name": "main", "readinessProbe": {**EXEC, "periodSeconds": 7, "timeoutSeconds": 3}})
    first = ask(probed, facts({"main": known(UP)}), 0)
    assert first.steps == (steps.Probe("main", 0, "readiness", EXEC, 3.0),)
    begun = fact_changes.begin(facts({"main": known(UP)}), first.steps[0], at(0))
    assert ask(probed, begun, 20).steps == ()
    answered = fact_changes.probed(begun, first.steps[0], probed["spec"]["containers"][0]["readinessProbe"], True)
    assert ask(probed, answered, 3).look_again == at(7)
    assert probes(ask(probed, answered, 7)) == {"readiness"}


def test_the_startup_probe_holds_the_others_back() -> None:
    probed = pod({"name": "main", "startupProbe": EXEC, "readinessProbe": EXEC, "livenessProbe": EXEC})
    before = ask(probed, facts({"main": known(UP)}), 1)
    assert probes(before) == {"startup"}
    assert not status_of(before, "main")["started"]
    passed = known(UP, probes={"startup": ProbeFacts(1, 0, at(1), verdict=True)})
    after = ask(probed, facts({"main": passed}), 2)
    assert probes(after) == {"readiness", "liveness"}
    assert (status_of(after, "main")["started"], status_of(after, "main")["ready"]) == (True, False)


def test_a_pod_that_is_being_deleted_is_probed_for_readiness_only() -> None:
    probed = deleting(pod({"name": "main", "readinessProbe": EXEC, "livenessProbe": EXEC}), 5)
    assert probes(ask(probed, facts({"main": known(UP)}), 6)) == {"readiness"}


def test_after_a_failed_liveness_probe_none_is_made_until_the_next_attempt() -> None:
    probed = pod({"name": "main", "livenessProbe": EXEC})
    failed = known(UP, probes={"liveness": ProbeFacts(0, 3, at(20), "down", verdict=False)})
    answer = ask(probed, facts({"main": failed}), 60)
    assert answer.steps == (steps.Stop("main", 0, 30.0, "liveness"),)


def test_the_probes_own_grace_period_goes_before_the_pods() -> None:
    probed = pod({"name": "main", "livenessProbe": {**EXEC, "terminationGracePeriodSeconds": 5}})
    failed = known(UP, probes={"liveness": ProbeFacts(0, 3, at(20), "down", verdict=False)})
    assert ask(probed, facts({"main": failed}), 21).steps == (steps.Stop("main", 0, 5.0, "liveness"),)


def test_results_that_a_daemon_forgot_are_taken_from_the_api() -> None:
    told = {"name": "main", "containerID": f"traincrew://{UID}/main/0", "ready": True, "started": True}
    probed = pod({"name": "main", "startupProbe": EXEC, "readinessProbe": EXEC})
    probed["status"]["containerStatuses"] = [told]
    adopted = ask(probed, facts({"main": known(UP)}, adopted=True), 50)
    assert status_of(adopted, "main")["ready"]
    assert probes(adopted) == {"readiness"}
    restarted = ask(probed, facts({"main": known(Running(1, at(49)))}, adopted=True), 50)
    assert not status_of(restarted, "main")["ready"], "another attempt has to prove itself"


def test_an_unwell_container_is_restarted_and_its_events_say_why() -> None:
    probe = {**EXEC, "periodSeconds": 5, "failureThreshold": 2}
    world = World(pod({"name": "main", "livenessProbe": probe}), {"main": [Run(healthy=lambda kind, age: age < 12), Run()]})
    world.live(60)
    assert world.told("Unhealthy") == ["Liveness probe failed: unwell"] * 2
    assert world.told("Killing") == ["Container main failed liveness probe, will be restarted"]
    assert [attempt for _, _, attempt in world.starts()] == [0, 1]
    assert world.status["containerStatuses"][0]["restartCount"] == 1


def test_where_nothing_is_restarted_a_failed_startup_probe_ends_the_pod() -> None:
    probe = {**EXEC, "periodSeconds": 1, "failureThreshold": 1}
    world = World(
        pod({"name": "main", "startupProbe": probe}, restartPolicy="Never"), {"main": [Run(healthy=lambda kind, age: False)]}
    )
    world.live(60)
    assert world.told("Killing") == ["Container main failed startup probe"]
    assert world.phases() == ["Pending", "Running", "Failed"]
