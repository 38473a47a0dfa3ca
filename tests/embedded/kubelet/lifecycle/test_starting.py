from __future__ import annotations

from tests.embedded.kubelet.lifecycle.pods import START, ask, at, condition, facts, known, pod, sidecar, status_of, told
from tests.embedded.kubelet.lifecycle.worlds import Run, World

from traincrew.embedded.kubelet.lifecycle import fact_changes, steps
from traincrew.embedded.kubelet.lifecycle.facts import (  # fmt: skip
    Ended,
    Environment,
    Exit,
    Facts,
    Making,
    Mounted,
    Mounting,
    ProbeFacts,
    Ready,
    Running,
    Starting,
    Unmade,
    Waiting,
)

HOOK = {"exec": {"command": ["hook"]}}
DONE = known(Ended(0, Exit(0, started=at(1), finished=at(2))))


def test_volumes_come_first_then_the_sandbox_then_containers() -> None:
    assert ask(pod(), Facts()).steps == (steps.MountVolumes(),)
    assert ask(pod(), Facts(volumes=Mounting(START))).steps == ()
    assert ask(pod(), Facts(volumes=Mounted())).steps == (steps.MakeSandbox(),)
    assert ask(pod(), Facts(volumes=Mounted(), sandbox=Making(START))).steps == ()
    assert ask(pod(), facts()).steps == (steps.Resolve("main"),)
    assert ask(pod(), facts({"main": known()})).steps == (steps.Start("main", 0),)
    assert ask(pod(), facts({"main": known(Starting(0, START))})).steps == ()


def test_volumes_that_are_not_there_yet_are_tried_again_and_told() -> None:
    waiting = Facts(volumes=Waiting("FailedMount", 'configmap "x" not found', at(0), 2), seen=START)
    early = ask(pod(), waiting, 1)
    assert (early.steps, early.look_again) == ((), at(2))
    assert told(early) == [("Warning", "FailedMount", 'configmap "x" not found')]
    assert status_of(early, "main")["state"] == {"waiting": {"reason": "ContainerCreating"}}
    assert ask(pod(), waiting, 2).steps == (steps.MountVolumes(),)


def test_a_sandbox_that_cannot_be_made_is_tried_again_and_told() -> None:
    unmade = Facts(volumes=Mounted(), sandbox=Unmade("no bridge", at(0)), seen=START)
    answer = ask(pod(), unmade, 0)
    assert (answer.steps, answer.look_again) == ((), at(1))
    assert told(answer) == [("Warning", "FailedCreatePodSandBox", "Failed to create pod sandbox: no bridge")]
    assert condition(answer, "PodReadyToStartContainers")["status"] == "False"


def test_tries_are_counted_over_marks() -> None:
    waiting = fact_changes.not_mounted(Facts(), "FailedMount", "x", at(0))
    again = fact_changes.not_mounted(fact_changes.begin(waiting, steps.MountVolumes(), at(1)), "FailedMount", "x", at(1))
    unmade = fact_changes.not_made(
        fact_changes.begin(Facts(sandbox=Unmade("x", at(0), 4)), steps.MakeSandbox(), at(1)), "x", at(2)
    )
    assert isinstance(again.volumes, Waiting)
    assert isinstance(unmade.sandbox, Unmade)
    assert (again.volumes.times, unmade.sandbox.times) == (2, 5)


def test_init_containers_run_one_after_another() -> None:
    two = pod(inits=["one", "two"])
    resolved = {name: known() for name in ("one", "two", "main")}
    assert ask(two, facts(resolved)).steps == (steps.Start("one", 0),)
    assert ask(two, facts({**resolved, "one": known(Running(0, at(1)))})).steps == ()
    assert ask(two, facts({**resolved, "one": DONE})).steps == (steps.Start("two", 0),)
    assert ask(two, facts({**resolved, "one": DONE, "two": DONE})).steps == (steps.Start("main", 0),)


def test_while_init_containers_run_the_others_wait_for_them() -> None:
    answer = ask(pod(inits=["one"]), facts({"one": known(Running(0, at(1)))}))
    assert status_of(answer, "main")["state"] == {"waiting": {"reason": "PodInitializing"}}
    assert answer.status["phase"] == "Pending"
    assert condition(answer, "Initialized")["message"] == "containers with incomplete status: [one]"


