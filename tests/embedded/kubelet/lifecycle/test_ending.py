from __future__ import annotations

import dataclasses
from typing import Any

import msgspec
import pytest
from tests.embedded.kubelet.lifecycle.pods import (  # fmt: skip
    START,
    ask,
    at,
    condition,
    deleting,
    facts,
    known,
    pod,
    sidecar,
    status_of,
    told,
)
from tests.embedded.kubelet.lifecycle.worlds import Run, World

from traincrew.embedded.kubelet.lifecycle import fact_changes, steps
from traincrew.embedded.kubelet.lifecycle.facts import (  # fmt: skip
    ENDED,
    LOST,
    REBOOTED,
    Ended,
    Eviction,
    Exit,
    Facts,
    Gone,
    Making,
    Mounted,
    Ready,
    Refused,
    Rejection,
    Running,
    Starting,
    Stopping,
)
from traincrew.model import objects
from traincrew.planner import losses

HOOK = {"exec": {"command": ["hook"]}}
UP = known(Running(0, at(1)))
FINISHED = known(Ended(0, Exit(0, started=at(1), finished=at(50))))


def went_through(world: World, kind: type) -> list[tuple[float, str]]:
    return [(moment, step.container) for moment, step in world.done(kind)]


# deletion


def test_a_deleted_pod_is_asked_to_end_then_killed_then_forgotten() -> None:
    world = World(pod(), {"main": [Run(heeds_term=None)]})
    world.delete(10, grace=7)
    world.live()
    assert world.done(steps.Stop) == [(10.0, steps.Stop("main", 0, 7.0, "deletion"))]
    assert went_through(world, steps.Kill) == [(17.0, "main")]
    assert [type(step) for _, step in world.carried[-2:]] == [steps.EndSandbox, steps.Forget]
    assert world.told("Killing") == ["Stopping container main"]
    assert world.status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 137
    assert world.phases() == ["Pending", "Running", "Failed"]


def test_a_deleted_pod_whose_containers_end_well_has_succeeded() -> None:
    world = World(pod(), {"main": [Run(12)]})
    world.delete(10, grace=7)
    world.runs = {"main": [Run(12, heeds_term=None)]}
    world.live()
    assert world.phases() == ["Pending", "Running", "Succeeded"]


@pytest.mark.parametrize("last", [None, known(Ended(0, Exit(1, started=at(1), finished=at(2))), backoff=0)])
def test_a_pod_that_is_being_deleted_is_never_started(last: Any) -> None:
    answer = ask(deleting(pod(), 90), facts({"main": last or known()}))
    assert answer.steps == (steps.EndSandbox(),)
    assert answer.status["phase"] == "Failed"


def test_a_deleted_pod_that_never_ran_is_forgotten_at_once() -> None:
    assert ask(deleting(pod(), 90), Facts(seen=START)).steps == (steps.Forget(),)
    assert ask(deleting(pod(), 90), Facts(seen=START, sandbox=Making(START))).steps == ()


def test_a_container_that_is_being_started_is_awaited_before_it_is_ended() -> None:
    assert ask(deleting(pod(), 90), facts({"main": known(Starting(0, at(89)))})).steps == ()


def test_a_crashed_container_shows_its_real_end_when_its_pod_goes() -> None:
    crashed = known(Ended(3, Exit(3, started=at(80), finished=at(85))), backoff=80)
    end = status_of(ask(deleting(pod(), 90), facts({"main": crashed})), "main")["state"]["terminated"]
    assert end["exitCode"] == 3


def test_the_grace_period_is_never_shorter_than_two_seconds() -> None:
    world = World(pod(), {"main": [Run(heeds_term=None)]})
    world.delete(10, grace=0)
    world.live()
    assert went_through(world, steps.Kill) == [(12.0, "main")]


def test_deleting_again_with_less_grace_shortens_the_wait() -> None:
    world = World(pod(), {"main": [Run(heeds_term=None)]})
    world.delete(10, grace=600)
    world.delete(20, grace=5)
    world.live()
    assert went_through(world, steps.Kill) == [(25.0, "main")]


def test_a_daemon_that_forgot_when_the_end_began_goes_by_the_deletion() -> None:
    answer = ask(deleting(pod(), 80, grace=30), facts({"main": UP}, adopted=True), 100)
    assert answer.steps == (steps.Stop("main", 0, 10.0, "deletion"),)


def test_a_pod_with_finalizers_is_deleted_only_once() -> None:
    held = deleting(pod(metadata={"finalizers": ["example.com/x"]}, status={"phase": "Succeeded"}), 90, grace=0)
    assert ask(held, facts({"main": FINISHED}, sandbox=Gone(ENDED))).steps == ()


