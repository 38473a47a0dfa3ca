from __future__ import annotations

import itertools

import pytest
from tests.embedded.kubelet.lifecycle.pods import (
    at,
    event_fields,
    next_steps_at,
    observed_container,
    observed_pod,
    pod,
    status_of,
)
from tests.embedded.kubelet.lifecycle.simulated_pod import Behavior, SimulatedPod

from traincrew.embedded.kubelet.lifecycle import steps, transitions
from traincrew.embedded.kubelet.lifecycle.observed import (
    Exited,
    ExitStatus,
    ObservedContainer,
    ResolvedImage,
    Running,
    StartFailure,
    Starting,
)

WORDS = "restarting failed container=main pod=train_team(12345678)"


def exited(attempt: int, code: int, started: float, finished: float) -> Exited:
    return Exited(attempt, ExitStatus(code, started=at(started), finished=at(finished)))


def test_the_crash_loop_back_off_doubles_from_ten_seconds_to_five_minutes() -> None:
    simulated = SimulatedPod(pod(), {"main": [Behavior(1, exit_code=1)]}).run(1400)
    moments = [moment for moment, _, _ in simulated.starts()]
    waits = [round(later - earlier - 1) for earlier, later in itertools.pairwise(moments)]
    assert waits == [0, 10, 20, 40, 80, 160, 300, 300, 300]


def test_ten_minutes_of_running_reset_the_back_off() -> None:
    simulated = SimulatedPod(
        pod(), {"main": [Behavior(1, 1), Behavior(1, 1), Behavior(1, 1), Behavior(601, 1), Behavior(1, 1), Behavior()]}
    ).run(2000)
    moments = [moment for moment, _, _ in simulated.starts()]
    assert round(moments[4] - moments[3] - 601) == 0
    assert round(moments[5] - moments[4] - 1) == 10


def test_a_restarted_kubelet_computes_the_back_off_from_the_attempt() -> None:
    assert next_steps_at(pod(), observed_pod({"main": observed_container(exited(3, 1, 98, 99))})).sync_at == at(139)


@pytest.mark.parametrize(("delay", "words"), [(10, "10s"), (80, "1m20s"), (160, "2m40s"), (300, "5m0s")])
def test_a_container_in_back_off_waits_with_the_message_of_the_kubelet(delay: int, words: str) -> None:
    result = next_steps_at(pod(), observed_pod({"main": observed_container(exited(1, 1, 90, 99), backoff=delay)}))
    assert status_of(result, "main")["state"] == {
        "waiting": {"reason": "CrashLoopBackOff", "message": f"back-off {words} {WORDS}"},
    }
    assert status_of(result, "main")["lastState"]["terminated"]["exitCode"] == 1
    assert (result.status["phase"], result.steps, result.sync_at) == ("Running", (), at(99 + delay))
    assert ("Warning", "BackOff", "Back-off restarting failed container main in pod train_team(12345678)") in event_fields(result)


def test_the_first_restart_is_at_once() -> None:
    result = next_steps_at(pod(), observed_pod({"main": observed_container(exited(0, 1, 90, 99), backoff=0)}))
    assert result.steps == (steps.StartContainer("main", 1, 10),)
    assert status_of(result, "main")["state"]["terminated"]["exitCode"] == 1


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
def test_the_restart_policy_decides_which_containers_restart(policy: str, code: int, again: bool) -> None:
    up = observed_container(Running(0, at(1)))
    result = next_steps_at(
        pod("main", "other", restartPolicy=policy),
        observed_pod({"main": observed_container(exited(0, code, 1, 2), backoff=0), "other": up}),
    )
    assert result.steps == ((steps.StartContainer("main", 1, 10),) if again else ())


def test_the_reported_state_is_kept_while_a_container_restarts() -> None:
    waiting = next_steps_at(pod(), observed_pod({"main": observed_container(exited(1, 1, 80, 85), backoff=10)}), 90)
    reported = {**pod(), "status": waiting.status}
    starting = transitions.step_started(
        observed_pod({"main": observed_container(exited(1, 1, 80, 85), backoff=10)}), steps.StartContainer("main", 2, 20), at(95)
    )
    assert next_steps_at(reported, starting, 95).status == waiting.status
    running = next_steps_at(reported, transitions.container_started(starting, "main", at(96)), 96)
    assert status_of(running, "main")["restartCount"] == 2
    assert status_of(running, "main")["lastState"]["terminated"]["containerID"] == "traincrew://12345678/main/1"


