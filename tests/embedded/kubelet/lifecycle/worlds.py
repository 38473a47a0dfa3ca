"""A model of the processes of one pod: it carries steps out on a clock of its own, so that whole lives can be watched."""

from __future__ import annotations

import dataclasses
import datetime as dt
import heapq
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.embedded.kubelet.lifecycle.pods import START, deleting

from traincrew.embedded.kubelet.lifecycle import fact_changes, next_steps, steps
from traincrew.embedded.kubelet.lifecycle.facts import (
    ENDED,
    LOST,
    ContainerFacts,
    Environment,
    Exit,
    Facts,
    Gone,
    Mounted,
    Ready,
    Running,
)
from traincrew.embedded.kubelet.lifecycle.pod import Subject


@dataclasses.dataclass(frozen=True)
class Run:
    """How one attempt behaves."""

    lasts: float | None = None
    """Seconds; None: until it is told to end."""
    code: int = 0
    heeds_term: float | None = 0.5
    """Seconds from TERM to its end; None: it ignores TERM."""
    oom: bool = False
    refused: str = ""
    """It cannot even be started, for this reason."""
    healthy: Callable[[str, float], bool] = lambda kind, age: True
    """Whether a probe of that kind passes at that age."""


Change = Callable[[Facts], Facts]


def check_transition(pod: dict[str, Any], status: dict[str, Any]) -> None:
    """An API server's rule: a container that ended for good stays so."""
    policy = pod["spec"]["restartPolicy"]
    kept = {part.name for part in Subject(pod).sidecars}
    for field in ("initContainerStatuses", "containerStatuses") if policy != "Always" else ():
        now = {each["name"]: each["state"] for each in status.get(field, ())}
        for before in pod["status"].get(field, ()):
            end = before["state"].get("terminated")
            if end is None or before["name"] in kept or (policy == "OnFailure" and end["exitCode"] != 0):
                continue
            assert "terminated" in now[before["name"]], f"{before['name']} may not be transitioned to non-terminated state"