def test_a_pod_that_left_the_api_is_ended_and_cleared_away() -> None:
    removed = facts({"main": UP}, removed=True)
    answer = ask(pod(), removed)
    assert [type(step) for step in answer.steps] == [steps.Stop]
    assert ask(pod(), facts({"main": FINISHED}, removed=True, sandbox=Gone(ENDED))).steps == (steps.Forget(),)


# hooks and order


def test_pre_stop_runs_before_term_and_within_the_grace_period() -> None:
    hooked = deleting(pod({"name": "main", "lifecycle": {"preStop": HOOK}}), 100, grace=20)
    found = facts({"main": UP})
    first = ask(hooked, found, 100)
    assert first.steps == (steps.RunHook("main", 0, "preStop", HOOK, 20.0, "deletion", 20.0),)
    begun = fact_changes.begin(found, first.steps[0], at(100))
    assert ask(hooked, begun, 110).steps == ()
    assert ask(hooked, fact_changes.hooked(begun, "main", "preStop"), 110).steps == (steps.Stop("main", 0, 10.0, "deletion"),)
    late = ask(hooked, begun, 120)
    assert late.steps == (steps.Stop("main", 0, 2.0, "deletion"),), "a hook that takes too long is not awaited"
    signalled = fact_changes.begin(begun, late.steps[0], at(120))
    assert ask(hooked, signalled, 121).look_again == at(122)
    assert ask(hooked, signalled, 122).steps == (steps.Kill("main", 0),)


def test_a_failed_pre_stop_hook_is_told_and_the_container_ends() -> None:
    hooked = deleting(pod({"name": "main", "lifecycle": {"preStop": HOOK}}), 100)
    found = dataclasses.replace(UP, stopping=Stopping(at(100), 30, "deletion"), pre_stop="exit 1")
    answer = ask(hooked, facts({"main": found}), 101)
    assert [type(step) for step in answer.steps] == [steps.Stop]
    assert ("Warning", "FailedPreStopHook", "PreStopHook failed") in told(answer)


def test_sidecars_end_after_the_others_in_reverse_order() -> None:
    world = World(pod("a", "b", inits=[sidecar("one"), sidecar("two")]), {"a": [Run(heeds_term=2)], "b": [Run(heeds_term=1)]})
    world.delete(10)
    world.live()
    assert went_through(world, steps.Stop) == [(10.0, "a"), (10.0, "b"), (12.0, "two"), (12.5, "one")]


def test_sidecars_that_wait_have_no_more_time_than_the_others() -> None:
    world = World(pod("a", inits=[sidecar("one")]), {"a": [Run(heeds_term=None)], "one": [Run(heeds_term=None)]})
    world.delete(10, grace=20)
    world.live()
    assert went_through(world, steps.Stop) == [(10.0, "a"), (30.0, "one")]
    assert went_through(world, steps.Kill) == [(30.0, "a"), (32.0, "one")]


def test_sidecars_do_not_keep_a_pod_alive() -> None:
    world = World(pod("a", inits=[sidecar("one")], restartPolicy="OnFailure"), {"a": [Run(5)]}).live()
    assert went_through(world, steps.Stop) == [(5.0, "one")]
    assert world.phases() == ["Pending", "Running", "Succeeded"]
    assert world.starts("one") == [(0.0, "one", 0)]


def test_a_kill_that_did_not_help_is_sent_again() -> None:
    killed = dataclasses.replace(UP, stopping=Stopping(at(50), 5, "deletion", at(50), at(55)))
    answer = ask(deleting(pod(), 50, 5), facts({"main": killed}), 60)
    assert (answer.steps, answer.look_again) == ((), at(65))
    assert ask(deleting(pod(), 50, 5), facts({"main": killed}), 65).steps == (steps.Kill("main", 0),)


# an end of its own


def test_a_finished_pod_ends_its_sandbox_and_nothing_else() -> None:
    done = pod(restartPolicy="Never")
    answer = ask(done, facts({"main": FINISHED}))
    assert (answer.steps, answer.status["phase"], answer.look_again) == ((steps.EndSandbox(),), "Succeeded", None)
    assert ask(done, facts({"main": FINISHED}, ending=at(99))).steps == ()
    assert ask({**done, "status": answer.status}, facts({"main": FINISHED}, sandbox=Gone(ENDED))).steps == ()


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_there_is_no_way_back_from_a_finished_phase(phase: str) -> None:
    over = pod(status={"phase": phase, "reason": "Why", "message": "because"})
    answer = ask(over, facts({"main": known(Ended(0, Exit(1, started=at(1), finished=at(2))))}))
    assert (answer.status["phase"], answer.status["reason"], answer.status["message"]) == (phase, "Why", "because")
    assert not any(isinstance(step, steps.Start) for step in answer.steps)


