"""The replicas of a job, matched with its pods."""

from __future__ import annotations

import dataclasses
import functools

from traincrew.apimachinery import completion_indexes
from traincrew.kinds.kind import JobKind
from traincrew.kinds.replica import PodsByRole, Replica, Role
from traincrew.model import jobs, meta, objects
from traincrew.model.observed import Observed


@dataclasses.dataclass(frozen=True)
class Slot:
    """A replica and its pod, if there is one."""

    replica: Replica
    pod: objects.Pod | None
    """For a replica that succeeded and whose pod was deleted: a placeholder with name and phase."""

    @property
    def done(self) -> bool:
        return self.pod is not None and self.pod.status.phase == "Succeeded"

    @property
    def alive(self) -> bool:
        return self.done or (self.pod is not None and not self.pod.terminating and self.pod.status.phase != "Failed")

    @property
    def settled(self) -> bool:
        """Running or succeeded."""
        return self.done or (self.pod is not None and self.pod.active)


@dataclasses.dataclass(frozen=True)
class Replicas:
    kind: JobKind
    job: jobs.Job
    observed: Observed

    @functools.cached_property
    def slots(self) -> tuple[Slot, ...]:
        """One for every replica whose pod this operator creates, by role and index."""
        by_name = {pod.name: pod for pod in self.own_pods}
        return tuple(
            Slot(replica, by_name.get(replica.name) or self._placeholder(replica))
            for role in self.kind.roles
            if not role.delegated
            for replica in (self.replica(role.name, index) for index in self.job.indexes(role.name))
        )

    def replica(self, role: str, index: int = 0) -> Replica:
        return Replica(self.job, self._roles[role], index, self.observed.planning)

    @functools.cached_property
    def own_pods(self) -> tuple[objects.Pod, ...]:
        uid = self.job.metadata.uid
        return tuple(pod for pod in _ordered(self.observed.pods) if _controller_uid(pod) == uid)

    @functools.cached_property
    def delegated_pods(self) -> tuple[objects.Pod, ...]:
        """Pods that another controller creates from one of the dependents."""
        controllers = {entry.metadata.uid for entry in self.observed.batch_jobs}
        return tuple(pod for pod in _ordered(self.observed.pods) if _controller_uid(pod) in controllers)

    @functools.cached_property
    def excess_pods(self) -> tuple[objects.Pod, ...]:
        """Pods without a replica: the job was scaled down or lost a role."""
        names = {slot.replica.name for slot in self.slots}
        return tuple(pod for pod in self.own_pods if pod.name not in names)

    @functools.cached_property
    def by_role(self) -> PodsByRole:
        pods: dict[str, list[objects.Pod]] = {name: [] for name in self.job.roles}
        for slot in self.slots:
            if slot.pod is not None:
                pods[slot.replica.role.name].append(slot.pod)
        for role in self.kind.roles:
            if role.delegated and role.name in pods:
                pods[role.name].extend(self.delegated_pods)
        return pods

    @property
    def delegates(self) -> bool:
        return any(role.delegated for role in self.kind.roles)

    @functools.cached_property
    def _roles(self) -> dict[str, Role]:
        return {role.name: role for role in self.kind.roles}

    def _placeholder(self, replica: Replica) -> objects.Pod | None:
        """A replica that succeeded is not run again if its pod is deleted, for example with its node."""
        if replica.name in self._vanished_after_success:
            return self._vanished_after_success[replica.name]
        if replica.index not in self._completed.get(replica.role.name, ()):
            return None
        return objects.Pod(metadata=meta.Meta(name=replica.name), status=objects.PodStatus(phase="Succeeded"))

    @functools.cached_property
    def _vanished_after_success(self) -> dict[str, objects.Pod]:
        return {pod.name: pod for pod in self.observed.vanished if pod.status.phase == "Succeeded"}

    @functools.cached_property
    def _completed(self) -> dict[str, frozenset[int]]:
        stored = self.job.status.replica_statuses
        return {
            name: completion_indexes.parse(counts.completed_indexes)
            for name, counts in stored.items()
            if counts.completed_indexes
        }


def _ordered(pods: tuple[objects.Pod, ...]) -> list[objects.Pod]:
    """Decisions must not depend on the order of the observed objects."""
    return sorted(pods, key=lambda pod: (pod.name, pod.metadata.uid))


def _controller_uid(pod: objects.Pod) -> str:
    owner = pod.metadata.controller
    return owner.uid if owner else ""
