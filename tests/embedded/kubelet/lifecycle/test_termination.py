from __future__ import annotations

import dataclasses
from typing import Any

import msgspec
import pytest
from tests.embedded.kubelet.lifecycle.pods import (
    START,
    at,
    condition,
    deleting,
    event_fields,
    next_steps_at,
    observed_container,
    observed_pod,
    pod,
    sidecar,
    status_of,
)
from tests.embedded.kubelet.lifecycle.simulated_pod import Behavior, SimulatedPod

from traincrew.embedded.kubelet.lifecycle import steps, transitions
from traincrew.embedded.kubelet.lifecycle.observed import (
    LOST,
    REBOOTED,
    STOPPED,
    CreatingSandbox,
    Eviction,
    Exited,
    ExitStatus,
    ObservedPod,
    Rejection,
    Running,
    SandboxGone,
    SandboxReady,
    StartFailure,
    Starting,
    Stopping,
    VolumesMounted,
)
from traincrew.model import objects
from traincrew.planner import losses

HOOK = {"exec": {"command": ["hook"]}}
UP = observed_container(Running(0, at(1)))
FINISHED = observed_container(Exited(0, ExitStatus(0, started=at(1), finished=at(50))))


def containers_of(simulated: SimulatedPod, kind: type) -> list[tuple[float, str]]:
    return [(moment, step.container) for moment, step in simulated.executed_steps(kind)]


# deletion


def test_a_deleted_pod_gets_sigterm_then_sigkill_and_is_removed() -> None:
    simulated = SimulatedPod(pod(), {"main": [Behavior(exits_after_term=None)]})
    simulated.delete(10, grace=7)
    simulated.run()
    assert simulated.executed_steps(steps.TerminateContainer) == [(10.0, steps.TerminateContainer("main", 0, 7.0, "deletion"))]
    assert containers_of(simulated, steps.KillContainer) == [(17.0, "main")]
    assert [type(step) for _, step in simulated.executed[-2:]] == [steps.StopSandbox, steps.RemovePod]
    assert simulated.messages("Killing") == ["Stopping container main"]
    assert simulated.status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 137
    assert simulated.phases() == ["Pending", "Running", "Failed"]


def test_a_deleted_pod_whose_containers_exit_with_zero_has_succeeded() -> None:
    simulated = SimulatedPod(pod(), {"main": [Behavior(12)]})
    simulated.delete(10, grace=7)
    simulated.behaviors = {"main": [Behavior(12, exits_after_term=None)]}
    simulated.run()
    assert simulated.phases() == ["Pending", "Running", "Succeeded"]


@pytest.mark.parametrize("last", [None, observed_container(Exited(0, ExitStatus(1, started=at(1), finished=at(2))), backoff=0)])
def test_a_terminating_pod_is_never_started(last: Any) -> None:
    result = next_steps_at(deleting(pod(), 90), observed_pod({"main": last or observed_container()}))
    assert result.steps == (steps.StopSandbox(),)
    assert result.status["phase"] == "Failed"


def test_a_deleted_pod_that_never_ran_is_removed_at_once() -> None:
    assert next_steps_at(deleting(pod(), 90), ObservedPod(first_seen=START)).steps == (steps.RemovePod(),)
    assert next_steps_at(deleting(pod(), 90), ObservedPod(first_seen=START, sandbox=CreatingSandbox(START))).steps == ()


def test_a_starting_container_is_awaited_before_it_is_terminated() -> None:
    assert next_steps_at(deleting(pod(), 90), observed_pod({"main": observed_container(Starting(0, at(89)))})).steps == ()


def test_a_crashed_container_keeps_its_exit_code_when_its_pod_is_deleted() -> None:
    crashed = observed_container(Exited(3, ExitStatus(3, started=at(80), finished=at(85))), backoff=80)
    end = status_of(next_steps_at(deleting(pod(), 90), observed_pod({"main": crashed})), "main")["state"]["terminated"]
    assert end["exitCode"] == 3


