"""The replicas of a job: those that have a pod, and those that have none."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from traincrew import settings
from traincrew.apimachinery import quantities
from traincrew.console.contract.replicas import Container, Replica, ReplicaState
from traincrew.console.view import ranks
from traincrew.console.view.pods import Amount, ShownContainer, ShownPod
from traincrew.inspection import pod_waiting_reasons
from traincrew.inspection.observed_job import ObservedJob
from traincrew.kinds import replica as kind_replica
from traincrew.kinds.replica import Role
from traincrew.model import naming, objects
from traincrew.model.meta import Time

_PHASES: dict[str, ReplicaState] = {"Running": "Running", "Succeeded": "Succeeded", "Failed": "Failed"}


@dataclasses.dataclass(frozen=True)
class ReplicaSlot:
    """A replica before it is described: of ten thousand, a page shows some."""

    role: str
    index: int
    pod: ShownPod | None
    """None: it has none."""
    missing: Replica | None = None
    """Without a pod, all that is known."""

    @property
    def state(self) -> ReplicaState:
        return state(self.pod) if self.pod is not None else "Missing"


def slots(observed: ObservedJob, pods: Sequence[ShownPod]) -> list[ReplicaSlot]:
    """In the order of the roles of the kind, then by index, then by age."""
    found = [_slot(observed, pod) for pod in pods]
    present = {(each.role, each.index) for each in found}
    if not observed.job.status.finished and not observed.job.suspended:
        found += [each for each in _expected(observed) if (each.role, each.index) not in present]
    order = {role.name: number for number, role in enumerate(observed.kind.roles)}
    return sorted(found, key=lambda each: (order.get(each.role, len(order)), each.index, *_age(each)))


def _age(slot: ReplicaSlot) -> tuple[bool, str]:
    created = slot.pod.metadata.creation_timestamp if slot.pod is not None else None
    return created is None, str(created)


def _slot(observed: ObservedJob, pod: ShownPod) -> ReplicaSlot:
    role, index = role_of(observed, pod), pod.metadata.labels.get(naming.REPLICA_INDEX, "")
    return ReplicaSlot(role.name if role is not None else "", int(index) if index.isdecimal() else 0, pod)


def name_of(observed: ObservedJob, slot: ReplicaSlot) -> str:
    return observed.replica(slot.pod) if slot.pod is not None else describe(observed, slot).name


def describe(observed: ObservedJob, slot: ReplicaSlot) -> Replica:
    if slot.pod is None:
        assert slot.missing is not None
        return slot.missing
    return _with_pod(observed, slot, slot.pod)


def _expected(observed: ObservedJob) -> Iterator[ReplicaSlot]:
    for role in observed.kind.roles:
        for index in range(observed.job.count(role.name)):
            name = kind_replica.Replica(observed.job, role, index, settings.Planning()).name
            yield ReplicaSlot(role.name, index, None, _missing(observed, role, index, name))


def _missing(observed: ObservedJob, role: Role, index: int, name: str) -> Replica:
    short = name.removeprefix(f"{observed.job.name}-")
    return Replica(name=short, role=role.name, index=index, state="Missing", why="the pod is not created yet")


def _with_pod(observed: ObservedJob, slot: ReplicaSlot, pod: ShownPod) -> Replica:
    ends = [each.state.terminated for each in pod.status.container_statuses if each.state.terminated is not None]
    starts = [start for each in pod.status.container_statuses if (start := _started(each)) is not None]
    finished = [end.finished_at for end in ends if end.finished_at is not None] if pod.finished else []
    return Replica(
        name=observed.replica(pod),
        role=slot.role,
        index=slot.index,
        rank=ranks.rank(observed, pod),
        state=state(pod),
        why=pod_waiting_reasons.pod_reason(pod),
        pod=pod.name,
        uid=pod.metadata.uid,
        node=pod.spec.node_name,
        ip=pod.status.pod_ip,
        restarts=sum(each.restart_count for each in pod.status.container_statuses),
        exit_code=next((end.exit_code for end in sorted(ends, key=lambda end: end.exit_code == 0)), None),
        created=pod.metadata.creation_timestamp,
        started=min(starts, default=pod.status.start_time),
        ended=max(finished, default=None),
        requests=_total(pod, "requests"),
        limits=_total(pod, "limits"),
        containers=_containers(pod),
    )


def role_of(observed: ObservedJob, pod: objects.Pod) -> Role | None:
    labels = pod.metadata.labels
    label = labels.get(naming.REPLICA_TYPE) or labels.get(naming.JOB_ROLE, "")
    return next((role for role in observed.kind.roles if role.label == label), None)


def state(pod: objects.Pod) -> ReplicaState:
    if pod.terminating:
        return "Terminating"
    if pod.status.phase in _PHASES:
        return _PHASES[pod.status.phase]
    if pod.status.phase != "Pending":
        return "Unknown"
    return "Starting" if pod.spec.node_name else "Pending"


def _started(status: objects.ContainerStatus) -> Time | None:
    running, ended = status.state.running, status.state.terminated
    return running.started_at if running is not None else ended.started_at if ended is not None else None


def _total(pod: ShownPod, side: str) -> dict[str, str]:
    totals: dict[str, list[Amount]] = {}
    for container in pod.spec.containers:
        for name, amount in getattr(container.resources, side).items():
            if quantities.is_quantity(amount):
                totals.setdefault(name, []).append(amount)
    return {name: quantities.add(amounts) for name, amounts in totals.items()}


def _containers(pod: ShownPod) -> list[Container]:
    init = [_container(each, pod.status.init_container_statuses, init=True) for each in pod.spec.init_containers]
    return init + [_container(each, pod.status.container_statuses, init=False) for each in pod.spec.containers]


def _container(spec: ShownContainer, statuses: Sequence[objects.ContainerStatus], *, init: bool) -> Container:
    status = next((each for each in statuses if each.name == spec.name), objects.ContainerStatus())
    current = status.state
    ended = current.terminated or (status.last_state.terminated if current.running is None else None)
    described = current.waiting or ended
    return Container(
        name=spec.name,
        init=init,
        image=spec.image,
        state="Running" if current.running else "Terminated" if current.terminated else "Waiting",
        ready=status.ready,
        restarts=status.restart_count,
        exit_code=ended.exit_code if ended is not None else None,
        signal=(ended.signal or None) if ended is not None else None,
        reason=described.reason if described is not None else "",
        message=described.message if described is not None else "",
        started=_started(status),
        ended=ended.finished_at if ended is not None else None,
    )
