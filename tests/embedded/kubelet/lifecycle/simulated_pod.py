"""A simulated pod: executes steps in virtual time, so that a test sees a whole pod lifecycle."""

from __future__ import annotations

import dataclasses
import datetime as dt
import heapq
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.embedded.kubelet.lifecycle.pods import START, deleting

from traincrew.embedded.kubelet.lifecycle import next_steps, steps, transitions
from traincrew.embedded.kubelet.lifecycle.observed import (
    LOST,
    STOPPED,
    ExitStatus,
    ObservedContainer,
    ObservedPod,
    ResolvedImage,
    Running,
    SandboxGone,
    SandboxReady,
    VolumesMounted,
)
from traincrew.embedded.kubelet.lifecycle.pod import Pod


@dataclasses.dataclass(frozen=True)
class Behavior:
    """The behavior of one attempt of a container."""

    exits_after: float | None = None
    """Seconds. None: the container runs until it is stopped."""
    exit_code: int = 0
    exits_after_term: float | None = 0.5
    """Seconds from SIGTERM to the exit. None: the container ignores SIGTERM."""
    oom_killed: bool = False
    start_failure: str = ""
    """The reason why the container cannot be started. Empty: it can."""
    probe_passes: Callable[[str, float], bool] = lambda kind, age: True
    """Whether a probe of that kind passes so many seconds after the start."""


Change = Callable[[ObservedPod], ObservedPod]


def assert_valid_transition(pod: dict[str, Any], status: dict[str, Any]) -> None:
    """A rule of the API server: a container that is not restarted stays terminated."""
    policy = pod["spec"]["restartPolicy"]
    sidecars = {container.name for container in Pod(pod).sidecars}
    for field in ("initContainerStatuses", "containerStatuses") if policy != "Always" else ():
        now = {each["name"]: each["state"] for each in status.get(field, ())}
        for before in pod["status"].get(field, ()):
            terminated = before["state"].get("terminated")
            if terminated is None or before["name"] in sidecars or (policy == "OnFailure" and terminated["exitCode"] != 0):
                continue
            assert "terminated" in now[before["name"]], f"{before['name']} may not be transitioned to non-terminated state"