def test_an_init_container_whose_processes_were_killed_for_memory_has_failed() -> None:
    killed = known(Ended(0, Exit(0, oom=True, started=at(1), finished=at(2))), backoff=0)
    assert ask(pod(inits=["one"]), facts({"one": killed})).steps == (steps.Start("one", 1, 10),)


def test_a_failed_init_container_fails_the_pod_where_nothing_is_restarted() -> None:
    world = World(pod(inits=["one", "two"], restartPolicy="Never"), {"one": [Run(1, code=3)]}).live()
    assert world.phases() == ["Pending", "Failed"]
    assert [name for _, name, _ in world.starts()] == ["one"]
    assert world.status["containerStatuses"][0]["state"] == {"waiting": {"reason": "PodInitializing"}}
    assert world.status["initContainerStatuses"][0]["state"]["terminated"]["exitCode"] == 3


def test_what_follows_a_sidecar_waits_for_its_startup_probe() -> None:
    beside = pod(inits=[sidecar("proxy", startupProbe=HOOK), "one"])
    up = known(Running(0, at(1)), probes={"startup": ProbeFacts(last_at=at(99), under_way=at(99))})
    assert ask(beside, facts({"proxy": up, "one": known()})).steps == ()
    passed = known(Running(0, at(1)), probes={"startup": ProbeFacts(1, 0, at(99), verdict=True)})
    assert ask(beside, facts({"proxy": passed, "one": known()})).steps == (steps.Start("one", 0),)


def test_a_sidecar_that_ends_is_restarted_whatever_the_policy() -> None:
    world = World(
        pod(inits=[sidecar("proxy"), "one"], restartPolicy="Never"),
        {"proxy": [Run(2), Run(3), Run()], "one": [Run(4)], "main": [Run(20)]},
    ).live()
    assert world.starts("proxy") == [(0.0, "proxy", 0), (2.0, "proxy", 1), (15.0, "proxy", 2)]
    assert world.phases() == ["Pending", "Running", "Succeeded"]


def test_a_sidecar_in_back_off_does_not_hold_up_what_was_reached() -> None:
    crashed = known(Ended(3, Exit(1, started=at(90), finished=at(95))), backoff=40)
    answer = ask(pod(inits=[sidecar("proxy"), "one", "two"]), facts({"proxy": crashed, "one": DONE, "two": known()}))
    assert answer.steps == (steps.Start("two", 0),)
    assert answer.look_again == at(135)


def test_containers_start_together() -> None:
    assert ask(pod("a", "b", "c"), facts({name: known() for name in "abc"})).steps == tuple(
        steps.Start(name, 0) for name in "abc"
    )


def test_a_post_start_hook_holds_back_the_containers_after_its_own() -> None:
    hooked = pod("a", {"name": "b", "lifecycle": {"postStart": HOOK}}, "c")
    resolved = {name: known() for name in "abc"}
    up = known(Running(0, at(1)))
    assert ask(hooked, facts(resolved)).steps == (steps.Start("a", 0), steps.Start("b", 0))
    assert ask(hooked, facts({**resolved, "a": up, "b": known(Starting(0, at(1)))})).steps == ()
    hook = steps.RunHook("b", 0, "postStart", HOOK)
    assert ask(hooked, facts({**resolved, "a": up, "b": up})).steps == (hook,)
    begun = fact_changes.begin(facts({**resolved, "a": up, "b": up}), hook, at(2))
    waiting = ask(hooked, begun)
    assert waiting.steps == ()
    assert status_of(waiting, "b")["state"] == {"waiting": {"reason": "ContainerCreating"}}, "not running before its hook is done"
    done = ask(hooked, fact_changes.hooked(begun, "b", "postStart"))
    assert done.steps == (steps.Start("c", 0),)
    assert "running" in status_of(done, "b")["state"]


