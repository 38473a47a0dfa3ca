"""What holds for every pod, whatever its processes do and whenever its daemon dies."""

from __future__ import annotations

import datetime as dt
import itertools
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.embedded.kubelet.lifecycle.pods import START, pod, sidecar
from tests.embedded.kubelet.lifecycle.simulated_pod import Behavior, SimulatedPod

from traincrew.embedded.kubelet.lifecycle import next_steps, steps
from traincrew.embedded.kubelet.lifecycle.observed import STOPPED, Exited, SandboxGone, SandboxReady
from traincrew.embedded.kubelet.lifecycle.pod import ContainerType, Pod

HOOK = {"exec": {"command": ["hook"]}}
CLEANUP = (
    steps.StopSandbox,
    steps.RemovePod,
    steps.TerminateContainer,
    steps.KillContainer,
    steps.ReadLogTail,
    steps.RunHook,
    steps.RunProbe,
)


def always_passes(kind: str, age: float) -> bool:
    return True


def always_fails(kind: str, age: float) -> bool:
    return False


seconds = st.floats(0.1, 120, allow_nan=False).map(lambda value: round(value, 2))
failing = st.builds(
    Behavior,
    exits_after=seconds,
    exit_code=st.sampled_from([0, 1, 137]),
    exits_after_term=st.sampled_from([0.2, 5.0, None]),
    oom_killed=st.booleans(),
    start_failure=st.sampled_from(["", "", "", "StartError", "CreateContainerError"]),
    probe_passes=st.sampled_from([always_passes, always_fails]),
)
final = st.builds(Behavior, exits_after=seconds, exits_after_term=st.sampled_from([0.2, None]))
behaviors = st.tuples(st.lists(failing.filter(lambda each: each.start_failure != "CreateContainerError"), max_size=3), final).map(
    lambda both: [*both[0], both[1]]
)


@st.composite
def containers(draw: st.DrawFn, name: str, probed: bool) -> dict[str, Any]:
    found: dict[str, Any] = {"name": name}
    if draw(st.booleans()):
        found["terminationMessagePolicy"] = "FallbackToLogsOnError"
    if probed:
        for kind in draw(st.lists(st.sampled_from(["startup", "readiness", "liveness"]), unique=True, max_size=3)):
            found[f"{kind}Probe"] = {**HOOK, "periodSeconds": 3, "failureThreshold": 2}
        hooks = draw(st.lists(st.sampled_from(["postStart", "preStop"]), unique=True, max_size=2))
        found["lifecycle"] = dict.fromkeys(hooks, HOOK)
    return found


@st.composite
def simulated_pods(draw: st.DrawFn) -> SimulatedPod:
    mains = [draw(containers(f"main{number}", True)) for number in range(draw(st.integers(1, 2)))]
    inits = [
        sidecar(**draw(containers(f"side{number}", True))) if draw(st.booleans()) else draw(containers(f"init{number}", False))
        for number in range(draw(st.integers(0, 3)))
    ]
    policy = draw(st.sampled_from(["Always", "OnFailure", "Never"]))
    more: dict[str, Any] = {"activeDeadlineSeconds": draw(st.integers(1, 300))} if draw(st.booleans()) else {}
    simulated = SimulatedPod(pod(*mains, inits=inits, restartPolicy=policy, **more))
    simulated.behaviors = {each["name"]: draw(behaviors) for each in (*mains, *inits)}
    for name in [each["name"] for each in inits if each.get("restartPolicy") == "Always"]:
        simulated.behaviors[name] = [*simulated.behaviors[name][:-1], Behavior()]
    simulated.mount_failures = draw(st.integers(0, 2))
    if policy == "Always" or draw(st.booleans()):
        simulated.delete(draw(seconds), draw(st.integers(0, 60)))
    if draw(st.integers(0, 4)) == 0:
        simulated.lose_sandbox(draw(seconds))
    for _ in range(draw(st.integers(0, 3))):
        simulated.restart_kubelet(draw(seconds))
    return simulated


pods = simulated_pods()
thorough = settings(max_examples=60, deadline=None)


@thorough
@given(pods)
def test_every_pod_terminates_when_its_processes_exit(simulated: SimulatedPod) -> None:
    simulated.run()
    assert simulated.status["phase"] in ("Succeeded", "Failed")
    assert not isinstance(simulated.observed.sandbox, SandboxReady)
    assert simulated.removed == ("deletionTimestamp" in simulated.object["metadata"])


