from __future__ import annotations

from tests.embedded.kubelet.lifecycle.pods import (
    START,
    at,
    condition,
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
    CreatingSandbox,
    Exited,
    ExitStatus,
    MountFailure,
    MountingVolumes,
    ObservedPod,
    ProbeResults,
    ResolvedImage,
    Running,
    SandboxFailure,
    SandboxReady,
    Starting,
    VolumesMounted,
)

HOOK = {"exec": {"command": ["hook"]}}
DONE = observed_container(Exited(0, ExitStatus(0, started=at(1), finished=at(2))))


def test_volumes_are_mounted_before_the_sandbox_and_the_containers() -> None:
    assert next_steps_at(pod(), ObservedPod()).steps == (steps.MountVolumes(),)
    assert next_steps_at(pod(), ObservedPod(volumes=MountingVolumes(START))).steps == ()
    assert next_steps_at(pod(), ObservedPod(volumes=VolumesMounted())).steps == (steps.CreateSandbox(),)
    assert next_steps_at(pod(), ObservedPod(volumes=VolumesMounted(), sandbox=CreatingSandbox(START))).steps == ()
    assert next_steps_at(pod(), observed_pod()).steps == (steps.ResolveImage("main"),)
    assert next_steps_at(pod(), observed_pod({"main": observed_container()})).steps == (steps.StartContainer("main", 0),)
    assert next_steps_at(pod(), observed_pod({"main": observed_container(Starting(0, START))})).steps == ()


def test_volumes_that_cannot_be_mounted_are_retried_and_an_event() -> None:
    waiting = ObservedPod(volumes=MountFailure("FailedMount", 'configmap "x" not found', at(0), 2), first_seen=START)
    early = next_steps_at(pod(), waiting, 1)
    assert (early.steps, early.sync_at) == ((), at(2))
    assert event_fields(early) == [("Warning", "FailedMount", 'configmap "x" not found')]
    assert status_of(early, "main")["state"] == {"waiting": {"reason": "ContainerCreating"}}
    assert next_steps_at(pod(), waiting, 2).steps == (steps.MountVolumes(),)


def test_a_sandbox_that_cannot_be_created_is_retried_and_an_event() -> None:
    unmade = ObservedPod(volumes=VolumesMounted(), sandbox=SandboxFailure("no bridge", at(0)), first_seen=START)
    result = next_steps_at(pod(), unmade, 0)
    assert (result.steps, result.sync_at) == ((), at(1))
    assert event_fields(result) == [("Warning", "FailedCreatePodSandBox", "Failed to create pod sandbox: no bridge")]
    assert condition(result, "PodReadyToStartContainers")["status"] == "False"


def test_failures_are_counted_across_retries() -> None:
    waiting = transitions.mount_failed(ObservedPod(), "FailedMount", "x", at(0))
    again = transitions.mount_failed(transitions.step_started(waiting, steps.MountVolumes(), at(1)), "FailedMount", "x", at(1))
    unmade = transitions.sandbox_failed(
        transitions.step_started(ObservedPod(sandbox=SandboxFailure("x", at(0), 4)), steps.CreateSandbox(), at(1)), "x", at(2)
    )
    assert isinstance(again.volumes, MountFailure)
    assert isinstance(unmade.sandbox, SandboxFailure)
    assert (again.volumes.count, unmade.sandbox.count) == (2, 5)


def test_init_containers_run_one_after_another() -> None:
    two = pod(inits=["one", "two"])
    resolved = {name: observed_container() for name in ("one", "two", "main")}
    assert next_steps_at(two, observed_pod(resolved)).steps == (steps.StartContainer("one", 0),)
    assert next_steps_at(two, observed_pod({**resolved, "one": observed_container(Running(0, at(1)))})).steps == ()
    assert next_steps_at(two, observed_pod({**resolved, "one": DONE})).steps == (steps.StartContainer("two", 0),)
    assert next_steps_at(two, observed_pod({**resolved, "one": DONE, "two": DONE})).steps == (steps.StartContainer("main", 0),)


def test_containers_wait_while_init_containers_run() -> None:
    result = next_steps_at(pod(inits=["one"]), observed_pod({"one": observed_container(Running(0, at(1)))}))
    assert status_of(result, "main")["state"] == {"waiting": {"reason": "PodInitializing"}}
    assert result.status["phase"] == "Pending"
    assert condition(result, "Initialized")["message"] == "containers with incomplete status: [one]"