def test_a_failed_post_start_hook_ends_its_container() -> None:
    hooked = pod({"name": "main", "lifecycle": {"postStart": HOOK}})
    failed = fact_changes.hooked(facts({"main": known(Running(0, at(1)))}), "main", "postStart", "command hook exited with 1")
    answer = ask(hooked, failed)
    assert answer.steps == (steps.Stop("main", 0, 30.0, "postStart"),)
    assert ("Warning", "FailedPostStartHook", "PostStartHook failed") in told(answer)
    stopped = fact_changes.begin(failed, answer.steps[0], at(3))
    assert ("Normal", "Killing", "FailedPostStartHook") in told(ask(hooked, stopped))
    ended = fact_changes.ended(stopped, "main", Exit(143, 15, started=at(1), finished=at(4)))
    assert status_of(ask(hooked, ended, 4), "main")["state"] == {
        "waiting": {"reason": "PostStartHookError", "message": "command hook exited with 1"}
    }


def test_a_started_container_is_told_in_the_kubelets_words() -> None:
    running = facts({"main": known(Running(0, at(1)), environment=Environment("Environment torch stands in for img:1"))})
    assert told(ask(pod(), running)) == [
        ("Normal", "Pulled", "Environment torch stands in for img:1"),
        ("Normal", "Created", "Created container: main"),
        ("Normal", "Started", "Started container main"),
    ]
    plain = ask(pod(), facts({"main": known(Running(0, at(1)))}))
    assert told(plain)[0] == ("Normal", "Pulled", 'Container image "img:1" already present on machine')
    assert {event.field_path for event in plain.events} == {"spec.containers{main}"}


def test_what_was_told_is_not_told_again() -> None:
    running = facts({"main": known(Running(0, at(1)))})
    first = ask(pod(), running)
    assert ask(pod(), facts({"main": known(Running(0, at(1)))}, told=first.told)).events == ()


def test_an_adopted_container_is_not_told_again_where_the_api_knows_it() -> None:
    running = facts({"main": known(Running(0, at(1)))})
    before = ask(pod(), running)
    adopted = ask({**pod(), "status": before.status}, facts({"main": known(Running(0, at(1)))}, adopted=True))
    assert adopted.events == ()
    assert adopted.status == before.status


def test_ephemeral_containers_start_once_and_never_again() -> None:
    debugged = pod(ephemeralContainers=[{"name": "shell", "image": "img:2"}])
    up = known(Running(0, at(1)))
    assert ask(debugged, facts({"main": up, "shell": known()})).steps == (steps.Start("shell", 0),)
    ended = ask(debugged, facts({"main": up, "shell": known(Ended(0, Exit(1, started=at(2), finished=at(3))))}))
    assert ended.steps == ()
    assert status_of(ended, "shell")["state"]["terminated"]["exitCode"] == 1


def test_the_status_tells_addresses_and_beginnings() -> None:
    status = ask(pod(), facts({"main": known(Running(0, at(1)))})).status
    assert {key: status[key] for key in ("phase", "podIP", "podIPs", "hostIP", "hostIPs", "startTime", "qosClass")} == {
        "phase": "Running", "podIP": "10.244.0.5", "podIPs": [{"ip": "10.244.0.5"}], "hostIP": "192.0.2.1",
        "hostIPs": [{"ip": "192.0.2.1"}], "startTime": "2026-01-01T00:00:00Z", "qosClass": "BestEffort",
    }  # fmt: skip


def test_a_pod_of_the_hosts_network_has_the_hosts_address() -> None:
    shared = ask(pod(hostNetwork=True), facts(sandbox=Ready("", START)))
    assert shared.status["podIP"] == "192.0.2.1"


def test_a_running_container_is_told_whole() -> None:
    mounted = pod({"name": "main", "volumeMounts": [{"name": "v", "mountPath": "/v", "readOnly": True}]})
    assert status_of(ask(mounted, facts({"main": known(Running(0, at(1)))})), "main") == {
        "name": "main", "state": {"running": {"startedAt": "2026-01-01T00:00:01Z"}}, "lastState": {}, "ready": True,
        "restartCount": 0, "image": "img:1", "imageID": "sha256:1", "containerID": "traincrew://12345678/main/0", "started": True,
        "volumeMounts": [{"name": "v", "mountPath": "/v", "readOnly": True, "recursiveReadOnly": "Disabled"}],
    }  # fmt: skip