def test_the_grace_period_is_never_shorter_than_two_seconds() -> None:
    simulated = SimulatedPod(pod(), {"main": [Behavior(exits_after_term=None)]})
    simulated.delete(10, grace=0)
    simulated.run()
    assert containers_of(simulated, steps.KillContainer) == [(12.0, "main")]


def test_a_second_deletion_with_a_shorter_grace_period_shortens_the_wait() -> None:
    simulated = SimulatedPod(pod(), {"main": [Behavior(exits_after_term=None)]})
    simulated.delete(10, grace=600)
    simulated.delete(20, grace=5)
    simulated.run()
    assert containers_of(simulated, steps.KillContainer) == [(25.0, "main")]


def test_a_restarted_kubelet_computes_the_grace_period_from_the_deletion_timestamp() -> None:
    result = next_steps_at(deleting(pod(), 80, grace=30), observed_pod({"main": UP}, adopted=True), 100)
    assert result.steps == (steps.TerminateContainer("main", 0, 10.0, "deletion"),)


def test_a_pod_with_finalizers_is_deleted_only_once() -> None:
    held = deleting(pod(metadata={"finalizers": ["example.com/x"]}, status={"phase": "Succeeded"}), 90, grace=0)
    assert next_steps_at(held, observed_pod({"main": FINISHED}, sandbox=SandboxGone(STOPPED))).steps == ()


def test_a_pod_whose_object_is_deleted_is_terminated_and_removed() -> None:
    removed = observed_pod({"main": UP}, object_deleted=True)
    result = next_steps_at(pod(), removed)
    assert [type(step) for step in result.steps] == [steps.TerminateContainer]
    assert next_steps_at(pod(), observed_pod({"main": FINISHED}, object_deleted=True, sandbox=SandboxGone(STOPPED))).steps == (
        steps.RemovePod(),
    )


# hooks and order


def test_pre_stop_runs_before_term_and_within_the_grace_period() -> None:
    hooked = deleting(pod({"name": "main", "lifecycle": {"preStop": HOOK}}), 100, grace=20)
    found = observed_pod({"main": UP})
    first = next_steps_at(hooked, found, 100)
    assert first.steps == (steps.RunHook("main", 0, "preStop", HOOK, 20.0, "deletion", 20.0),)
    running = transitions.step_started(found, first.steps[0], at(100))
    assert next_steps_at(hooked, running, 110).steps == ()
    assert next_steps_at(hooked, transitions.hook_finished(running, "main", "preStop"), 110).steps == (
        steps.TerminateContainer("main", 0, 10.0, "deletion"),
    )
    late = next_steps_at(hooked, running, 120)
    assert late.steps == (steps.TerminateContainer("main", 0, 2.0, "deletion"),), "a hook that takes too long is not awaited"
    signalled = transitions.step_started(running, late.steps[0], at(120))
    assert next_steps_at(hooked, signalled, 121).sync_at == at(122)
    assert next_steps_at(hooked, signalled, 122).steps == (steps.KillContainer("main", 0),)


def test_a_failed_pre_stop_hook_is_an_event_and_the_container_is_terminated() -> None:
    hooked = deleting(pod({"name": "main", "lifecycle": {"preStop": HOOK}}), 100)
    found = dataclasses.replace(UP, stopping=Stopping(at(100), 30, "deletion"), pre_stop="exit 1")
    result = next_steps_at(hooked, observed_pod({"main": found}), 101)
    assert [type(step) for step in result.steps] == [steps.TerminateContainer]
    assert ("Warning", "FailedPreStopHook", "PreStopHook failed") in event_fields(result)


def test_sidecars_are_terminated_last_in_reverse_order() -> None:
    simulated = SimulatedPod(
        pod("a", "b", inits=[sidecar("one"), sidecar("two")]),
        {"a": [Behavior(exits_after_term=2)], "b": [Behavior(exits_after_term=1)]},
    )
    simulated.delete(10)
    simulated.run()
    assert containers_of(simulated, steps.TerminateContainer) == [(10.0, "a"), (10.0, "b"), (12.0, "two"), (12.5, "one")]


