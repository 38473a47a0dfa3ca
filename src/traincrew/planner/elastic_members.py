"""The workers of a job whose number the operator chooses: which indexes they have, their record in the status, their pods.

The choice is a `Share`, made for all elastic jobs together. Without one the recorded workers stay.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import msgspec

from traincrew.apimachinery import completion_indexes
from traincrew.kinds import elasticity
from traincrew.kinds.replica import Manifest, Replica
from traincrew.model import naming, objects, shares
from traincrew.model.meta import Time
from traincrew.model.status import Elastic, JobStatus, Leaving, Resize
from traincrew.planner import clock, losses, scaling, waiting_reason
from traincrew.planner.replicas import Replicas
from traincrew.planner.scaling import Scaling

NOT_SHARED = "NotShared"
SPOT_LABELS = (
    ("cloud.google.com/gke-spot", "true"),
    ("eks.amazonaws.com/capacityType", "SPOT"),
    ("karpenter.sh/capacity-type", "spot"),
    ("kubernetes.azure.com/scalesetpriority", "spot"),
)
"""Labels of nodes that may end at any time."""
SCALE_UP_DELAY = "cluster-autoscaler.kubernetes.io/pod-scale-up-delay"


def resolve(replicas: Replicas, now: Time) -> Replicas:
    """The replicas with the workers that the job has now."""
    if replicas.job.status.finished:
        return replicas
    wish = scaling.of(replicas.kind, replicas.job)
    members = None if wish is None or replicas.job.suspended or _refusal(replicas, wish) else _members(replicas, wish, now)
    chosen = {} if members is None else {elasticity.ROLE: members}
    return dataclasses.replace(replicas, job=dataclasses.replace(replicas.job, members=chosen))


def _refusal(replicas: Replicas, wish: Scaling) -> str:
    share = replicas.observed.share
    return wish.refusal or (share.refusal if share is not None else "")


def _members(replicas: Replicas, wish: Scaling, now: Time) -> tuple[int, ...]:
    share = replicas.observed.share
    recorded = replicas.job.members.get(elasticity.ROLE)
    if share is None and recorded is None:
        return tuple(range(wish.wanted))
    chosen: Sequence[int] = tuple(share.members) if share is not None else _existing(replicas, recorded or (), wish.wanted)
    return tuple(sorted(index for index in chosen if not _is_withdrawn(replicas, index, now)))


def _existing(replicas: Replicas, recorded: Sequence[int], wanted: int) -> list[int]:
    """The recorded workers. Those without a pod may have used idle capacity, so they only fill up to the requested number."""
    present = [index for index in recorded if _pod(replicas.own_pods, replicas.replica(elasticity.ROLE, index)) is not None]
    missing = [index for index in recorded if index not in present]
    return present + missing[: max(wanted - len(present), 0)]


def _is_withdrawn(replicas: Replicas, index: int, now: Time) -> bool:
    """Whether a worker on idle capacity was preempted, evicted or deleted: it is not replaced before there is room again."""
    share, replica = replicas.observed.share, replicas.replica(elasticity.ROLE, index)
    pod = _pod(replicas.own_pods, replica) or _pod(replicas.observed.vanished, replica)
    if pod is None:
        return share is not None and index in share.surplus and bool(share.members[index])
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
    share = replicas.observed.share
    is_surplus = share is not None and replica.role.name == elasticity.ROLE and replica.index in share.surplus
    if share is None or not is_surplus or not replicas.job.members:
        return
    meta, spec = pod["metadata"], pod["spec"]
    meta["labels"] = {**meta["labels"], naming.SURPLUS: "true"}
    meta["annotations"] = {**meta.get("annotations", {}), SCALE_UP_DELAY: "600s"}
    spec["priorityClassName"] = replicas.observed.planning.surplus_class
    spec.pop("priority", None)
    if node := share.hints.get(replica.index, ""):
        _prefer_node(spec, node)


def _prefer_node(spec: Manifest, node: str) -> None:
    affinity = spec.setdefault("affinity", {}).setdefault("nodeAffinity", {})
    name = {"key": "metadata.name", "operator": "In", "values": [node]}
    term = {"weight": 100, "preference": {"matchFields": [name]}}
    affinity.setdefault("preferredDuringSchedulingIgnoredDuringExecution", []).append(term)


def record(replicas: Replicas, status: JobStatus, now: Time) -> JobStatus:
    """The status with the workers of the job."""
    wish = scaling.of(replicas.kind, replicas.job)
    elastic = None if wish is None else _elastic(replicas, wish, status.elastic, now)
    return status if elastic == status.elastic else msgspec.structs.replace(status, elastic=elastic)


def _elastic(replicas: Replicas, wish: Scaling, before: Elastic | None, now: Time) -> Elastic:
    bounds, share = wish.elasticity, replicas.observed.share
    count = replicas.job.count(elasticity.ROLE)
    common = Elastic(
        scaling=elasticity.MANUAL,
        min=bounds.least,
        wanted=wish.wanted,
        max=bounds.most,
        workers=f"{count} ({bounds.least}-{bounds.most})" if bounds.most else str(count),
    )
    old = before.why if before is not None else None
    if refusal := _refusal(replicas, wish):
        return msgspec.structs.replace(common, why=waiting_reason.with_since(old, NOT_SHARED, refusal, now))
    why = before.why if before is not None else None
    if share is not None:
        why = waiting_reason.with_since(old, share.reason, share.message, now) if share.reason else None
    return msgspec.structs.replace(
        common,
        scaling=wish.mode,
        members=completion_indexes.render(replicas.job.indexes(elasticity.ROLE), shortest_run=2),
        surplus=max(count - wish.wanted, 0),
        leaving=_leaving(replicas, before, now),
        why=why,
        last_resize=_last_resize(replicas, before, now),
    )


def _leaving(replicas: Replicas, before: Elastic | None, now: Time) -> list[Leaving]:
    """Workers whose pods still exist, by index."""
    known = {each.index: each for each in before.leaving} if before is not None else {}
    result = []
    for index, leave in sorted(_leaves(replicas), key=lambda each: each[0]):
        pod = _pod(replicas.surplus_pods, replicas.replica(elasticity.ROLE, index))
        if pod is not None:
            since, by = _since(known.get(index), leave, now), pod.metadata.deletion_timestamp
            result.append(Leaving(index=index, reason=leave.reason, claimant=leave.claimant, since=since, by=by))
    return result


def _since(known: Leaving | None, leave: shares.Leave, now: Time) -> Time | None:
    return known.since if known is not None and known.reason == leave.reason else clock.whole(now)


def evicted(replicas: Replicas) -> list[tuple[objects.Pod, str]]:
    """Pods that are replaced because their nodes end, with the reason. Their deletion is a disruption of the job."""
    share = replicas.observed.share
    reasons = share.evicted if share is not None and replicas.job.members else {}
    return [(pod, reasons[pod.metadata.uid]) for pod in replicas.own_pods if pod.metadata.uid in reasons and not pod.terminating]


def noticed(replicas: Replicas) -> frozenset[str]:
    """The names of pods that leave because their nodes end."""
    leaving = (index for index, leave in _leaves(replicas) if leave.reason == shares.NOTICED)
    return frozenset(replicas.replica(elasticity.ROLE, index).name for index in leaving)


def _leaves(replicas: Replicas) -> Iterator[tuple[int, shares.Leave]]:
    share = replicas.observed.share
    return iter(share.leaving.items() if share is not None else ())


def _last_resize(replicas: Replicas, before: Elastic | None, now: Time) -> Resize | None:
    if before is None or not before.members:
        return before.last_resize if before is not None else None
    old, new = completion_indexes.parse(before.members), frozenset(replicas.job.indexes(elasticity.ROLE))
    if old == new:
        return _explained(replicas, before.last_resize)
    reason, message = _cause(replicas, old, new)
    return _resize(clock.whole(now), (len(old), len(new)), reason, message)


def _resize(at: Time | None, counts: tuple[int, int], reason: str, message: str) -> Resize:
    text = f"scaled from {counts[0]} to {counts[1]} workers" if counts[0] != counts[1] else "workers replaced"
    text = f"{text}: {message}" if message else text
    return Resize(at=at, before=counts[0], after=counts[1], reason=reason, message=text)


def _explained(replicas: Replicas, last: Resize | None) -> Resize | None:
    """A preemption is seen before it is known for whom."""
    if last is None or last.reason != shares.RECLAIMED:
        return last
    known = next((leave for _, leave in sorted(_leaves(replicas), key=lambda each: each[0]) if leave.claimant), None)
    return _resize(last.at, (last.before, last.after), known.reason, known.message) if known is not None else last


def _cause(replicas: Replicas, old: frozenset[int], new: frozenset[int]) -> tuple[str, str]:
    share = replicas.observed.share
    for index, leave in sorted(_leaves(replicas), key=lambda each: each[0]):
        if index in old - new:
            return leave.reason, leave.message
    if share is not None and new - old and new - old <= share.surplus:
        return shares.GREW, "capacity is idle"
    if len(new) < len(old) and share is not None and all(index in share.surplus for index in old - new):
        return shares.RECLAIMED, "pods on idle capacity were preempted or evicted"
    return shares.RESIZED, ""
