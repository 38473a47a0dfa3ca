"""What holds for every pod, whatever its processes do and whenever its daemon dies."""

from __future__ import annotations

import datetime as dt
import itertools
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.embedded.kubelet.lifecycle.pods import START, pod, sidecar
from tests.embedded.kubelet.lifecycle.worlds import Run, World

from traincrew.embedded.kubelet.lifecycle import next_steps, steps
from traincrew.embedded.kubelet.lifecycle.facts import ENDED, Ended, Gone, Ready
from traincrew.embedded.kubelet.lifecycle.pod import Role, Subject

HOOK = {"exec": {"command": ["hook"]}}
CLEARING = (steps.EndSandbox, steps.Forget, steps.Stop, steps.Kill, steps.ReadLogTail, steps.RunHook, steps.Probe)


def well(kind: str, age: float) -> bool:
    return True


def ill(kind: str, age: float) -> bool:
    return False


seconds = st.floats(0.1, 120, allow_nan=False).map(lambda value: round(value, 2))
bad_runs = st.builds(
    Run,
    lasts=seconds,
    code=st.sampled_from([0, 1, 137]),
    heeds_term=st.sampled_from([0.2, 5.0, None]),
    oom=st.booleans(),
    refused=st.sampled_from(["", "", "", "StartError", "CreateContainerError"]),
    healthy=st.sampled_from([well, ill]),
)
last_runs = st.builds(Run, lasts=seconds, heeds_term=st.sampled_from([0.2, None]))
behaviours = st.tuples(st.lists(bad_runs.filter(lambda run: run.refused != "CreateContainerError"), max_size=3), last_runs).map(
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
def worlds(draw: st.DrawFn) -> World:
    mains = [draw(containers(f"main{number}", True)) for number in range(draw(st.integers(1, 2)))]
    inits = [
        sidecar(**draw(containers(f"side{number}", True))) if draw(st.booleans()) else draw(containers(f"init{number}", False))
        for number in range(draw(st.integers(0, 3)))
    ]
    policy = draw(st.sampled_from(["Always", "OnFailure", "Never"]))
    more: dict[str, Any] = {"activeDeadlineSeconds": draw(st.integers(1, 300))} if draw(st.booleans()) else {}
    world = World(pod(*mains, inits=inits, restartPolicy=policy, **more))
    world.runs = {each["name"]: draw(behaviours) for each in (*mains, *inits)}
    for name in [each["name"] for each in inits if each.get("restartPolicy") == "Always"]:
        world.runs[name] = [*world.runs[name][:-1], Run()]
    world.unmountable = draw(st.integers(0, 2))
    if policy == "Always" or draw(st.booleans()):
        world.delete(draw(seconds), draw(st.integers(0, 60)))
    if draw(st.integers(0, 4)) == 0:
        world.lose(draw(seconds))
    for _ in range(draw(st.integers(0, 3))):
        world.forget_marks(draw(seconds))
    return world


lives = worlds()
thorough = settings(max_examples=60, deadline=None)


@thorough
@given(lives)
def test_every_pod_comes_to_an_end_when_its_processes_do(world: World) -> None:
    world.live()
    assert world.status["phase"] in ("Succeeded", "Failed")
    assert not isinstance(world.facts.sandbox, Ready)
    assert world.forgotten == ("deletionTimestamp" in world.pod["metadata"])


@thorough
@given(lives)
def test_a_finished_phase_is_the_last_one_and_told_when_nothing_runs(world: World) -> None:
    world.live()
    phases = [status["phase"] for status in world.statuses]
    finished = [index for index, phase in enumerate(phases) if phase in ("Succeeded", "Failed")]
    assert len({phases[index] for index in finished}) == 1
    assert finished == list(range(finished[0], len(phases)))
    for status in world.statuses[finished[0] :]:
        statuses = (*status.get("initContainerStatuses", ()), *status["containerStatuses"])
        assert not any("running" in each["state"] for each in statuses)


@thorough
@given(lives)
def test_restart_counts_never_fall(world: World) -> None:
    world.live()
    for field in ("initContainerStatuses", "containerStatuses"):
        counted = [[each["restartCount"] for each in status.get(field, ())] for status in world.statuses]
        for earlier, later in itertools.pairwise(counted):
            assert all(one <= other for one, other in zip(earlier, later, strict=True))


@thorough
@given(lives)
def test_no_attempt_is_made_twice_nor_beside_another_of_its_container(world: World) -> None:
    world.live()
    names = {name for name, _, _, _ in world.ran}
    for name in names:
        mine = [(attempt, began, ended) for each, attempt, began, ended in world.ran if each == name]
        assert len({attempt for attempt, _, _ in mine}) == len(mine)
        for (_, _, ended), (_, began, _) in itertools.pairwise(mine):
            assert ended <= began


@thorough
@given(lives)
def test_a_pod_that_is_being_deleted_is_never_started(world: World) -> None:
    world.live()
    if "deletionTimestamp" in world.pod["metadata"]:
        grace = world.pod["metadata"]["deletionGracePeriodSeconds"]
        asked = dt.datetime.fromisoformat(world.pod["metadata"]["deletionTimestamp"]) - dt.timedelta(seconds=grace)
        late = [step for moment, step in world.carried if moment >= asked + dt.timedelta(seconds=1)]
        assert not any(isinstance(step, steps.Start | steps.MakeSandbox | steps.MountVolumes) for step in late)


@thorough
@given(lives)
def test_main_containers_start_when_initialization_is_done(world: World) -> None:
    world.live()
    subject = Subject(world.pod)
    began = [moment for moment, step in world.carried if isinstance(step, steps.Start) and step.container.startswith("main")]
    for part in subject.inits if began else ():
        if part.role is Role.INIT:
            assert any(name == part.name and ended <= began[0] for name, _, _, ended in world.ran)
        else:
            assert any(
                name == part.name and moment <= began[0].timestamp() - START.timestamp() + 0.1
                for moment, name, _ in world.starts()
            )


@thorough
@given(lives)
def test_of_a_finished_pod_only_the_remains_are_cleared_away(world: World) -> None:
    world.live()
    finished = {**world.pod, "metadata": {**world.pod["metadata"], "deletionTimestamp": None}}
    for seconds_later in (0, 10, 1000):
        answer = next_steps(finished, world.facts, world.now + dt.timedelta(seconds=seconds_later))
        assert all(isinstance(step, CLEARING) for step in answer.steps)
        assert answer.events == ()
        assert answer.status["phase"] == world.status["phase"]


class Watched(World):
    """Looks in between: before look_again the same facts must say the same."""

    def _turn(self) -> dt.datetime | None:
        moment = super()._turn()
        if self.forgotten:
            return moment
        answer = next_steps(self.pod, self.facts, self.now)
        until = answer.look_again or self.now + dt.timedelta(days=1)
        for share in (0.3, 0.999):
            between = next_steps(self.pod, self.facts, self.now + (until - self.now) * share)
            assert (between.steps, between.status, between.events) == (answer.steps, answer.status, answer.events)
        return moment


@thorough
@given(lives)
def test_before_it_is_time_to_look_again_nothing_changes(world: World) -> None:
    world.__class__ = Watched
    world.live()


@thorough
@given(lives)
def test_the_exit_codes_told_are_the_real_ones(world: World) -> None:
    world.live()
    lost = isinstance(world.facts.sandbox, Gone) and world.facts.sandbox.reason != ENDED
    for status in world.status["containerStatuses"]:
        last, end = world.facts.of(status["name"]).last, status["state"].get("terminated")
        if isinstance(last, Ended) and last.exit is not None and not lost:
            assert end is not None
            assert end["exitCode"] == last.exit.code
