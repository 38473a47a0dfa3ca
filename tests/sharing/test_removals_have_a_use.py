"""Workers are removed only for pods that the scheduler binds afterwards. The scheduler is the real one, with all its filters."""

from __future__ import annotations

import dataclasses
import random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.planner.hypothesis_settings import max_examples
from tests.scheduling import builders
from tests.sharing.snapshots import GPU, NOW, elastic_job, gpu_node, pending_pods, random_snapshot, snapshot

from traincrew.model.elastic_allocation import GAVE_BACK
from traincrew.scheduling import objects
from traincrew.scheduling.decisions import Profile, SchedulingContext
from traincrew.scheduling.pod_info import PodInfo
from traincrew.scheduling.scheduling_cycle import schedule
from traincrew.scheduling.volumes import StorageObjects
from traincrew.sharing import allocate, scheduler_messages
from traincrew.sharing.cluster_snapshot import ClusterSnapshot

VOLUME = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}
ELSEWHERE = {"nodeSelector": {"kubernetes.io/hostname": "nowhere"}}
NEVER = {"preemptionPolicy": "Never"}


def storage(node: str = "", *, phase: str = "Bound") -> StorageObjects:
    """A PersistentVolumeClaim and its volume, on one node or reachable from all."""
    spec = {"volumeName": "disk" if phase == "Bound" else "", "storageClassName": "fast"}
    claim = {"metadata": {"name": "data", "namespace": "team"}, "spec": spec, "status": {"phase": phase}}
    terms = [{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}]
    affinity = {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}} if node else {}
    made = [
        _decoded(claim, objects.PersistentVolumeClaim),
        _decoded({"metadata": {"name": "disk"}, "spec": affinity}, objects.PersistentVolume),
    ]
    return StorageObjects({("team", "data"): made[0]}, {"disk": made[1]}, {})


def _decoded(body: dict[str, Any], type: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(body), type=type)


def bound(state: ClusterSnapshot, pods: tuple[PodInfo, ...]) -> set[str]:
    """UIDs of the pods that a scheduling cycle binds."""
    cycle = schedule(pods, state.nodes, SchedulingContext(storage=state.storage, now=NOW), Profile())
    return {each.pod.uid for each in cycle.bindings}


def with_scheduler_messages(state: ClusterSnapshot) -> ClusterSnapshot:
    """The snapshot in which the scheduler has written why it found no node."""
    cycle = schedule(state.pods, state.nodes, SchedulingContext(storage=state.storage, now=NOW), Profile())
    messages = {each.pod.uid: each.message for each in cycle.unschedulable}
    return dataclasses.replace(state, pods=tuple(_with_message(pod, messages.get(pod.uid, "")) for pod in state.pods))


def _with_message(pod: PodInfo, message: str) -> PodInfo:
    conditions = [msgspec.structs.replace(each, message=message) for each in pod.status.conditions]
    return dataclasses.replace(pod, status=msgspec.structs.replace(pod.status, conditions=conditions))


def random_obstacle(chance: random.Random, state: ClusterSnapshot) -> tuple[dict[str, Any], StorageObjects]:
    node = chance.choice(state.nodes).name
    options: list[tuple[dict[str, Any], StorageObjects]] = [
        ({}, StorageObjects()),
        (VOLUME, StorageObjects()),
        (VOLUME, storage(phase="Pending")),
        (VOLUME, storage()),
        (VOLUME, storage(node)),
        (ELSEWHERE, StorageObjects()),
        ({"nodeSelector": {"kubernetes.io/hostname": node}}, StorageObjects()),
    ]
    return chance.choice(options)