def test_an_init_container_whose_processes_were_killed_for_memory_has_failed() -> None:
    killed = observed_container(Exited(0, ExitStatus(0, oom_killed=True, started=at(1), finished=at(2))), backoff=0)
    assert next_steps_at(pod(inits=["one"]), observed_pod({"one": killed})).steps == (steps.StartContainer("one", 1, 10),)


def test_a_failed_init_container_fails_a_pod_with_restart_policy_never() -> None:
    simulated = SimulatedPod(pod(inits=["one", "two"], restartPolicy="Never"), {"one": [Behavior(1, exit_code=3)]}).run()
    assert simulated.phases() == ["Pending", "Failed"]
    assert [name for _, name, _ in simulated.starts()] == ["one"]
    assert simulated.status["containerStatuses"][0]["state"] == {"waiting": {"reason": "PodInitializing"}}
    assert simulated.status["initContainerStatuses"][0]["state"]["terminated"]["exitCode"] == 3


def test_containers_after_a_sidecar_wait_for_its_startup_probe() -> None:
    beside = pod(inits=[sidecar("proxy", startupProbe=HOOK), "one"])
    up = observed_container(Running(0, at(1)), probes={"startup": ProbeResults(last_started_at=at(99), running_since=at(99))})
    assert next_steps_at(beside, observed_pod({"proxy": up, "one": observed_container()})).steps == ()
    passed = observed_container(Running(0, at(1)), probes={"startup": ProbeResults(1, 0, at(99), result=True)})
    assert next_steps_at(beside, observed_pod({"proxy": passed, "one": observed_container()})).steps == (
        steps.StartContainer("one", 0),
    )


def test_a_sidecar_that_exits_is_restarted_whatever_the_policy() -> None:
    simulated = SimulatedPod(
        pod(inits=[sidecar("proxy"), "one"], restartPolicy="Never"),
        {"proxy": [Behavior(2), Behavior(3), Behavior()], "one": [Behavior(4)], "main": [Behavior(20)]},
    ).run()
    assert simulated.starts("proxy") == [(0.0, "proxy", 0), (2.0, "proxy", 1), (15.0, "proxy", 2)]
    assert simulated.phases() == ["Pending", "Running", "Succeeded"]


def test_a_sidecar_in_back_off_does_not_stop_the_containers_after_it() -> None:
    crashed = observed_container(Exited(3, ExitStatus(1, started=at(90), finished=at(95))), backoff=40)
    result = next_steps_at(
        pod(inits=[sidecar("proxy"), "one", "two"]), observed_pod({"proxy": crashed, "one": DONE, "two": observed_container()})
    )
    assert result.steps == (steps.StartContainer("two", 0),)
    assert result.sync_at == at(135)


def test_containers_start_together() -> None:
    assert next_steps_at(pod("a", "b", "c"), observed_pod({name: observed_container() for name in "abc"})).steps == tuple(
        steps.StartContainer(name, 0) for name in "abc"
    )


def test_a_post_start_hook_delays_the_containers_after_its_own() -> None:
    hooked = pod("a", {"name": "b", "lifecycle": {"postStart": HOOK}}, "c")
    resolved = {name: observed_container() for name in "abc"}
    up = observed_container(Running(0, at(1)))
    assert next_steps_at(hooked, observed_pod(resolved)).steps == (steps.StartContainer("a", 0), steps.StartContainer("b", 0))
    assert next_steps_at(hooked, observed_pod({**resolved, "a": up, "b": observed_container(Starting(0, at(1)))})).steps == ()
    hook = steps.RunHook("b", 0, "postStart", HOOK)
    assert next_steps_at(hooked, observed_pod({**resolved, "a": up, "b": up})).steps == (hook,)
    running = transitions.step_started(observed_pod({**resolved, "a": up, "b": up}), hook, at(2))
    waiting = next_steps_at(hooked, running)
    assert waiting.steps == ()
    assert status_of(waiting, "b")["state"] == {"waiting": {"reason": "ContainerCreating"}}, "not running before its hook is done"
    done = next_steps_at(hooked, transitions.hook_finished(running, "b", "postStart"))
    assert done.steps == (steps.StartContainer("c", 0),)
    assert "running" in status_of(done, "b")["state"]