def test_missing_configuration_is_reported_and_retried_without_a_restart() -> None:
    simulated = SimulatedPod(pod(), {"main": [Behavior(start_failure="CreateContainerConfigError")]}).run(30)
    status = simulated.status["containerStatuses"][0]
    assert status["state"] == {"waiting": {"reason": "CreateContainerConfigError", "message": "executable not found"}}
    assert (status["restartCount"], simulated.status["phase"]) == (0, "Pending")
    assert {attempt for _, _, attempt in simulated.starts()} == {0}
    assert len(simulated.starts()) > 3
    assert simulated.messages("Failed")[0] == "Error: executable not found"


def test_a_start_error_is_an_attempt_with_exit_code_128() -> None:
    refused = observed_container(StartFailure(0, "StartError", "exec: not found", at(99)), backoff=0)
    now = next_steps_at(pod(), observed_pod({"main": refused}))
    assert now.steps == (steps.StartContainer("main", 1, 10),)
    assert status_of(now, "main")["state"] == {"waiting": {"reason": "RunContainerError", "message": "exec: not found"}}
    end = status_of(now, "main")["lastState"]["terminated"]
    assert (end["exitCode"], end["reason"], end["message"]) == (128, "StartError", "exec: not found")
    later = next_steps_at(
        pod(), observed_pod({"main": observed_container(StartFailure(1, "StartError", "exec: not found", at(99)), backoff=10)})
    )
    assert status_of(later, "main")["state"]["waiting"]["reason"] == "CrashLoopBackOff"


def test_a_start_error_fails_a_pod_with_restart_policy_never() -> None:
    simulated = SimulatedPod(pod(restartPolicy="Never"), {"main": [Behavior(start_failure="StartError")]}).run()
    assert simulated.phases() == ["Pending", "Failed"]
    end = simulated.status["containerStatuses"][0]["state"]["terminated"]
    assert (end["exitCode"], end["reason"], end["startedAt"]) == (128, "StartError", "1970-01-01T00:00:00Z")
    assert simulated.messages("Failed") == ["Error: executable not found"]


def test_an_image_without_environment_is_a_failed_pull_then_a_back_off() -> None:
    missing = observed_pod(
        {"main": ObservedContainer(image=StartFailure(0, "ErrImagePull", "no environment: traincrew image set", at(99), 2))}
    )
    first = next_steps_at(pod(), missing, 99)
    assert status_of(first, "main")["state"] == {
        "waiting": {"reason": "ErrImagePull", "message": "no environment: traincrew image set"},
    }
    assert event_fields(first) == [
        ("Normal", "Pulling", 'Pulling image "img:1"'),
        ("Warning", "Failed", 'Failed to pull image "img:1": no environment: traincrew image set'),
        ("Warning", "Failed", "Error: ErrImagePull"),
    ]
    assert first.sync_at is not None
    later = next_steps_at(pod(), missing, 110)
    assert status_of(later, "main")["state"]["waiting"] == {
        "reason": "ImagePullBackOff",
        "message": 'Back-off pulling image "img:1": ErrImagePull: no environment: traincrew image set',
    }
    assert ("Normal", "BackOff", 'Back-off pulling image "img:1"') in event_fields(later)
    assert ("Warning", "Failed", "Error: ImagePullBackOff") in event_fields(later)
    assert later.sync_at == at(119), "twenty seconds after the second time"
    assert next_steps_at(pod(), missing, 119).steps == (steps.ResolveImage("main"),)


@pytest.mark.parametrize(
    ("reason", "event"), [("InvalidImageName", "InspectFailed"), ("ErrImageNeverPull", "ErrImageNeverPull")],
)  # fmt: skip
def test_images_that_are_never_pulled_have_their_own_reasons(reason: str, event: str) -> None:
    result = next_steps_at(pod(), observed_pod({"main": ObservedContainer(image=StartFailure(0, reason, "why", at(99)))}), 99.5)
    assert status_of(result, "main")["state"] == {"waiting": {"reason": reason, "message": "why"}}
    assert event_fields(result) == [("Warning", event, "why"), ("Warning", "Failed", f"Error: {reason}")]