@given(st.integers(0, 10**9))
@max_examples(200)
def test_every_removal_has_a_use(seed: int) -> None:
    chance, state = random.Random(seed), random_snapshot(seed, demands=0)
    spec, objects_of_storage = random_obstacle(chance, state)
    waiting = pending_pods(
        "c", chance.randint(1, 2), chance.randint(1, 2), priority=chance.choice([0, 5]), spec={**spec, **NEVER}
    )
    state = with_scheduler_messages(dataclasses.replace(state, pods=(*state.pods, *waiting), storage=objects_of_storage))
    result = allocate(state, NOW)
    leaving = {
        member.pod.uid
        for job in state.jobs
        for member in job.members
        if member.pod is not None and member.index in result.jobs[job.uid].leaving
        if result.jobs[job.uid].leaving[member.index].reason == GAVE_BACK
    }
    if leaving:
        remaining = tuple(pod for pod in state.pods if pod.uid not in leaving)
        assert {pod.uid for pod in waiting} <= bound(state, remaining)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (f"0/3 nodes are available: 1 Insufficient {GPU}, 2 node(s) had untolerated taint {{a.b/c: }}. preemption: 0/3 …", True),
        ("0/1 nodes are available: 1 Too many pods.", True),
        (f"0/2 nodes are unavailable: 2 Insufficient {GPU}.", True),
        ("3/3 tasks in gang unschedulable: pod group is not ready, 3 Pending, 3 minAvailable; Pending: 3 Unschedulable", True),
        (f"0/3 nodes are available: 1 Insufficient {GPU}, 2 node(s) had volume node affinity conflict. preemption: …", False),
        ('0/3 nodes are available: persistentvolumeclaim "data" not found. preemption: 0/3 nodes are available.', False),
        ("0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims. preemption: …", False),
        ("0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector. preemption: …", False),
        ("running PreFilter plugin: the server is not available", False),
        ("", False),
    ],
)
def test_the_message_of_the_scheduler_shows_whether_resources_are_lacking(message: str, expected: bool) -> None:
    assert scheduler_messages.lack_resources([message]) is expected


def test_an_obstacle_of_one_pod_of_a_gang_holds_for_the_gang() -> None:
    gang = "1/2 tasks in gang unschedulable: pod group is not ready, 2 Pending, 2 minAvailable; Pending: 2 Unschedulable"
    assert scheduler_messages.lack_resources([f"0/1 nodes are available: 1 Insufficient {GPU}.", gang])
    assert not scheduler_messages.lack_resources(['0/1 nodes are available: persistentvolumeclaim "x" not found.', gang])


def test_a_pod_whose_volume_is_on_another_node_gets_the_worker_of_that_node() -> None:
    job = elastic_job("e", ["a", "b", "c"])
    state = snapshot([gpu_node(name, 1) for name in "abc"], pending_pods("c", spec=VOLUME), [job], storage=storage("b"))
    assert set(allocate(with_scheduler_messages(state), NOW).jobs["e"].leaving) == {1}


def test_a_worker_that_waits_for_its_volume_takes_nothing_from_other_jobs() -> None:
    recipient = elastic_job("f", ["a"], wanted=2, min_replicas=2)
    lacking = builders.pod("f-worker-1", VOLUME, requests={GPU: "1"}, status=_volume_missing(), age=60)
    recipient = dataclasses.replace(
        recipient, members=(recipient.members[0], dataclasses.replace(recipient.members[0], index=1, pod=lacking))
    )
    result = allocate(snapshot([gpu_node("a", 3)], [], [elastic_job("e", ["a", "a"]), recipient]), NOW)
    assert not result.jobs["e"].leaving


def _volume_missing() -> dict[str, Any]:
    message = '0/1 nodes are available: persistentvolumeclaim "data" not found.'
    return {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "message": message}]}


def test_a_worker_that_stays_for_a_notice_is_not_followed_by_another() -> None:
    """Its pod is not deleted for a while. The pod that waits gets its device then, and needs no second one."""
    waiting = pending_pods("other")
    first = snapshot([gpu_node("a", 3)], waiting, [elastic_job("e", ["a"] * 3, wanted=3)])
    decision = allocate(first, NOW)
    ((index, removal),) = decision.jobs["e"].leaving.items()
    assert removal.reason == GAVE_BACK
    (job,) = first.jobs
    staying = tuple(each for each in job.members if each.index != index)
    leaving = tuple(each for each in job.members if each.index == index)
    later = dataclasses.replace(first, jobs=(dataclasses.replace(job, members=staying, removed_members=leaving),))
    again = allocate(dataclasses.replace(later, history=decision.history), NOW)
    assert set(again.jobs["e"].leaving) == {index}
    assert set(again.jobs["e"].members) == {each.index for each in staying}
