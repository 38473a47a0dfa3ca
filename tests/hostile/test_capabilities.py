"""No capability leads a container to the host through the processes that it sees."""

from __future__ import annotations

from tests.cluster.api import Object
from tests.embedded.kubelet.runtime import host_search
from tests.hostile.hostile_cluster import HostileCluster
from tests.node.local_cluster import pod

from traincrew.embedded.kubelet.runtime.container import capabilities

AT_ONCE = 14
"""Containers of a pod: each is an interpreter."""


def searcher(cluster: HostileCluster, name: str, *added: str) -> Object:
    container: Object = {"name": name, "image": "x", "command": host_search.command(cluster.data / "kubeconfig")}
    return container | {"securityContext": {"capabilities": {"add": list(added)}}}


def searched(cluster: HostileCluster, name: str, containers: list[Object], **spec: object) -> dict[str, str]:
    """What each container has found."""
    made = pod(name, **spec)
    made["spec"]["containers"] = containers
    cluster.create(made)
    cluster.ended(name, within=120)
    return {each["name"]: cluster.logs(name, container=each["name"]) for each in containers}


def test_each_capability_alone_finds_no_way_through_init(cluster: HostileCluster) -> None:
    names = list(capabilities.NUMBERS)
    found: dict[str, str] = {}
    for start in range(0, len(names), AT_ONCE):
        containers = [searcher(cluster, each.lower().replace("_", "-"), each) for each in names[start : start + AT_ONCE]]
        found |= searched(cluster, f"capabilities-{start}", containers)
    assert len(found) == len(names)
    assert {name: text for name, text in found.items() if text != "searching\nsearched\n"} == {}
