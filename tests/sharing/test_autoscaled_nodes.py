"""Workers on idle capacity beside an autoscaler of nodes: they come to no node that nothing else uses, and keep none."""

from __future__ import annotations

import dataclasses
import datetime as dt
import random

import msgspec
import pytest
from tests.sharing.snapshots import EAGER, GPU, NOW, elastic_job, gpu_node, snapshot, with_owner, worker

from traincrew.model.elastic_allocation import GAVE_BACK
from traincrew.scheduling.objects import Node
from traincrew.scheduling.pod_info import PodInfo
from traincrew.sharing import allocate
from traincrew.sharing.cluster_snapshot import ClusterSnapshot, Member, SharingDecision

POOL = {"karpenter.sh/nodepool": "gpus"}
LATER = NOW + dt.timedelta(seconds=121)


def karpenter_node(name: str, gpus: int = 4) -> Node:
    node = gpu_node(name, gpus)
    return msgspec.structs.replace(node, metadata=msgspec.structs.replace(node.metadata, labels={**node.metadata.labels, **POOL}))


def with_surplus(nodes: list[Node], *others: PodInfo) -> ClusterSnapshot:
    """A job with a worker on the first node and one on idle capacity of the second."""
    pods = [worker("e", 0, nodes[0].name), worker("e", 1, nodes[1].name, surplus=True)]
    job = dataclasses.replace(
        elastic_job("e", [nodes[0].name]),
        wanted=1,
        members=tuple(Member(index, pod, index == 1, NOW - dt.timedelta(hours=1)) for index, pod in enumerate(pods)),
    )
    return snapshot(nodes, [*others, *pods], [job], policy=EAGER)


def after_withdrawal(first: ClusterSnapshot) -> SharingDecision:
    return allocate(dataclasses.replace(first, history=allocate(first, NOW).history), LATER)


def daemon(node: str) -> PodInfo:
    owner = {"ownerReferences": [{"kind": "DaemonSet", "name": "d", "uid": "d", "controller": True}]}
    return with_owner(worker("d", 0, node, gpus=0), owner)


@pytest.mark.parametrize("others", [(), (daemon("b"),)], ids=["alone", "beside a DaemonSet"])
def test_workers_leave_a_node_of_karpenter_that_nothing_else_uses(others: tuple[PodInfo, ...]) -> None:
    first = with_surplus([gpu_node("a", 1), karpenter_node("b")], *others)
    now = allocate(first, NOW)
    assert set(now.jobs["e"].members) == {0, 1}, "not at once"
    assert now.requeue_at is not None
    assert now.requeue_at <= LATER
    removal = after_withdrawal(first).jobs["e"].leaving[1]
    message = "only workers on idle capacity use node b, which its autoscaler may remove"
    assert (removal.reason, removal.message) == (GAVE_BACK, message)


def test_workers_stay_on_a_node_that_others_use() -> None:
    first = with_surplus([gpu_node("a", 1), karpenter_node("b", 2)], worker("other", 0, "b"))
    assert not after_withdrawal(first).jobs["e"].leaving


@pytest.mark.parametrize(("autoscaled", "leave"), [("auto", False), ("no", False), ("yes", True)])
def test_the_flag_says_which_nodes_belong_to_an_autoscaler(autoscaled: str, leave: bool) -> None:
    first = with_surplus([gpu_node("a", 1), gpu_node("b", 4)])
    first = dataclasses.replace(first, policy=dataclasses.replace(first.policy, autoscaled=autoscaled))
    assert bool(after_withdrawal(first).jobs["e"].leaving) == leave


def test_a_thousand_clusters_get_new_workers_only_where_there_is_room_and_somebody_else() -> None:
    """So no autoscaler has a reason to add a node for them. One that is added for a requested worker is used by it."""
    grown = 0
    for seed in range(1000):
        rng = random.Random(seed)
        nodes = [karpenter_node(f"n{number}", rng.randint(0, 4)) for number in range(rng.randint(1, 5))]
        others = [worker(f"o{number}", 0, node.name) for number, node in enumerate(nodes) if rng.random() < 0.5]
        others = [pod for pod in others if _gpus(nodes, pod.spec.node_name)]
        home = gpu_node("home", 1)
        decision = allocate(snapshot([home, *nodes], others, [elastic_job("e", ["home"])], policy=EAGER), NOW)
        taken: dict[str, int] = {}
        for hint in decision.jobs["e"].node_hints.values():
            taken[hint] = taken.get(hint, 0) + 1
        for name, count in taken.items():
            users = [pod for pod in others if pod.spec.node_name == name]
            assert users, f"seed {seed}: nothing else uses {name}"
            assert count + len(users) <= _gpus(nodes, name), f"seed {seed}: {name} has no room"
        grown += bool(taken)
    assert grown > 100


def _gpus(nodes: list[Node], name: str) -> int:
    return next(int(str(node.status.allocatable[GPU])) for node in nodes if node.name == name)