def test_a_pod_whose_sandbox_the_node_has_ended_is_not_brought_back() -> None:
    """The daemon may have died before it told why."""
    stopped = known(Ended(0, Exit(143, 15, started=at(1), finished=at(50))))
    answer = ask(pod(restartPolicy="Always"), facts({"main": stopped}, sandbox=Gone(ENDED), adopted=True))
    assert (answer.steps, answer.status["phase"]) == ((), "Failed")


@pytest.mark.parametrize(
    "last", [Ended(1, Exit(3, started=at(1), finished=at(2), message="x")), Refused(1, "StartError", "no", at(2))]
)
def test_an_end_whose_record_is_missing_is_taken_from_the_api(last: Any) -> None:
    before = ask(pod(restartPolicy="Never"), facts({"main": known(last)}))
    told_before = pod(restartPolicy="Never", status={**before.status, "phase": "Running"})
    after = ask(told_before, facts({"main": known(Ended(1, None))}, adopted=True))
    assert status_of(after, "main") == status_of(before, "main")


def test_a_finished_pod_that_was_cleared_away_keeps_the_ends_that_the_api_knows() -> None:
    """A finalizer keeps it; the daemon was started anew meanwhile."""
    before = ask(pod(), facts({"main": known(Ended(0, Exit(44, started=at(1), finished=at(2))))}))
    kept = deleting(pod(status={**before.status, "phase": "Failed"}), 90, grace=0)
    kept["metadata"]["finalizers"] = ["example.com/kept"]
    after = ask(kept, Facts())
    assert status_of(after, "main") == status_of(before, "main")
    assert after.steps == ()


# deadlines


def test_a_pod_past_its_deadline_fails_with_the_kubelets_words() -> None:
    world = World(pod(activeDeadlineSeconds=20), {"main": [Run(heeds_term=3)]}).live()
    assert world.done(steps.Stop) == [(20.0, steps.Stop("main", 0, 30.0, "deadline"))]
    assert world.phases() == ["Pending", "Running", "Failed"], "not before its containers have ended"
    assert (world.status["reason"], world.status["message"]) == (
        "DeadlineExceeded", "Pod was active on the node longer than the specified deadline",
    )  # fmt: skip
    assert world.told("DeadlineExceeded") == ["Pod was active on the node longer than the specified deadline"]
    assert world.status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 143


def test_a_deadline_set_on_a_running_pod_counts_from_its_start() -> None:
    world = World(pod())
    world.after(50, lambda facts: (world.pod["spec"].update(activeDeadlineSeconds=1), facts)[1])
    world.live()
    assert went_through(world, steps.Stop) == [(50.0, "main")]
    assert world.status["reason"] == "DeadlineExceeded"


def test_a_pod_that_ended_in_time_has_not_exceeded_its_deadline_even_if_that_is_noticed_later() -> None:
    answer = ask(pod(activeDeadlineSeconds=60, restartPolicy="Never"), facts({"main": FINISHED}), 1000)
    assert answer.status["phase"] == "Succeeded"
    assert "reason" not in answer.status


def test_the_deadline_is_when_to_look_again() -> None:
    assert ask(pod(activeDeadlineSeconds=500), facts({"main": UP})).look_again == at(500)


# taken away


def disruption(answer: steps.Steps) -> objects.PodCondition | None:
    made = msgspec.convert({**pod(), "status": answer.status}, objects.Pod)
    return losses.disruption_target(made)


@pytest.mark.parametrize("policy", ["Always", "OnFailure", "Never"])
def test_a_lost_shim_ends_its_pod_as_a_disruption(policy: str) -> None:
    answer = ask(pod(restartPolicy=policy), facts({"main": UP}, sandbox=Gone(LOST, at(99))))
    assert (answer.steps, answer.status["phase"], answer.status["reason"]) == ((), "Failed", "SandboxLost")
    assert disruption(answer) is not None
    end = status_of(answer, "main")["state"]["terminated"]
    assert (end["exitCode"], end["reason"]) == (137, "ContainerStatusUnknown")