class SimulatedPod:
    def __init__(self, pod: dict[str, Any], runs: Mapping[str, Sequence[Behavior]] | None = None) -> None:
        self.object, self.behaviors = pod, dict(runs or {})
        self.now = START
        self.observed = ObservedPod(first_seen=START, host_ips=("192.0.2.1",))
        self.removed = False
        self.executed: list[tuple[dt.datetime, steps.Step]] = []
        self.statuses: list[dict[str, Any]] = []
        self.events: list[tuple[dt.datetime, Any]] = []
        self.runs: list[tuple[str, int, dt.datetime, dt.datetime]] = []
        self.durations: dict[type, float] = {}
        self.mount_failures = 0
        self._scheduled: list[tuple[dt.datetime, int, Change]] = []
        self._numbers = itertools.count()

    def __repr__(self) -> str:
        return f"SimulatedPod({self.object['spec']}, {self.behaviors}, {self._scheduled}, {self.executed})"

    # Scheduled changes

    def at(self, moment: dt.datetime, change: Change) -> None:
        heapq.heappush(self._scheduled, (moment, next(self._numbers), change))

    def after(self, seconds: float, change: Change) -> None:
        self.at(self.now + dt.timedelta(seconds=seconds), change)

    def delete(self, after: float, grace: int = 30) -> None:
        def change(observed: ObservedPod) -> ObservedPod:
            self.object = deleting(self.object, (self.now - START).total_seconds(), grace)
            return observed

        self.after(after, change)

    def lose_sandbox(self, after: float) -> None:
        self.after(after, lambda observed: dataclasses.replace(observed, sandbox=SandboxGone(LOST, self.now)))

    def restart_kubelet(self, after: float) -> None:
        """A new kubelet adopts the pod: marks, probe results and back-offs are lost, processes and exit records are not."""

        def change(observed: ObservedPod) -> ObservedPod:
            kept = {
                name: ObservedContainer(known.state, known.history, image=known.image)
                for name, known in observed.containers.items()
            }
            return dataclasses.replace(
                observed, containers=kept, adopted=True, stopping_sandbox_since=None, recorded_events=frozenset(), last_status={}
            )

        self.after(after, change)

    def run(self, seconds: float = 100_000, max_syncs: int = 5000) -> SimulatedPod:
        """Until nothing is scheduled or the time is over."""
        end = self.now + dt.timedelta(seconds=seconds)
        for _ in range(max_syncs):
            moment = self._sync()
            if self.removed or moment is None or moment > end:
                return self
            self.now = moment
            while self._scheduled and self._scheduled[0][0] <= self.now:
                self.observed = heapq.heappop(self._scheduled)[2](self.observed)
        raise AssertionError(f"the pod is not idle after {max_syncs} syncs: {self.executed[-5:]}")

    def _sync(self) -> dt.datetime | None:
        """Executes the steps that are due. Returns the time of the next change."""
        for _ in range(200):
            result = next_steps(self.object, self.observed, self.now)
            assert result == next_steps(self.object, self.observed, self.now), "the same observed state gives the same steps"
            self.observed = dataclasses.replace(self.observed, recorded_events=result.event_keys, last_status=result.status)
            self.events.extend((self.now, event) for event in result.events)
            if result.status != self.object["status"]:
                assert_valid_transition(self.object, result.status)
                self.statuses.append(result.status)
                self.object = {**self.object, "status": result.status}
            for step in result.steps:
                self.executed.append((self.now, step))
                self.observed = transitions.step_started(self.observed, step, self.now)
                self._execute(step)
            if not result.steps:
                scheduled = self._scheduled[0][0] if self._scheduled else None
                return min((moment for moment in (scheduled, result.sync_at) if moment is not None), default=None)
            if self.removed:
                return None
        raise AssertionError(f"endless steps: {self.executed[-3:]}")

    # Execution of steps

    def _execute(self, step: steps.Step) -> None:
        delay = self.durations.get(type(step), 0.01)
        match step:
            case steps.MountVolumes():
                self.after(delay, self._mounted)
            case steps.CreateSandbox():
                self.after(delay, lambda observed: dataclasses.replace(observed, sandbox=SandboxReady("10.244.0.5", self.now)))
            case steps.StopSandbox():
                self.after(
                    delay,
                    lambda observed: dataclasses.replace(
                        observed, sandbox=SandboxGone(STOPPED, self.now), stopping_sandbox_since=None
                    ),
                )
            case steps.ResolveImage():
                self.observed = transitions.image_resolved(self.observed, step.container, ResolvedImage("", "sha256:1"))
            case steps.ReadLogTail():
                self.observed = transitions.log_tail_read(self.observed, step.container, "last words\n")
            case steps.RemovePod():
                self.removed = True
            case _:
                self._execute_on_container(step, delay)

    def _mounted(self, observed: ObservedPod) -> ObservedPod:
        if self.mount_failures:
            self.mount_failures -= 1
            return transitions.mount_failed(observed, "FailedMount", 'configmap "x" not found', self.now)
        return dataclasses.replace(observed, volumes=VolumesMounted())

    def _execute_on_container(self, step: Any, delay: float) -> None:
        match step:
            case steps.StartContainer():
                self.after(delay, lambda observed: self._started(observed, step))
            case steps.TerminateContainer():
                exits_after = self.behavior(step.container, step.attempt).exits_after_term
                if exits_after is not None:
                    self.after(
                        exits_after, lambda observed: self._exit(observed, step.container, step.attempt, ExitStatus(143, 15))
                    )
            case steps.KillContainer():
                self.after(delay, lambda observed: self._exit(observed, step.container, step.attempt, ExitStatus(137, 9)))
            case steps.RunHook():
                self.after(delay, lambda observed: transitions.hook_finished(observed, step.container, step.hook))
            case steps.RunProbe():
                self.after(delay, lambda observed: self._probed(observed, step))

    def behavior(self, name: str, attempt: int) -> Behavior:
        runs = self.behaviors.get(name) or [Behavior()]
        return runs[min(attempt, len(runs) - 1)]

    def _started(self, observed: ObservedPod, step: steps.StartContainer) -> ObservedPod:
        run, name = self.behavior(step.container, step.attempt), step.container
        if not isinstance(observed.sandbox, SandboxReady):
            return observed
        if run.start_failure:
            return transitions.start_failed(observed, name, run.start_failure, "executable not found", self.now)
        if run.exits_after is not None:
            self.after(
                run.exits_after,
                lambda later: self._exit(later, name, step.attempt, ExitStatus(run.exit_code, oom_killed=run.oom_killed)),
            )
        return transitions.container_started(observed, name, self.now)

    def _exit(self, observed: ObservedPod, name: str, attempt: int, status: ExitStatus) -> ObservedPod:
        last = observed.container(name).state
        if not isinstance(last, Running) or last.attempt != attempt or not isinstance(observed.sandbox, SandboxReady):
            return observed
        self.runs.append((name, attempt, last.started, self.now))
        return transitions.container_exited(observed, name, dataclasses.replace(status, started=last.started, finished=self.now))

    def _probed(self, observed: ObservedPod, step: steps.RunProbe) -> ObservedPod:
        last = observed.container(step.container).state
        container = next(container for container in Pod(self.object).all_containers if container.name == step.container)
        age = (self.now - last.started).total_seconds() if isinstance(last, Running) else 0.0
        passed = self.behavior(step.container, step.attempt).probe_passes(step.kind, age)
        return transitions.probe_finished(
            observed, step, container.probe(step.kind) or {}, passed, "" if passed else "probe failed"
        )

    # Results

    def starts(self, name: str | None = None) -> list[tuple[float, str, int]]:
        return [
            (round((moment - START).total_seconds(), 1), step.container, step.attempt)
            for moment, step in self.executed
            if isinstance(step, steps.StartContainer) and name in (None, step.container)
        ]

    def executed_steps(self, kind: type) -> list[tuple[float, Any]]:
        return [(round((moment - START).total_seconds(), 1), step) for moment, step in self.executed if isinstance(step, kind)]

    def messages(self, reason: str) -> list[str]:
        return [event.message for _, event in self.events if event.reason == reason]

    @property
    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = self.object["status"]
        return found

    def phases(self) -> list[str]:
        return [phase for phase, _ in itertools.groupby(status["phase"] for status in self.statuses)]
