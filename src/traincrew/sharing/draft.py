"""The share of one job while the decision is made."""

from __future__ import annotations

import dataclasses

from traincrew.model.meta import Time
from traincrew.model.shares import Leave, Share
from traincrew.scheduling.pod_info import PodInfo
from traincrew.sharing import budget
from traincrew.sharing.budget import Brake
from traincrew.sharing.scene import ElasticJob, JobRecord, Member, Rules


class Draft:
    def __init__(self, job: ElasticJob, record: JobRecord, anchored: frozenset[int], part: float = 1.0) -> None:
        """part: of the cluster that a worker uses, by its dominant resource."""
        self.job, self.record, self.anchored = job, record, anchored
        self.step = part / job.weight
        self.members: dict[int, Member] = {each.index: each for each in job.members}
        for index in (*record.asked, *record.granted):
            self.members.setdefault(index, Member(index, surplus=index in record.granted))
        departing = {each.index for each in job.departing}
        self.leaving: dict[int, Leave] = {index: leave for index, leave in record.leaving.items() if index in departing}
        self.hints: dict[int, str] = {}
        self.evicted: dict[str, str] = {}
        self.owed = max(job.wanted - record.wanted, 0)
        """Workers that are asked for whether or not there is room: they may wait and wake an autoscaler."""
        self.brake: Brake | None = None

    @property
    def level(self) -> float:
        """The part of the cluster that the job has above its minimum, relative to its weight."""
        return (len(self.members) - self.job.least) * self.step

    @property
    def in_order(self) -> list[Member]:
        """The members that may leave, the first to leave first."""
        return sorted((each for each in self.members.values() if each.index not in self.anchored), key=lambda each: each.order)

    def leave(self, index: int, why: Leave, rules: Rules, now: Time) -> None:
        del self.members[index]
        self.leaving[index] = why
        self.record = budget.postponed(self.record, rules, now, why)

    def add(self, placed: PodInfo | None, now: Time, *, surplus: bool) -> int:
        """A new worker, with the lowest index that no pod has."""
        used = {*self.members, *(each.index for each in self.job.departing), *(each.index for each in self.job.members)}
        index = next(number for number in range(len(used) + 1) if number not in used)
        self.members[index] = Member(index, surplus=surplus)
        if placed is not None and surplus:
            self.hints[index] = placed.spec.node_name
        times = {**(self.record.granted if surplus else self.record.asked), index: now}
        self.record = dataclasses.replace(self.record, **{"granted" if surplus else "asked": times})  # type: ignore[arg-type]
        return index

    @property
    def total(self) -> int:
        """Pods of the job, with those that leave."""
        return len(self.members) + len(self.leaving.keys() | {each.index for each in self.job.departing})

    def share(self) -> Share:
        members = {each.index: each.pod.uid if each.pod is not None else "" for each in self.members.values()}
        reason, message = self._why()
        surplus = frozenset(each.index for each in self.members.values() if each.surplus)
        return Share(
            members=dict(sorted(members.items())),
            surplus=surplus,
            hints=self.hints,
            leaving=self.leaving,
            evicted=self.evicted,
            reason=reason,
            message=message,
        )

    def _why(self) -> tuple[str, str]:
        if len(self.members) >= self.job.most:
            return "AtMaximum", f"the job has its largest number of workers, {self.job.most}"
        if self.brake is None and not self.job.grows and len(self.members) >= self.job.wanted:
            return "AtMaximum", f"the job has the {self.job.wanted} workers that it asks for, and takes no idle capacity"
        if self.brake is None:
            return "", ""
        return self.brake.reason, f"{len(self.members)} of {self.job.most} workers: {self.brake.message}"