def test_a_rebooted_node_ends_its_pods_as_a_disruption() -> None:
    for found in (facts({"main": UP}, rebooted=True), facts({"main": UP}, sandbox=Gone(REBOOTED))):
        answer = ask(pod(), found)
        assert (answer.status["phase"], answer.status["reason"]) == ("Failed", "NodeLost")
        assert condition(answer, "DisruptionTarget")["reason"] == "TerminationByKubelet"
        assert disruption(answer) is not None


def test_what_only_the_api_remembers_to_have_run_is_lost_too() -> None:
    running = ask(pod(), facts({"main": UP})).status
    answer = ask({**pod(), "status": running}, Facts(seen=START, sandbox=Gone(LOST)))
    assert (answer.status["phase"], answer.status["reason"]) == ("Failed", "SandboxLost")


def test_a_pod_that_had_finished_before_its_shim_went_keeps_its_outcome() -> None:
    for gone in (Gone(LOST), Gone(REBOOTED)):
        answer = ask(pod(restartPolicy="Never"), facts({"main": FINISHED}, sandbox=gone))
        assert (answer.status["phase"], disruption(answer)) == ("Succeeded", None)


def test_a_sandbox_that_went_while_nothing_ran_is_made_anew_and_initialized_again() -> None:
    crashed = known(Ended(2, Exit(1, started=at(80), finished=at(85))), backoff=20)
    inits = {"one": known(Ended(0, Exit(0, started=at(1), finished=at(2))))}
    lost = facts({"main": crashed, **inits}, sandbox=Gone(LOST, at(90)))
    answer = ask(pod(inits=["one"]), lost)
    assert answer.steps == (steps.MakeSandbox(),)
    assert ("Normal", "SandboxChanged", "Pod sandbox changed, it will be killed and re-created.") in told(answer)
    again = dataclasses.replace(lost, sandbox=Ready("10.244.0.5", at(101)))
    assert ask(pod(inits=["one"]), again, 102).steps == (steps.Start("one", 1, 10),)


@pytest.mark.parametrize("policy", ["OnFailure", "Never"])
def test_an_initialization_that_cannot_be_told_to_begin_again_is_lost_with_its_sandbox(policy: str) -> None:
    done = known(Ended(0, Exit(0, started=at(1), finished=at(2))))
    answer = ask(pod(inits=["one"], restartPolicy=policy), facts({"one": done, "main": known()}, sandbox=Gone(LOST)))
    assert (answer.steps, answer.status["phase"]) == ((), "Failed")
    assert disruption(answer) is not None


def test_an_evicted_pod_fails_as_a_disruption_once_its_containers_have_ended() -> None:
    found = facts({"main": UP}, eviction=Eviction("Evicted", "The node was low on resource: memory.", grace=3))
    first = ask(pod(), found)
    assert first.steps == (steps.Stop("main", 0, 3.0, "eviction"),)
    assert (first.status["phase"], "reason" in first.status) == ("Running", False)
    stopped = fact_changes.ended(
        fact_changes.begin(found, first.steps[0], at(100)), "main", Exit(143, 15, started=at(1), finished=at(101))
    )
    last = ask(pod(), stopped, 101)
    assert (last.status["phase"], last.status["reason"]) == ("Failed", "Evicted")
    assert disruption(last) is not None


def test_a_rejected_pod_is_failed_and_nothing_is_begun() -> None:
    answer = ask(pod(), Facts(rejection=Rejection("OutOfcpu", "Node didn't have enough resource: cpu"), seen=START))
    assert answer.steps == ()
    assert {key: answer.status.get(key) for key in ("phase", "reason", "message", "containerStatuses")} == {
        "phase": "Failed", "reason": "OutOfcpu", "message": "Pod was rejected: Node didn't have enough resource: cpu",
        "containerStatuses": None,
    }  # fmt: skip
    assert told(answer) == [("Warning", "OutOfcpu", "Node didn't have enough resource: cpu")]


def test_a_pod_that_never_ran_and_is_over_accounts_for_every_container() -> None:
    answer = ask(deleting(pod("a", "b"), 90), Facts(seen=START, volumes=Mounted()))
    assert [each["state"]["terminated"]["reason"] for each in answer.status["containerStatuses"]] == [
        "ContainerStatusUnknown"
    ] * 2


def test_a_finished_pod_keeps_its_address() -> None:
    over = pod(restartPolicy="Never", status={"phase": "Running", "podIP": "10.244.0.9", "podIPs": [{"ip": "10.244.0.9"}]})
    assert ask(over, facts({"main": FINISHED}, sandbox=Gone(ENDED))).status["podIP"] == "10.244.0.9"
