"""Who should be there and who is: the replicas of a job matched with its pods."""

from __future__ import annotations

import dataclasses
import functools

from traincrew.kinds.kind import JobKind, Pods, Replica
from traincrew.model import jobs, objects
from traincrew.model.observed import Observed


@dataclasses.dataclass(frozen=True)
class Slot:
    """A place in the crew and the pod that fills it."""

    replica: Replica
    pod: objects.Pod | None

    @property
    def alive(self) -> bool:
        return self.pod is not None and not self.pod.terminating and self.pod.status.phase != "Failed"

    @property
    def settled(self) -> bool:
        """Running or done."""
        return self.pod is not None and (self.pod.active or self.pod.status.phase == "Succeeded")


@dataclasses.dataclass(frozen=True)
class Crew:
    kind: JobKind
    job: jobs.Job
    observed: Observed

    @functools.cached_property
    def slots(self) -> tuple[Slot, ...]:
        """One for every replica whose pod we make ourselves, by role and index."""
        by_name = {pod.name: pod for pod in self.own_pods}
        replicas = (
            Replica(self.job, role, index, self.observed.planning)
            for role in self.kind.roles
            if not role.delegated
            for index in range(max(self.job.count(role.name), 0))
        )
        return tuple(Slot(replica, by_name.get(replica.name)) for replica in replicas)

    @functools.cached_property
    def own_pods(self) -> tuple[objects.Pod, ...]:
        uid = self.job.metadata.uid
        return tuple(pod for pod in _ordered(self.observed.pods) if _controller_uid(pod) == uid)

    @functools.cached_property
    def delegated_pods(self) -> tuple[objects.Pod, ...]:
        uid = self.job.metadata.uid
        return tuple(pod for pod in _ordered(self.observed.pods) if _controller_uid(pod) != uid)

    @functools.cached_property
    def strays(self) -> tuple[objects.Pod, ...]:
        """Pods of ours that no replica stands for any more: the job was scaled down or lost a role."""
        wanted = {slot.replica.name for slot in self.slots}
        return tuple(pod for pod in self.own_pods if pod.name not in wanted)

    @functools.cached_property
    def by_role(self) -> Pods:
        found: dict[str, list[objects.Pod]] = {name: [] for name in self.job.roles}
        for slot in self.slots:
            if slot.pod is not None:
                found[slot.replica.role.name].append(slot.pod)
        for role in self.kind.roles:
            if role.delegated and role.name in found:
                found[role.name].extend(self.delegated_pods)
        return found


def _ordered(pods: tuple[objects.Pod, ...]) -> list[objects.Pod]:
    """Whatever order the world is seen in, decisions must not depend on it."""
    return sorted(pods, key=lambda pod: (pod.name, pod.metadata.uid))


def _controller_uid(pod: objects.Pod) -> str:
    owner = pod.metadata.controller
    return owner.uid if owner else ""
