"""Whether jobs would be scheduled now: the scheduling cycle of one machine, with pods that do not exist yet."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from traincrew.console.contract.scheduling_fit import JobFit, NodeReplicas, UnplacedReplicas, Verdict
from traincrew.console.view import holders, job_pods
from traincrew.console.view.manifest_jobs import ManifestJob
from traincrew.inspection import observed_job
from traincrew.kinds import elasticity
from traincrew.kinds.kind import JobKind
from traincrew.planner import scaling
from traincrew.scheduling import volumes
from traincrew.scheduling.decisions import Decisions, Profile, SchedulingContext
from traincrew.scheduling.objects import Node
from traincrew.scheduling.pod_info import PodInfo
from traincrew.scheduling.scheduling_cycle import schedule


@dataclasses.dataclass(frozen=True)
class ObservedCluster:
    """What the scheduler reads."""

    pods: Sequence[PodInfo]
    nodes: Sequence[Node]
    state: SchedulingContext
    profile: Profile

    def without(self, jobs: Collection[str]) -> ObservedCluster:
        """Without the pods of these jobs, by `namespace/kind/name`."""
        return dataclasses.replace(self, pods=[pod for pod in self.pods if holders.job_of(pod) not in jobs])


def of_jobs(wanted: Sequence[ManifestJob], cluster: ObservedCluster, namespace: str) -> list[JobFit]:
    """Pods of other jobs that wait already come first; pods with a node stay there. Raise SettingsError if a job is too large."""
    state = cluster.state
    pods = [job_pods.of_job(each, namespace, state) for each in wanted]
    nodes = {pod.full_name: pod.spec.node_name for pod in cluster.pods if pod.spec.node_name and not pod.finished}
    known = [[pod.with_node(nodes[pod.full_name]) if pod.full_name in nodes else pod for pod in each] for each in pods]
    others = cluster.without([f"{job.namespace or namespace}/{kind.singular}/{job.name}" for kind, job, _ in wanted]).pods
    decisions = schedule([*others, *(pod for each in known for pod in each)], cluster.nodes, state, cluster.profile)
    places = _Places(decisions, state)
    return [_fit(job, each, places) for job, each in zip(wanted, known, strict=True)]


class _Places:
    """What the scheduler decided, by pod."""

    def __init__(self, decisions: Decisions, state: SchedulingContext) -> None:
        self._state = state
        self._nodes = {each.pod.uid: each.node for each in decisions.bindings}
        self._claims = {id(each.claim): each.node for each in decisions.node_selections}
        self._rejected = {each.pod.uid: each for each in decisions.unschedulable}
        self._victims = [(each.preemptor.uid, each.victim.full_name) for each in decisions.preemptions]

    def node(self, pod: PodInfo) -> str:
        """Empty: it has no place now."""
        if pod.spec.node_name or pod.uid in self._rejected:
            return pod.spec.node_name
        if pod.uid in self._nodes:
            return self._nodes[pod.uid]
        claims = volumes.unbound_claims(pod, self._state.storage) if pod.spec.volumes else ()
        return next(
            (self._claims.get(id(each)) or each.metadata.annotations.get(volumes.SELECTED_NODE, "") for each in claims), ""
        )

    def message(self, pod: PodInfo) -> str:
        rejected = self._rejected.get(pod.uid)
        return rejected.message if rejected is not None else f'no scheduler named "{pod.spec.scheduler_name}" runs here'

    def nominated(self, pod: PodInfo) -> bool:
        rejected = self._rejected.get(pod.uid)
        return rejected is not None and bool(rejected.nominated)

    def victims(self, uids: Collection[str]) -> list[str]:
        return sorted({victim for preemptor, victim in self._victims if preemptor in uids})


def _fit(wanted: ManifestJob, pods: Sequence[PodInfo], places: _Places) -> JobFit:
    kind, job, line = wanted

    def name(pod: PodInfo) -> str:
        return observed_job.replica(job.name, pod.metadata.name)

    placed = [pod for pod in pods if places.node(pod)]
    missing = [pod for pod in pods if not places.node(pod)]
    required = min(scaling.required_replicas(kind, job), len(pods))
    verdict: Verdict = "waits"
    if len(placed) >= required:
        verdict = "fits"
    elif len(placed) + sum(map(places.nominated, missing)) >= required:
        verdict = "preempts"
    return JobFit(
        namespace=pods[0].metadata.namespace if pods else job.namespace,
        kind=kind.singular,
        name=job.name,
        line=line,
        verdict=verdict,
        total=len(pods),
        required=required,
        placed=len(placed),
        nodes=[NodeReplicas(node=node, replicas=found) for node, found in _grouped(placed, places.node, name)],
        unplaced=[UnplacedReplicas(message=text, replicas=found) for text, found in _grouped(missing, places.message, name)],
        preempted=places.victims({pod.uid for pod in pods}),
    )


def _grouped(
    pods: Iterable[PodInfo], key: Callable[[PodInfo], str], name: Callable[[PodInfo], str]
) -> list[tuple[str, list[str]]]:
    groups: dict[str, list[str]] = {}
    for pod in pods:
        groups.setdefault(key(pod), []).append(name(pod))
    return list(groups.items())


def changed(kind: JobKind, document: dict[str, Any], workers: int | None, priority: str | None) -> dict[str, Any]:
    """The job with another number of workers or another priority class."""
    result = copy.deepcopy(document)
    roles = result["spec"].get(kind.replicas_field) or {}
    if workers is not None and elasticity.ROLE in roles:
        roles[elasticity.ROLE]["replicas"] = workers
        result.pop("status", None)  # the members of an elastic job that are recorded there
    if priority is not None:
        for role in roles.values():
            spec = role["template"]["spec"]
            spec.pop("priority", None)
            spec["priorityClassName"] = priority
    return result


def startable(fits: Callable[[int], bool], wanted: int) -> int | None:
    """The largest number of workers up to `wanted` that fits, if fewer always fit where more do."""
    low, high = 0, wanted
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low or None