def test_sidecars_have_the_same_grace_period_as_the_other_containers() -> None:
    simulated = SimulatedPod(
        pod("a", inits=[sidecar("one")]), {"a": [Behavior(exits_after_term=None)], "one": [Behavior(exits_after_term=None)]}
    )
    simulated.delete(10, grace=20)
    simulated.run()
    assert containers_of(simulated, steps.TerminateContainer) == [(10.0, "a"), (30.0, "one")]
    assert containers_of(simulated, steps.KillContainer) == [(30.0, "a"), (32.0, "one")]


def test_sidecars_do_not_keep_a_pod_running() -> None:
    simulated = SimulatedPod(pod("a", inits=[sidecar("one")], restartPolicy="OnFailure"), {"a": [Behavior(5)]}).run()
    assert containers_of(simulated, steps.TerminateContainer) == [(5.0, "one")]
    assert simulated.phases() == ["Pending", "Running", "Succeeded"]
    assert simulated.starts("one") == [(0.0, "one", 0)]


def test_sigkill_is_sent_again_if_the_container_survives() -> None:
    killed = dataclasses.replace(UP, stopping=Stopping(at(50), 5, "deletion", at(50), at(55)))
    result = next_steps_at(deleting(pod(), 50, 5), observed_pod({"main": killed}), 60)
    assert (result.steps, result.sync_at) == ((), at(65))
    assert next_steps_at(deleting(pod(), 50, 5), observed_pod({"main": killed}), 65).steps == (steps.KillContainer("main", 0),)


# an end of its own


def test_a_finished_pod_only_stops_its_sandbox() -> None:
    done = pod(restartPolicy="Never")
    result = next_steps_at(done, observed_pod({"main": FINISHED}))
    assert (result.steps, result.status["phase"], result.sync_at) == ((steps.StopSandbox(),), "Succeeded", None)
    assert next_steps_at(done, observed_pod({"main": FINISHED}, stopping_sandbox_since=at(99))).steps == ()
    assert (
        next_steps_at({**done, "status": result.status}, observed_pod({"main": FINISHED}, sandbox=SandboxGone(STOPPED))).steps
        == ()
    )


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_terminal_phase_never_changes(phase: str) -> None:
    over = pod(status={"phase": phase, "reason": "Why", "message": "because"})
    result = next_steps_at(
        over, observed_pod({"main": observed_container(Exited(0, ExitStatus(1, started=at(1), finished=at(2))))})
    )
    assert (result.status["phase"], result.status["reason"], result.status["message"]) == (phase, "Why", "because")
    assert not any(isinstance(step, steps.StartContainer) for step in result.steps)


def test_a_pod_whose_sandbox_was_stopped_is_not_started_again() -> None:
    """The daemon may have died before it wrote the status."""
    stopped = observed_container(Exited(0, ExitStatus(143, 15, started=at(1), finished=at(50))))
    result = next_steps_at(
        pod(restartPolicy="Always"), observed_pod({"main": stopped}, sandbox=SandboxGone(STOPPED), adopted=True)
    )
    assert (result.steps, result.status["phase"]) == ((), "Failed")


@pytest.mark.parametrize(
    "last", [Exited(1, ExitStatus(3, started=at(1), finished=at(2), message="x")), StartFailure(1, "StartError", "no", at(2))]
)
def test_an_exit_whose_record_is_missing_is_restored_from_the_api(last: Any) -> None:
    before = next_steps_at(pod(restartPolicy="Never"), observed_pod({"main": observed_container(last)}))
    reported_before = pod(restartPolicy="Never", status={**before.status, "phase": "Running"})
    after = next_steps_at(reported_before, observed_pod({"main": observed_container(Exited(1, None))}, adopted=True))
    assert status_of(after, "main") == status_of(before, "main")