def test_a_container_starts_when_its_image_is_resolved_later() -> None:
    refused = transitions.image_pull_failed(observed_pod(), "main", "ErrImagePull", "why", at(1))
    again = transitions.image_pull_failed(refused, "main", "ErrImagePull", "why", at(2))
    environment = again.container("main").image
    assert isinstance(environment, StartFailure)
    assert environment.count == 2
    assert next_steps_at(pod(), transitions.image_resolved(again, "main", ResolvedImage())).steps == (
        steps.StartContainer("main", 0),
    )


def test_an_oom_kill_is_the_reason_whatever_the_exit_code() -> None:
    for code in (0, 1, 137):
        last = Exited(0, ExitStatus(code, oom_killed=True, started=at(1), finished=at(2)))
        end = status_of(next_steps_at(pod(restartPolicy="Never"), observed_pod({"main": observed_container(last)})), "main")[
            "state"
        ]["terminated"]
        assert (end["reason"], end["exitCode"]) == ("OOMKilled", code)


@pytest.mark.parametrize(("signal", "reported"), [(9, 9), (0, None)])
def test_the_signal_that_ended_a_container_is_reported(signal: int, reported: int | None) -> None:
    """The exit code alone does not say it: a program may return 137 itself."""
    last = Exited(0, ExitStatus(137, signal, started=at(1), finished=at(2)))
    ended = status_of(next_steps_at(pod(restartPolicy="Never"), observed_pod({"main": observed_container(last)})), "main")
    assert ended["state"]["terminated"].get("signal") == reported


def test_the_termination_message_is_reported() -> None:
    last = Exited(0, ExitStatus(0, started=at(1), finished=at(2), message="loss 0.1"))
    result = next_steps_at(
        pod({"name": "main", "terminationMessagePolicy": "FallbackToLogsOnError"}, restartPolicy="Never"),
        observed_pod({"main": observed_container(last)}),
    )
    end = status_of(result, "main")["state"]["terminated"]
    assert (end["reason"], end["message"]) == ("Completed", "loss 0.1")


def test_the_log_tail_is_the_termination_message_and_is_awaited() -> None:
    falls_back = pod({"name": "main", "terminationMessagePolicy": "FallbackToLogsOnError"}, restartPolicy="Never")
    falls_back["status"]["phase"] = "Running"
    found = observed_pod({"main": observed_container(exited(0, 1, 1, 2))})
    before = next_steps_at(falls_back, found)
    assert before.steps == (steps.ReadLogTail("main", 0),)
    assert (before.status["phase"], list(status_of(before, "main")["state"])) == ("Running", ["running"])
    after = next_steps_at(falls_back, transitions.log_tail_read(found, "main", "Traceback"))
    assert after.status["phase"] == "Failed"
    assert status_of(after, "main")["state"]["terminated"]["message"] == "Traceback"


def test_messages_of_all_containers_share_twelve_kilobytes() -> None:
    last = Exited(0, ExitStatus(0, started=at(1), finished=at(2), message="é" * 4096))
    result = next_steps_at(
        pod("a", "b", "c", restartPolicy="Never"), observed_pod({name: observed_container(last) for name in "abc"})
    )
    message = status_of(result, "a")["state"]["terminated"]["message"]
    assert len(message.encode()) == 4096


def test_a_lost_exit_record_is_reported_as_an_unknown_exit_with_137() -> None:
    end = status_of(
        next_steps_at(pod(restartPolicy="Never"), observed_pod({"main": observed_container(Exited(0, None))})), "main"
    )["state"]["terminated"]
    assert (end["exitCode"], end["reason"]) == (137, "ContainerStatusUnknown")


def test_a_restart_count_never_decreases() -> None:
    forgetful = pod(status={"phase": "Running", "containerStatuses": [{"name": "main", "restartCount": 4}]})
    assert (
        status_of(next_steps_at(forgetful, observed_pod({"main": observed_container(Starting(0, at(1)))})), "main")[
            "restartCount"
        ]
        == 4
    )