def test_a_failed_post_start_hook_terminates_its_container() -> None:
    hooked = pod({"name": "main", "lifecycle": {"postStart": HOOK}})
    failed = transitions.hook_finished(
        observed_pod({"main": observed_container(Running(0, at(1)))}), "main", "postStart", "command hook exited with 1"
    )
    result = next_steps_at(hooked, failed)
    assert result.steps == (steps.TerminateContainer("main", 0, 30.0, "postStart"),)
    assert ("Warning", "FailedPostStartHook", "PostStartHook failed") in event_fields(result)
    stopped = transitions.step_started(failed, result.steps[0], at(3))
    assert ("Normal", "Killing", "FailedPostStartHook") in event_fields(next_steps_at(hooked, stopped))
    ended = transitions.container_exited(stopped, "main", ExitStatus(143, 15, started=at(1), finished=at(4)))
    assert status_of(next_steps_at(hooked, ended, 4), "main")["state"] == {
        "waiting": {"reason": "PostStartHookError", "message": "command hook exited with 1"}
    }


def test_a_started_container_has_the_events_of_the_kubelet() -> None:
    running = observed_pod(
        {"main": observed_container(Running(0, at(1)), image=ResolvedImage("The container uses the environment torch."))}
    )
    assert event_fields(next_steps_at(pod(), running)) == [
        ("Normal", "Pulled", "The container uses the environment torch."),
        ("Normal", "Created", "Created container: main"),
        ("Normal", "Started", "Started container main"),
    ]
    plain = next_steps_at(pod(), observed_pod({"main": observed_container(Running(0, at(1)))}))
    assert event_fields(plain)[0] == ("Normal", "Pulled", 'Container image "img:1" already present on machine')
    assert {event.field_path for event in plain.events} == {"spec.containers{main}"}


def test_events_are_recorded_once() -> None:
    running = observed_pod({"main": observed_container(Running(0, at(1)))})
    first = next_steps_at(pod(), running)
    assert (
        next_steps_at(
            pod(), observed_pod({"main": observed_container(Running(0, at(1)))}, recorded_events=first.event_keys)
        ).events
        == ()
    )


def test_events_of_an_adopted_container_are_not_recorded_again() -> None:
    running = observed_pod({"main": observed_container(Running(0, at(1)))})
    before = next_steps_at(pod(), running)
    adopted = next_steps_at(
        {**pod(), "status": before.status}, observed_pod({"main": observed_container(Running(0, at(1)))}, adopted=True)
    )
    assert adopted.events == ()
    assert adopted.status == before.status


def test_ephemeral_containers_start_once_and_never_again() -> None:
    debugged = pod(ephemeralContainers=[{"name": "shell", "image": "img:2"}])
    up = observed_container(Running(0, at(1)))
    assert next_steps_at(debugged, observed_pod({"main": up, "shell": observed_container()})).steps == (
        steps.StartContainer("shell", 0),
    )
    ended = next_steps_at(
        debugged, observed_pod({"main": up, "shell": observed_container(Exited(0, ExitStatus(1, started=at(2), finished=at(3))))})
    )
    assert ended.steps == ()
    assert status_of(ended, "shell")["state"]["terminated"]["exitCode"] == 1


def test_the_status_has_addresses_and_the_start_time() -> None:
    status = next_steps_at(pod(), observed_pod({"main": observed_container(Running(0, at(1)))})).status
    assert {key: status[key] for key in ("phase", "podIP", "podIPs", "hostIP", "hostIPs", "startTime", "qosClass")} == {
        "phase": "Running", "podIP": "10.244.0.5", "podIPs": [{"ip": "10.244.0.5"}], "hostIP": "192.0.2.1",
        "hostIPs": [{"ip": "192.0.2.1"}], "startTime": "2026-01-01T00:00:00Z", "qosClass": "BestEffort",
    }  # fmt: skip


def test_a_pod_with_host_network_has_the_address_of_the_host() -> None:
    shared = next_steps_at(pod(hostNetwork=True), observed_pod(sandbox=SandboxReady("", START)))
    assert shared.status["podIP"] == "192.0.2.1"


def test_the_status_of_a_running_container_is_complete() -> None:
    mounted = pod({"name": "main", "volumeMounts": [{"name": "v", "mountPath": "/v", "readOnly": True}]})
    assert status_of(next_steps_at(mounted, observed_pod({"main": observed_container(Running(0, at(1)))})), "main") == {
        "name": "main", "state": {"running": {"startedAt": "2026-01-01T00:00:01Z"}}, "lastState": {}, "ready": True,
        "restartCount": 0, "image": "img:1", "imageID": "sha256:1", "containerID": "traincrew://12345678/main/0", "started": True,
        "volumeMounts": [{"name": "v", "mountPath": "/v", "readOnly": True, "recursiveReadOnly": "Disabled"}],
    }  # fmt: skip
