from __future__ import annotations

import itertools

import pytest
from tests.embedded.kubelet.lifecycle.pods import ask, at, facts, known, pod, status_of, told
from tests.embedded.kubelet.lifecycle.worlds import Run, World

from traincrew.embedded.kubelet.lifecycle import fact_changes, steps
from traincrew.embedded.kubelet.lifecycle.facts import ContainerFacts, Ended, Environment, Exit, Refused, Running, Starting

WORDS = "restarting failed container=main pod=train_team(12345678)"


def ended(attempt: int, code: int, began: float, finished: float) -> Ended:
    return Ended(attempt, Exit(code, started=at(began), finished=at(finished)))


def test_a_container_that_keeps_failing_waits_ten_seconds_then_twice_as_long_up_to_five_minutes() -> None:
    world = World(pod(), {"main": [Run(1, code=1)]}).live(1400)
    moments = [moment for moment, _, _ in world.starts()]
    waits = [round(later - earlier - 1) for earlier, later in itertools.pairwise(moments)]
    assert waits == [0, 10, 20, 40, 80, 160, 300, 300, 300]


def test_ten_minutes_of_running_are_forgiven() -> None:
    world = World(pod(), {"main": [Run(1, 1), Run(1, 1), Run(1, 1), Run(601, 1), Run(1, 1), Run()]}).live(2000)
    moments = [moment for moment, _, _ in world.starts()]
    assert round(moments[4] - moments[3] - 601) == 0
    assert round(moments[5] - moments[4] - 1) == 10


def test_a_daemon_that_forgot_the_back_off_takes_it_from_the_attempt() -> None:
    assert ask(pod(), facts({"main": known(ended(3, 1, 98, 99))})).look_again == at(139)


@pytest.mark.parametrize(("delay", "words"), [(10, "10s"), (80, "1m20s"), (160, "2m40s"), (300, "5m0s")])
def test_waiting_for_the_next_attempt_is_a_crash_loop_in_the_kubelets_words(delay: int, words: str) -> None:
    answer = ask(pod(), facts({"main": known(ended(1, 1, 90, 99), backoff=delay)}))
    assert status_of(answer, "main")["state"] == {
        "waiting": {"reason": "CrashLoopBackOff", "message": f"back-off {words} {WORDS}"},
    }
    assert status_of(answer, "main")["lastState"]["terminated"]["exitCode"] == 1
    assert (answer.status["phase"], answer.steps, answer.look_again) == ("Running", (), at(99 + delay))
    assert ("Warning", "BackOff", "Back-off restarting failed container main in pod train_team(12345678)") in told(answer)


def test_the_first_restart_is_at_once() -> None:
    answer = ask(pod(), facts({"main": known(ended(0, 1, 90, 99), backoff=0)}))
    assert answer.steps == (steps.Start("main", 1, 10),)
    assert status_of(answer, "main")["state"]["terminated"]["exitCode"] == 1


@pytest.mark.parametrize(
    ("policy", "code", "again"),
    [
        ("Always", 0, True),
        ("Always", 1, True),
        ("OnFailure", 0, False),
        ("OnFailure", 1, True),
        ("Never", 0, False),
        ("Never", 1, False),
    ],
)
def test_the_policy_says_who_is_restarted(policy: str, code: int, again: bool) -> None:
    up = known(Running(0, at(1)))
    answer = ask(pod("main", "other", restartPolicy=policy), facts({"main": known(ended(0, code, 1, 2), backoff=0), "other": up}))
    assert answer.steps == ((steps.Start("main", 1, 10),) if again else ())


def test_while_it_is_being_restarted_what_was_told_before_holds() -> None:
    waiting = ask(pod(), facts({"main": known(ended(1, 1, 80, 85), backoff=10)}), 90)
    told_before = {**pod(), "status": waiting.status}
    begun = fact_changes.begin(facts({"main": known(ended(1, 1, 80, 85), backoff=10)}), steps.Start("main", 2, 20), at(95))
    assert ask(told_before, begun, 95).status == waiting.status
    running = ask(told_before, fact_changes.started(begun, "main", at(96)), 96)
    assert status_of(running, "main")["restartCount"] == 2
    assert status_of(running, "main")["lastState"]["terminated"]["containerID"] == "traincrew://12345678/main/1"


def test_configuration_that_is_missing_is_told_and_tried_again_without_counting() -> None:
    world = World(pod(), {"main": [Run(refused="CreateContainerConfigError")]}).live(30)
    status = world.status["containerStatuses"][0]
    assert status["state"] == {"waiting": {"reason": "CreateContainerConfigError", "message": "no such thing"}}
    assert (status["restartCount"], world.status["phase"]) == (0, "Pending")
    assert {attempt for _, _, attempt in world.starts()} == {0}
    assert len(world.starts()) > 3
    assert world.told("Failed")[0] == "Error: no such thing"


def test_what_cannot_be_run_counts_as_an_attempt_that_failed_with_128() -> None:
    refused = known(Refused(0, "StartError", "exec: not found", at(99)), backoff=0)
    now = ask(pod(), facts({"main": refused}))
    assert now.steps == (steps.Start("main", 1, 10),)
    assert status_of(now, "main")["state"] == {"waiting": {"reason": "RunContainerError", "message": "exec: not found"}}
    end = status_of(now, "main")["lastState"]["terminated"]
    assert (end["exitCode"], end["reason"], end["message"]) == (128, "StartError", "exec: not found")
    later = ask(pod(), facts({"main": known(Refused(1, "StartError", "exec: not found", at(99)), backoff=10)}))
    assert status_of(later, "main")["state"]["waiting"]["reason"] == "CrashLoopBackOff"


