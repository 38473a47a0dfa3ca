"""The workers of a job whose number the operator chooses: which indexes they have, their record in the status, their pods.

The choice is an `Allocation`, made for all elastic jobs together. Without one the recorded workers stay.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import msgspec

from traincrew.apimachinery import completion_indexes
from traincrew.kinds import elasticity
from traincrew.kinds.replica import Manifest, Replica
from traincrew.model import elastic_allocation, naming, objects
from traincrew.model.meta import Time
from traincrew.model.status import Elastic, ElasticResize, JobStatus, Leaving, Restarts
from traincrew.planner import deadlines, losses, scaling, waiting_reason
from traincrew.planner.replicas import Replicas
from traincrew.planner.scaling import Scaling

NOT_SHARED, DECISION_FAILED = "NotShared", "DecisionFailed"
SPOT_LABELS = (
    ("cloud.google.com/gke-spot", "true"),
    ("eks.amazonaws.com/capacityType", "SPOT"),
    ("karpenter.sh/capacity-type", "spot"),
    ("kubernetes.azure.com/scalesetpriority", "spot"),
)
"""Labels of spot nodes, which may be terminated at any time."""
RECORDED_WITHIN = 5.0
"""Seconds between the record of a removal by others and the decision that saw it."""
SCALE_UP_DELAY = "cluster-autoscaler.kubernetes.io/pod-scale-up-delay"


def resolve(replicas: Replicas, now: Time) -> Replicas:
    """The replicas with the workers that the job has now."""
    if replicas.job.status.finished:
        return replicas
    request = scaling.of(replicas.kind, replicas.job)
    members = None if request is None or replicas.job.suspended or _error(replicas, request) else _members(replicas, request, now)
    chosen = {} if members is None else {elasticity.ROLE: members}
    return dataclasses.replace(replicas, job=dataclasses.replace(replicas.job, members=chosen))


def _error(replicas: Replicas, request: Scaling) -> str:
    allocation = replicas.observed.allocation
    return request.error or (allocation.error if allocation is not None else "")


def _members(replicas: Replicas, request: Scaling, now: Time) -> tuple[int, ...]:
    allocation = replicas.observed.allocation
    recorded = replicas.job.members.get(elasticity.ROLE)
    if allocation is None and recorded is None:
        return tuple(range(request.wanted))
    chosen: Sequence[int] = (
        tuple(allocation.members) if allocation is not None else _existing(replicas, recorded or (), request.wanted)
    )
    return tuple(sorted(index for index in chosen if not _is_withdrawn(replicas, index, now)))


def _existing(replicas: Replicas, recorded: Sequence[int], wanted: int) -> list[int]:
    """The recorded workers. Those without a pod may have used idle capacity, so they only fill up to the requested number."""
    present = [index for index in recorded if _pod(replicas.own_pods, replicas.replica(elasticity.ROLE, index)) is not None]
    missing = [index for index in recorded if index not in present]
    return present + missing[: max(wanted - len(present), 0)]


def _is_withdrawn(replicas: Replicas, index: int, now: Time) -> bool:
    """Whether a worker on idle capacity was preempted, evicted or deleted: it is not replaced before capacity is free again."""
    allocation, replica = replicas.observed.allocation, replicas.replica(elasticity.ROLE, index)
    pod = _pod(replicas.own_pods, replica) or _pod(replicas.observed.vanished, replica)
    if pod is None:
        return allocation is not None and index in allocation.surplus and bool(allocation.members[index])
    if naming.SURPLUS not in pod.metadata.labels:
        return False
    gone = pod.metadata.uid not in {own.metadata.uid for own in replicas.own_pods}
    loss = losses.examine(replicas.kind, replica, pod, now, gone=gone)
    return loss is not None and loss.disruption


def _pod(pods: Sequence[objects.Pod], replica: Replica) -> objects.Pod | None:
    return next((pod for pod in pods if pod.name == replica.name), None)


def prefer_steady_nodes(replicas: Replicas, replica: Replica, pod: Manifest) -> None:
    """Changes a pod without which all others end, the launcher or the host of the rendezvous: it avoids spot nodes if it can."""
    steady = not replica.role.indexed or replica.name == replicas.kind.lifecycle.rendezvous(replicas.job)
    if not steady or not replicas.job.members or pod["spec"].get("affinity"):
        return
    expressions = [{"key": key, "operator": "NotIn", "values": [value]} for key, value in SPOT_LABELS]
    term = {"weight": 100, "preference": {"matchExpressions": expressions}}
    pod["spec"]["affinity"] = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}


def mark_surplus(replicas: Replicas, replica: Replica, pod: Manifest) -> None:
    """Changes the pod of a worker above the requested number: every other pod comes before it, autoscalers add no node for it."""
    allocation = replicas.observed.allocation
    is_surplus = allocation is not None and replica.role.name == elasticity.ROLE and replica.index in allocation.surplus
    if allocation is None or not is_surplus or not replicas.job.members:
        return
    meta, spec = pod["metadata"], pod["spec"]
    meta["labels"] = {**meta["labels"], naming.SURPLUS: "true"}
    meta["annotations"] = {**meta.get("annotations", {}), SCALE_UP_DELAY: "600s"}
    spec["priorityClassName"] = replicas.observed.planning.surplus_class
    spec.pop("priority", None)
    if node := allocation.node_hints.get(replica.index, ""):
        _choose_node(spec, node, pinned=allocation.pinned)


def _choose_node(spec: Manifest, node: str, *, pinned: bool) -> None:
    affinity = spec.setdefault("affinity", {}).setdefault("nodeAffinity", {})
    name = {"key": "metadata.name", "operator": "In", "values": [node]}
    if pinned:
        required = affinity.setdefault("requiredDuringSchedulingIgnoredDuringExecution", {"nodeSelectorTerms": [{}]})
        terms = required["nodeSelectorTerms"]
        required["nodeSelectorTerms"] = [{**term, "matchFields": [*term.get("matchFields", []), name]} for term in terms]
        return
    term = {"weight": 100, "preference": {"matchFields": [name]}}
    affinity.setdefault("preferredDuringSchedulingIgnoredDuringExecution", []).append(term)


def record(replicas: Replicas, status: JobStatus, now: Time) -> JobStatus:
    """The status with the workers of the job."""
    request = scaling.of(replicas.kind, replicas.job)
    elastic = None if request is None else _elastic(replicas, request, status.elastic, now)
    if elastic == status.elastic:
        return status
    return msgspec.structs.replace(status, elastic=elastic, restarts=_with_disruption(replicas, status))


def _with_disruption(replicas: Replicas, status: JobStatus) -> Restarts:
    """A worker that leaves its node before the end of it is replaced under another index, so no loss of its pod is recorded."""
    before = status.elastic.members if status.elastic is not None else ""
    removed = (completion_indexes.parse(before) if before else frozenset[int]()) - set(replicas.job.indexes(elasticity.ROLE))
    noticed = [
        index for index, removal in _removals(replicas) if index in removed and removal.reason == elastic_allocation.NOTICED
    ]
    pods = (_pod(replicas.own_pods, replicas.replica(elasticity.ROLE, index)) for index in noticed)
    recorded = any(pod is not None and pod.metadata.uid in replicas.job.status.restarts.entered for pod in pods)
    if not noticed or recorded:
        return status.restarts
    return msgspec.structs.replace(status.restarts, disruptions=status.restarts.disruptions + 1)


def _elastic(replicas: Replicas, request: Scaling, before: Elastic | None, now: Time) -> Elastic:
    bounds, allocation = request.elasticity, replicas.observed.allocation
    count = replicas.job.count(elasticity.ROLE)
    common = Elastic(
        scaling=elasticity.MANUAL,
        min=bounds.min_replicas,
        wanted=request.wanted,
        max=bounds.max_replicas,
        workers=f"{count} ({bounds.min_replicas}-{bounds.max_replicas})" if bounds.max_replicas else str(count),
    )
    old = before.why if before is not None else None
    if error := _error(replicas, request):
        return msgspec.structs.replace(common, why=waiting_reason.with_since(old, NOT_SHARED, error, now))
    why = before.why if before is not None else None
    if allocation is not None:
        why = waiting_reason.with_since(old, allocation.reason, allocation.message, now) if allocation.reason else None
    if failure := replicas.observed.decision_failure:
        why = waiting_reason.with_since(old, DECISION_FAILED, failure, now)
    return msgspec.structs.replace(
        common,
        scaling=request.mode,
        members=completion_indexes.render(replicas.job.indexes(elasticity.ROLE), shortest_run=2),
        surplus=max(count - request.wanted, 0),
        leaving=_leaving(replicas, before, now),
        why=why,
        last_resize=_last_resize(replicas, before, now),
    )


def _leaving(replicas: Replicas, before: Elastic | None, now: Time) -> list[Leaving]:
    """Workers whose pods still exist, by index."""
    known = {each.index: each for each in before.leaving} if before is not None else {}
    result = []
    for index, removal in sorted(_removals(replicas), key=lambda each: each[0]):
        pod = _pod(replicas.excess_pods, replicas.replica(elasticity.ROLE, index))
        if pod is not None:
            since, by = _since(known.get(index), removal, now), pod.metadata.deletion_timestamp
            result.append(Leaving(index=index, reason=removal.reason, claimant=removal.claimant, since=since, by=by))
    return result


def _since(known: Leaving | None, removal: elastic_allocation.Removal, now: Time) -> Time | None:
    return known.since if known is not None and known.reason == removal.reason else deadlines.whole(now)


def evicted(replicas: Replicas) -> list[tuple[objects.Pod, str]]:
    """Pods on terminating nodes that are replaced, with the reason. Their deletion is a disruption of the job."""
    allocation = replicas.observed.allocation
    reasons = allocation.evicted if allocation is not None and replicas.job.members else {}
    return [(pod, reasons[pod.metadata.uid]) for pod in replicas.own_pods if pod.metadata.uid in reasons and not pod.terminating]


def leaving_pods(replicas: Replicas) -> Iterator[tuple[str, tuple[str, str]]]:
    """The names of pods that are about to be deleted, with the reason in one word and in a sentence."""
    known = {replicas.replica(elasticity.ROLE, index).name: removal for index, removal in _removals(replicas)}
    for pod in (pod for pod in replicas.excess_pods if pod.active):
        removal = known.get(pod.name, elastic_allocation.Removal(elastic_allocation.RESIZED))
        yield pod.name, (removal.reason, removal.message)
    yield from ((pod.name, (elastic_allocation.NOTICED, message)) for pod, message in evicted(replicas))


def noticed(replicas: Replicas) -> frozenset[str]:
    """The names of pods that are removed because their nodes are about to be terminated."""
    leaving = (index for index, removal in _removals(replicas) if removal.reason == elastic_allocation.NOTICED)
    return frozenset(replicas.replica(elasticity.ROLE, index).name for index in leaving)


def _removals(replicas: Replicas) -> Iterator[tuple[int, elastic_allocation.Removal]]:
    allocation = replicas.observed.allocation
    return iter(allocation.leaving.items() if allocation is not None else ())


def _last_resize(replicas: Replicas, before: Elastic | None, now: Time) -> ElasticResize | None:
    if before is None or not before.members:
        return before.last_resize if before is not None else None
    old, new = completion_indexes.parse(before.members), frozenset(replicas.job.indexes(elasticity.ROLE))
    if old == new:
        return _explained(replicas, before.last_resize)
    reason, message = _cause(replicas, old, new)
    return _resize(deadlines.whole(now), (len(old), len(new)), reason, message)


def _resize(at: Time | None, counts: tuple[int, int], reason: str, message: str) -> ElasticResize:
    text = f"scaled from {counts[0]} to {counts[1]} workers" if counts[0] != counts[1] else "workers replaced"
    text = f"{text}: {message}" if message else text
    return ElasticResize(at=at, before=counts[0], after=counts[1], reason=reason, message=text)


def _explained(replicas: Replicas, last: ElasticResize | None) -> ElasticResize | None:
    """A preemption is seen before it is known for whom."""
    if last is None or last.reason != elastic_allocation.RECLAIMED:
        return last
    leaving = sorted(_removals(replicas), key=lambda each: each[0])
    known = next((removal for _, removal in leaving if removal.claimant), _reclaimed_for(replicas, last.at))
    return _resize(last.at, (last.before, last.after), known.reason, known.message) if known is not None else last


def _reclaimed_for(replicas: Replicas, at: Time | None) -> elastic_allocation.Removal | None:
    """For whom the workers were removed whose removal was recorded at this time."""
    allocation = replicas.observed.allocation
    if allocation is None or allocation.reclaimed_for is None or allocation.reclaimed_at is None or at is None:
        return None
    recent = abs((allocation.reclaimed_at - at).total_seconds()) <= RECORDED_WITHIN
    return allocation.reclaimed_for if recent and allocation.reclaimed_for.claimant else None


def _cause(replicas: Replicas, old: frozenset[int], new: frozenset[int]) -> tuple[str, str]:
    allocation = replicas.observed.allocation
    for index, removal in sorted(_removals(replicas), key=lambda each: each[0]):
        if index in old - new:
            return removal.reason, removal.message
    if allocation is not None and new - old and new - old <= allocation.surplus:
        return elastic_allocation.GREW, "capacity is idle"
    if len(new) < len(old) and allocation is not None and all(index in allocation.surplus for index in old - new):
        return elastic_allocation.RECLAIMED, "pods on idle capacity were preempted or evicted"
    return elastic_allocation.RESIZED, ""