@thorough
@given(pods)
def test_a_terminal_phase_is_final_and_reported_only_when_no_container_runs(simulated: SimulatedPod) -> None:
    simulated.run()
    phases = [status["phase"] for status in simulated.statuses]
    finished = [index for index, phase in enumerate(phases) if phase in ("Succeeded", "Failed")]
    assert len({phases[index] for index in finished}) == 1
    assert finished == list(range(finished[0], len(phases)))
    for status in simulated.statuses[finished[0] :]:
        statuses = (*status.get("initContainerStatuses", ()), *status["containerStatuses"])
        assert not any("running" in each["state"] for each in statuses)


@thorough
@given(pods)
def test_restart_counts_never_decrease(simulated: SimulatedPod) -> None:
    simulated.run()
    for field in ("initContainerStatuses", "containerStatuses"):
        counted = [[each["restartCount"] for each in status.get(field, ())] for status in simulated.statuses]
        for earlier, later in itertools.pairwise(counted):
            assert all(one <= other for one, other in zip(earlier, later, strict=True))


@thorough
@given(pods)
def test_no_attempt_runs_twice_or_together_with_another_attempt_of_its_container(simulated: SimulatedPod) -> None:
    simulated.run()
    names = {name for name, _, _, _ in simulated.runs}
    for name in names:
        own = [(attempt, started, finished) for each, attempt, started, finished in simulated.runs if each == name]
        assert len({attempt for attempt, _, _ in own}) == len(own)
        for (_, _, finished), (_, started, _) in itertools.pairwise(own):
            assert finished <= started


@thorough
@given(pods)
def test_a_terminating_pod_is_never_started(simulated: SimulatedPod) -> None:
    simulated.run()
    if "deletionTimestamp" in simulated.object["metadata"]:
        grace = simulated.object["metadata"]["deletionGracePeriodSeconds"]
        asked = dt.datetime.fromisoformat(simulated.object["metadata"]["deletionTimestamp"]) - dt.timedelta(seconds=grace)
        late = [step for moment, step in simulated.executed if moment >= asked + dt.timedelta(seconds=1)]
        assert not any(isinstance(step, steps.StartContainer | steps.CreateSandbox | steps.MountVolumes) for step in late)


@thorough
@given(pods)
def test_containers_start_after_the_init_containers(simulated: SimulatedPod) -> None:
    simulated.run()
    parsed = Pod(simulated.object)
    started = [
        moment
        for moment, step in simulated.executed
        if isinstance(step, steps.StartContainer) and step.container.startswith("main")
    ]
    for container in parsed.init_containers if started else ():
        if container.type is ContainerType.INIT:
            assert any(name == container.name and finished <= started[0] for name, _, _, finished in simulated.runs)
        else:
            assert any(
                name == container.name and moment <= started[0].timestamp() - START.timestamp() + 0.1
                for moment, name, _ in simulated.starts()
            )


@thorough
@given(pods)
def test_a_finished_pod_is_only_cleaned_up(simulated: SimulatedPod) -> None:
    simulated.run()
    finished = {**simulated.object, "metadata": {**simulated.object["metadata"], "deletionTimestamp": None}}
    for seconds_later in (0, 10, 1000):
        result = next_steps(finished, simulated.observed, simulated.now + dt.timedelta(seconds=seconds_later))
        assert all(isinstance(step, CLEANUP) for step in result.steps)
        assert result.events == ()
        assert result.status["phase"] == simulated.status["phase"]


class FrequentlySynced(SimulatedPod):
    """Syncs more often: before `sync_at` the same observed state must give the same result."""

    def _sync(self) -> dt.datetime | None:
        moment = super()._sync()
        if self.removed:
            return moment
        result = next_steps(self.object, self.observed, self.now)
        until = result.sync_at or self.now + dt.timedelta(days=1)
        for share in (0.3, 0.999):
            between = next_steps(self.object, self.observed, self.now + (until - self.now) * share)
            assert (between.steps, between.status, between.events) == (result.steps, result.status, result.events)
        return moment


@thorough
@given(pods)
def test_time_changes_nothing_before_the_next_sync(simulated: SimulatedPod) -> None:
    simulated.__class__ = FrequentlySynced
    simulated.run()


@thorough
@given(pods)
def test_the_reported_exit_codes_are_the_real_ones(simulated: SimulatedPod) -> None:
    simulated.run()
    lost = isinstance(simulated.observed.sandbox, SandboxGone) and simulated.observed.sandbox.reason != STOPPED
    for status in simulated.status["containerStatuses"]:
        last, end = simulated.observed.container(status["name"]).state, status["state"].get("terminated")
        if isinstance(last, Exited) and last.status is not None and not lost:
            assert end is not None
            assert end["exitCode"] == last.status.code