def test_what_cannot_be_run_fails_a_pod_that_is_not_restarted() -> None:
    world = World(pod(restartPolicy="Never"), {"main": [Run(refused="StartError")]}).live()
    assert world.phases() == ["Pending", "Failed"]
    end = world.status["containerStatuses"][0]["state"]["terminated"]
    assert (end["exitCode"], end["reason"], end["startedAt"]) == (128, "StartError", "1970-01-01T00:00:00Z")
    assert world.told("Failed") == ["Error: no such thing"]


def test_an_image_without_environment_is_a_failed_pull_then_a_back_off() -> None:
    missing = facts(
        {"main": ContainerFacts(environment=Refused(0, "ErrImagePull", "no environment: traincrew image set", at(99), 2))}
    )
    first = ask(pod(), missing, 99)
    assert status_of(first, "main")["state"] == {
        "waiting": {"reason": "ErrImagePull", "message": "no environment: traincrew image set"},
    }
    assert told(first) == [
        ("Normal", "Pulling", 'Pulling image "img:1"'),
        ("Warning", "Failed", 'Failed to pull image "img:1": no environment: traincrew image set'),
        ("Warning", "Failed", "Error: ErrImagePull"),
    ]
    assert first.look_again is not None
    later = ask(pod(), missing, 110)
    assert status_of(later, "main")["state"]["waiting"] == {
        "reason": "ImagePullBackOff",
        "message": 'Back-off pulling image "img:1": ErrImagePull: no environment: traincrew image set',
    }
    assert ("Normal", "BackOff", 'Back-off pulling image "img:1"') in told(later)
    assert ("Warning", "Failed", "Error: ImagePullBackOff") in told(later)
    assert later.look_again == at(119), "twenty seconds after the second time"
    assert ask(pod(), missing, 119).steps == (steps.Resolve("main"),)


@pytest.mark.parametrize(
    ("reason", "event"), [("InvalidImageName", "InspectFailed"), ("ErrImageNeverPull", "ErrImageNeverPull")],
)  # fmt: skip
def test_images_that_cannot_be_had_at_all_have_words_of_their_own(reason: str, event: str) -> None:
    answer = ask(pod(), facts({"main": ContainerFacts(environment=Refused(0, reason, "why", at(99)))}), 99.5)
    assert status_of(answer, "main")["state"] == {"waiting": {"reason": reason, "message": "why"}}
    assert told(answer) == [("Warning", event, "why"), ("Warning", "Failed", f"Error: {reason}")]


def test_an_image_that_is_found_later_starts_the_container() -> None:
    refused = fact_changes.not_resolved(facts(), "main", "ErrImagePull", "why", at(1))
    again = fact_changes.not_resolved(refused, "main", "ErrImagePull", "why", at(2))
    environment = again.of("main").environment
    assert isinstance(environment, Refused)
    assert environment.times == 2
    assert ask(pod(), fact_changes.resolved(again, "main", Environment())).steps == (steps.Start("main", 0),)


def test_memory_is_told_as_the_reason_whatever_the_code() -> None:
    for code in (0, 1, 137):
        last = Ended(0, Exit(code, oom=True, started=at(1), finished=at(2)))
        end = status_of(ask(pod(restartPolicy="Never"), facts({"main": known(last)})), "main")["state"]["terminated"]
        assert (end["reason"], end["exitCode"]) == ("OOMKilled", code)


def test_the_message_of_the_container_is_told() -> None:
    last = Ended(0, Exit(0, started=at(1), finished=at(2), message="loss 0.1"))
    answer = ask(
        pod({"name": "main", "terminationMessagePolicy": "FallbackToLogsOnError"}, restartPolicy="Never"),
        facts({"main": known(last)}),
    )
    end = status_of(answer, "main")["state"]["terminated"]
    assert (end["reason"], end["message"]) == ("Completed", "loss 0.1")


def test_the_end_of_the_log_stands_in_for_a_message_and_is_awaited() -> None:
    falls_back = pod({"name": "main", "terminationMessagePolicy": "FallbackToLogsOnError"}, restartPolicy="Never")
    falls_back["status"]["phase"] = "Running"
    found = facts({"main": known(ended(0, 1, 1, 2))})
    before = ask(falls_back, found)
    assert before.steps == (steps.ReadLogTail("main", 0),)
    assert (before.status["phase"], list(status_of(before, "main")["state"])) == ("Running", ["running"])
    after = ask(falls_back, fact_changes.log_tail(found, "main", "Traceback"))
    assert after.status["phase"] == "Failed"
    assert status_of(after, "main")["state"]["terminated"]["message"] == "Traceback"


def test_messages_of_all_containers_share_twelve_kilobytes() -> None:
    last = Ended(0, Exit(0, started=at(1), finished=at(2), message="é" * 4096))
    answer = ask(pod("a", "b", "c", restartPolicy="Never"), facts({name: known(last) for name in "abc"}))
    message = status_of(answer, "a")["state"]["terminated"]["message"]
    assert len(message.encode()) == 4096


def test_a_lost_record_is_an_unknown_end_with_137() -> None:
    end = status_of(ask(pod(restartPolicy="Never"), facts({"main": known(Ended(0, None))})), "main")["state"]["terminated"]
    assert (end["exitCode"], end["reason"]) == (137, "ContainerStatusUnknown")


def test_a_restart_count_never_falls() -> None:
    forgetful = pod(status={"phase": "Running", "containerStatuses": [{"name": "main", "restartCount": 4}]})
    assert status_of(ask(forgetful, facts({"main": known(Starting(0, at(1)))})), "main")["restartCount"] == 4
