"""One pod at one moment, and what is put down to be done about it."""

from __future__ import annotations

import dataclasses
import datetime as dt

from traincrew.apimachinery import times
from traincrew.embedded.kubelet.lifecycle.facts import ContainerFacts, Facts
from traincrew.embedded.kubelet.lifecycle.pod import Part, Subject
from traincrew.embedded.kubelet.lifecycle.steps import Step
from traincrew.embedded.kubelet.lifecycle.termination import Outlook


@dataclasses.dataclass(frozen=True)
class Case:
    subject: Subject
    facts: Facts
    outlook: Outlook
    now: dt.datetime

    def of(self, part: Part) -> ContainerFacts:
        return self.facts.of(part.name)


class Agenda:
    def __init__(self, now: dt.datetime) -> None:
        self._now = now
        self.steps: list[Step] = []
        self.wake: dt.datetime | None = None

    def do(self, step: Step) -> None:
        self.steps.append(step)

    def when(self, moment: dt.datetime, step: Step) -> None:
        if moment <= self._now:
            self.do(step)
        else:
            self.look(moment)

    def look(self, moment: dt.datetime | None) -> None:
        """Look again then, unless that is past."""
        if moment is not None and moment > self._now:
            self.wake = times.earliest(self.wake, moment)