class World:
    def __init__(self, pod: dict[str, Any], runs: Mapping[str, Sequence[Run]] | None = None) -> None:
        self.pod, self.runs = pod, dict(runs or {})
        self.now = START
        self.facts = Facts(seen=START, host_ips=("192.0.2.1",))
        self.forgotten = False
        self.carried: list[tuple[dt.datetime, steps.Step]] = []
        self.statuses: list[dict[str, Any]] = []
        self.events: list[tuple[dt.datetime, Any]] = []
        self.ran: list[tuple[str, int, dt.datetime, dt.datetime]] = []
        self.takes: dict[type, float] = {}
        self.unmountable = 0
        self._coming: list[tuple[dt.datetime, int, Change]] = []
        self._numbers = itertools.count()

    def __repr__(self) -> str:
        return f"World({self.pod['spec']}, {self.runs}, {self._coming}, {self.carried})"

    # what happens by itself

    def at(self, moment: dt.datetime, change: Change) -> None:
        heapq.heappush(self._coming, (moment, next(self._numbers), change))

    def after(self, seconds: float, change: Change) -> None:
        self.at(self.now + dt.timedelta(seconds=seconds), change)

    def delete(self, after: float, grace: int = 30) -> None:
        def change(facts: Facts) -> Facts:
            self.pod = deleting(self.pod, (self.now - START).total_seconds(), grace)
            return facts

        self.after(after, change)

    def lose(self, after: float) -> None:
        self.after(after, lambda facts: dataclasses.replace(facts, sandbox=Gone(LOST, self.now)))

    def forget_marks(self, after: float) -> None:
        """The daemon dies and another one adopts: marks, probe results and back-offs are gone, processes and records are not."""

        def change(facts: Facts) -> Facts:
            kept = {
                name: ContainerFacts(known.last, known.history, environment=known.environment)
                for name, known in facts.containers.items()
            }
            return dataclasses.replace(facts, containers=kept, adopted=True, ending=None, told=frozenset())

        self.after(after, change)

    def live(self, seconds: float = 100_000, most: int = 5000) -> World:
        """Until nothing more comes, or the time is over."""
        end = self.now + dt.timedelta(seconds=seconds)
        for _ in range(most):
            moment = self._turn()
            if self.forgotten or moment is None or moment > end:
                return self
            self.now = moment
            while self._coming and self._coming[0][0] <= self.now:
                self.facts = heapq.heappop(self._coming)[2](self.facts)
        raise AssertionError(f"no rest after {most} turns: {self.carried[-5:]}")

    def _turn(self) -> dt.datetime | None:
        """Carries out what is due; when something happens next."""
        for _ in range(200):
            answer = next_steps(self.pod, self.facts, self.now)
            assert answer == next_steps(self.pod, self.facts, self.now), "the same facts give the same steps"
            self.facts = dataclasses.replace(self.facts, told=answer.told)
            self.events.extend((self.now, event) for event in answer.events)
            if answer.status != self.pod["status"]:
                check_transition(self.pod, answer.status)
                self.statuses.append(answer.status)
                self.pod = {**self.pod, "status": answer.status}
            for step in answer.steps:
                self.carried.append((self.now, step))
                self.facts = fact_changes.begin(self.facts, step, self.now)
                self._carry_out(step)
            if not answer.steps:
                coming = self._coming[0][0] if self._coming else None
                return min((moment for moment in (coming, answer.look_again) if moment is not None), default=None)
            if self.forgotten:
                return None
        raise AssertionError(f"steps without end: {self.carried[-3:]}")

    # how steps are carried out

    def _carry_out(self, step: steps.Step) -> None:
        delay = self.takes.get(type(step), 0.01)
        match step:
            case steps.MountVolumes():
                self.after(delay, self._mounted)
            case steps.MakeSandbox():
                self.after(delay, lambda facts: dataclasses.replace(facts, sandbox=Ready("10.244.0.5", self.now)))
            case steps.EndSandbox():
                self.after(delay, lambda facts: dataclasses.replace(facts, sandbox=Gone(ENDED, self.now), ending=None))
            case steps.Resolve():
                self.facts = fact_changes.resolved(self.facts, step.container, Environment("", "sha256:1"))
            case steps.ReadLogTail():
                self.facts = fact_changes.log_tail(self.facts, step.container, "last words\n")
            case steps.Forget():
                self.forgotten = True
            case _:
                self._with_container(step, delay)

    def _mounted(self, facts: Facts) -> Facts:
        if self.unmountable:
            self.unmountable -= 1
            return fact_changes.not_mounted(facts, "FailedMount", 'configmap "x" not found', self.now)
        return dataclasses.replace(facts, volumes=Mounted())

    def _with_container(self, step: Any, delay: float) -> None:
        match step:
            case steps.Start():
                self.after(delay, lambda facts: self._started(facts, step))
            case steps.Stop():
                heeds = self.run_of(step.container, step.attempt).heeds_term
                if heeds is not None:
                    self.after(heeds, lambda facts: self._end(facts, step.container, step.attempt, Exit(143, 15)))
            case steps.Kill():
                self.after(delay, lambda facts: self._end(facts, step.container, step.attempt, Exit(137, 9)))
            case steps.RunHook():
                self.after(delay, lambda facts: fact_changes.hooked(facts, step.container, step.which))
            case steps.Probe():
                self.after(delay, lambda facts: self._probed(facts, step))

    def run_of(self, name: str, attempt: int) -> Run:
        runs = self.runs.get(name) or [Run()]
        return runs[min(attempt, len(runs) - 1)]

    def _started(self, facts: Facts, step: steps.Start) -> Facts:
        run, name = self.run_of(step.container, step.attempt), step.container
        if not isinstance(facts.sandbox, Ready):
            return facts
        if run.refused:
            return fact_changes.refused(facts, name, run.refused, "no such thing", self.now)
        if run.lasts is not None:
            self.after(run.lasts, lambda later: self._end(later, name, step.attempt, Exit(run.code, oom=run.oom)))
        return fact_changes.started(facts, name, self.now)

    def _end(self, facts: Facts, name: str, attempt: int, how: Exit) -> Facts:
        last = facts.of(name).last
        if not isinstance(last, Running) or last.attempt != attempt or not isinstance(facts.sandbox, Ready):
            return facts
        self.ran.append((name, attempt, last.started, self.now))
        return fact_changes.ended(facts, name, dataclasses.replace(how, started=last.started, finished=self.now))

    def _probed(self, facts: Facts, step: steps.Probe) -> Facts:
        last = facts.of(step.container).last
        part = next(part for part in Subject(self.pod).parts if part.name == step.container)
        age = (self.now - last.started).total_seconds() if isinstance(last, Running) else 0.0
        passed = self.run_of(step.container, step.attempt).healthy(step.kind, age)
        return fact_changes.probed(facts, step, part.probe(step.kind) or {}, passed, "" if passed else "unwell")

    # what was seen

    def starts(self, name: str | None = None) -> list[tuple[float, str, int]]:
        return [
            (round((moment - START).total_seconds(), 1), step.container, step.attempt)
            for moment, step in self.carried
            if isinstance(step, steps.Start) and name in (None, step.container)
        ]

    def done(self, kind: type) -> list[tuple[float, Any]]:
        return [(round((moment - START).total_seconds(), 1), step) for moment, step in self.carried if isinstance(step, kind)]

    def told(self, reason: str) -> list[str]:
        return [event.message for _, event in self.events if event.reason == reason]

    @property
    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = self.pod["status"]
        return found

    def phases(self) -> list[str]:
        return [phase for phase, _ in itertools.groupby(status["phase"] for status in self.statuses)]