def test_a_removed_pod_keeps_the_exits_that_the_api_server_holds() -> None:
    """A finalizer keeps the object, and the daemon was restarted meanwhile."""
    before = next_steps_at(
        pod(), observed_pod({"main": observed_container(Exited(0, ExitStatus(44, started=at(1), finished=at(2))))})
    )
    kept = deleting(pod(status={**before.status, "phase": "Failed"}), 90, grace=0)
    kept["metadata"]["finalizers"] = ["example.com/kept"]
    after = next_steps_at(kept, ObservedPod())
    assert status_of(after, "main") == status_of(before, "main")
    assert after.steps == ()


# deadlines


def test_a_pod_past_its_active_deadline_fails_with_the_kubelets_message() -> None:
    simulated = SimulatedPod(pod(activeDeadlineSeconds=20), {"main": [Behavior(exits_after_term=3)]}).run()
    assert simulated.executed_steps(steps.TerminateContainer) == [(20.0, steps.TerminateContainer("main", 0, 30.0, "deadline"))]
    assert simulated.phases() == ["Pending", "Running", "Failed"], "not before its containers have ended"
    assert (simulated.status["reason"], simulated.status["message"]) == (
        "DeadlineExceeded", "Pod was active on the node longer than the specified deadline",
    )  # fmt: skip
    assert simulated.messages("DeadlineExceeded") == ["Pod was active on the node longer than the specified deadline"]
    assert simulated.status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 143


def test_a_deadline_set_on_a_running_pod_counts_from_its_start() -> None:
    simulated = SimulatedPod(pod())
    simulated.after(50, lambda facts: (simulated.object["spec"].update(activeDeadlineSeconds=1), facts)[1])
    simulated.run()
    assert containers_of(simulated, steps.TerminateContainer) == [(50.0, "main")]
    assert simulated.status["reason"] == "DeadlineExceeded"


def test_a_pod_that_finished_in_time_has_not_exceeded_its_deadline_even_if_its_exit_is_noticed_later() -> None:
    result = next_steps_at(pod(activeDeadlineSeconds=60, restartPolicy="Never"), observed_pod({"main": FINISHED}), 1000)
    assert result.status["phase"] == "Succeeded"
    assert "reason" not in result.status


def test_the_active_deadline_is_the_time_of_the_next_sync() -> None:
    assert next_steps_at(pod(activeDeadlineSeconds=500), observed_pod({"main": UP})).sync_at == at(500)


# taken away


def disruption(result: steps.NextSteps) -> objects.PodCondition | None:
    converted = msgspec.convert({**pod(), "status": result.status}, objects.Pod)
    return losses.disruption_target(converted)


@pytest.mark.parametrize("policy", ["Always", "OnFailure", "Never"])
def test_a_lost_shim_fails_its_pod_as_a_disruption(policy: str) -> None:
    result = next_steps_at(pod(restartPolicy=policy), observed_pod({"main": UP}, sandbox=SandboxGone(LOST, at(99))))
    assert (result.steps, result.status["phase"], result.status["reason"]) == ((), "Failed", "SandboxLost")
    assert disruption(result) is not None
    end = status_of(result, "main")["state"]["terminated"]
    assert (end["exitCode"], end["reason"]) == (137, "ContainerStatusUnknown")


def test_a_reboot_fails_the_pods_as_a_disruption() -> None:
    for found in (observed_pod({"main": UP}, rebooted=True), observed_pod({"main": UP}, sandbox=SandboxGone(REBOOTED))):
        result = next_steps_at(pod(), found)
        assert (result.status["phase"], result.status["reason"]) == ("Failed", "NodeLost")
        assert condition(result, "DisruptionTarget")["reason"] == "TerminationByKubelet"
        assert disruption(result) is not None


def test_a_container_that_only_the_api_reports_as_running_is_lost_too() -> None:
    running = next_steps_at(pod(), observed_pod({"main": UP})).status
    result = next_steps_at({**pod(), "status": running}, ObservedPod(first_seen=START, sandbox=SandboxGone(LOST)))
    assert (result.status["phase"], result.status["reason"]) == ("Failed", "SandboxLost")


