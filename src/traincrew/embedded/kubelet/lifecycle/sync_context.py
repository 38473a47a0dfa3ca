"""The input of one sync of a pod, and the collector of its steps."""

from __future__ import annotations

import dataclasses
import datetime as dt

from traincrew.apimachinery import times
from traincrew.embedded.kubelet.lifecycle.observed import ObservedContainer, ObservedPod
from traincrew.embedded.kubelet.lifecycle.pod import ContainerSpec, Pod
from traincrew.embedded.kubelet.lifecycle.steps import Step
from traincrew.embedded.kubelet.lifecycle.termination import Termination


@dataclasses.dataclass(frozen=True)
class SyncContext:
    """One pod at one moment."""

    pod: Pod
    observed: ObservedPod
    termination: Termination
    now: dt.datetime

    def current(self, container: ContainerSpec) -> ObservedContainer:
        return self.observed.container(container.name)


class PendingSteps:
    """Collects the steps that are due, and the time of the next sync."""

    def __init__(self, now: dt.datetime) -> None:
        self._now = now
        self.steps: list[Step] = []
        self.next_sync: dt.datetime | None = None

    def add(self, step: Step) -> None:
        self.steps.append(step)

    def add_at(self, moment: dt.datetime, step: Step) -> None:
        if moment <= self._now:
            self.add(step)
        else:
            self.sync_at(moment)

    def sync_at(self, moment: dt.datetime | None) -> None:
        """A time in the past is ignored."""
        if moment is not None and moment > self._now:
            self.next_sync = times.earliest(self.next_sync, moment)