def test_a_pod_that_finished_before_its_shim_was_lost_keeps_its_phase() -> None:
    for gone in (SandboxGone(LOST), SandboxGone(REBOOTED)):
        result = next_steps_at(pod(restartPolicy="Never"), observed_pod({"main": FINISHED}, sandbox=gone))
        assert (result.status["phase"], disruption(result)) == ("Succeeded", None)


def test_a_sandbox_lost_while_no_container_ran_is_created_and_initialized_again() -> None:
    crashed = observed_container(Exited(2, ExitStatus(1, started=at(80), finished=at(85))), backoff=20)
    inits = {"one": observed_container(Exited(0, ExitStatus(0, started=at(1), finished=at(2))))}
    lost = observed_pod({"main": crashed, **inits}, sandbox=SandboxGone(LOST, at(90)))
    result = next_steps_at(pod(inits=["one"]), lost)
    assert result.steps == (steps.CreateSandbox(),)
    assert ("Normal", "SandboxChanged", "Pod sandbox changed, it will be killed and re-created.") in event_fields(result)
    again = dataclasses.replace(lost, sandbox=SandboxReady("10.244.0.5", at(101)))
    assert next_steps_at(pod(inits=["one"]), again, 102).steps == (steps.StartContainer("one", 1, 10),)


@pytest.mark.parametrize("policy", ["OnFailure", "Never"])
def test_a_completed_initialization_is_lost_with_its_sandbox_unless_the_policy_is_always(policy: str) -> None:
    done = observed_container(Exited(0, ExitStatus(0, started=at(1), finished=at(2))))
    result = next_steps_at(
        pod(inits=["one"], restartPolicy=policy),
        observed_pod({"one": done, "main": observed_container()}, sandbox=SandboxGone(LOST)),
    )
    assert (result.steps, result.status["phase"]) == ((), "Failed")
    assert disruption(result) is not None


def test_an_evicted_pod_fails_as_a_disruption_when_its_containers_have_exited() -> None:
    found = observed_pod({"main": UP}, eviction=Eviction("Evicted", "The node was low on resource: memory.", grace=3))
    first = next_steps_at(pod(), found)
    assert first.steps == (steps.TerminateContainer("main", 0, 3.0, "eviction"),)
    assert (first.status["phase"], "reason" in first.status) == ("Running", False)
    stopped = transitions.container_exited(
        transitions.step_started(found, first.steps[0], at(100)), "main", ExitStatus(143, 15, started=at(1), finished=at(101))
    )
    last = next_steps_at(pod(), stopped, 101)
    assert (last.status["phase"], last.status["reason"]) == ("Failed", "Evicted")
    assert disruption(last) is not None


def test_a_rejected_pod_fails_and_nothing_is_started() -> None:
    result = next_steps_at(
        pod(), ObservedPod(rejection=Rejection("OutOfcpu", "Node didn't have enough resource: cpu"), first_seen=START)
    )
    assert result.steps == ()
    assert {key: result.status.get(key) for key in ("phase", "reason", "message", "containerStatuses")} == {
        "phase": "Failed", "reason": "OutOfcpu", "message": "Pod was rejected: Node didn't have enough resource: cpu",
        "containerStatuses": None,
    }  # fmt: skip
    assert event_fields(result) == [("Warning", "OutOfcpu", "Node didn't have enough resource: cpu")]


def test_a_terminated_pod_that_never_ran_has_a_status_for_every_container() -> None:
    result = next_steps_at(deleting(pod("a", "b"), 90), ObservedPod(first_seen=START, volumes=VolumesMounted()))
    assert [each["state"]["terminated"]["reason"] for each in result.status["containerStatuses"]] == [
        "ContainerStatusUnknown"
    ] * 2


def test_a_finished_pod_keeps_its_address() -> None:
    over = pod(restartPolicy="Never", status={"phase": "Running", "podIP": "10.244.0.9", "podIPs": [{"ip": "10.244.0.9"}]})
    assert next_steps_at(over, observed_pod({"main": FINISHED}, sandbox=SandboxGone(STOPPED))).status["podIP"] == "10.244.0.9"
