"""A second machine that has joined the cluster of `traincrew up` and loses its power."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from tests.cluster.api import Object, eventually
from tests.node import node_outages
from tests.node.joined_node import NodeProcess
from tests.node.local_cluster import LocalCluster, pod

LOST = 120.0
"""Seconds. It takes 50 until a node is lost, and ten more for each step of a loaded machine."""
UNREACHABLE = {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 1}


@pytest.fixture
def machines() -> Iterator[tuple[LocalCluster, NodeProcess]]:
    if os.geteuid() != 0:
        pytest.skip("joined nodes have the isolation level root")
    first = LocalCluster("root")
    try:
        first.up()
        second = NodeProcess("second", first.kubeconfig, first.kubeconfig)
        try:
            yield first, second.up("--client-ca-file", str(first.data / "pki" / "ca.crt"))
        finally:
            second.close()
    finally:
        first.close()


def _on(node: str, name: str) -> Object:
    command = ("sh", "-c", "echo started; exec sleep 1000")
    return pod(name, *command, nodeSelector={"kubernetes.io/hostname": node}, tolerations=[UNREACHABLE])


def _ready(cluster: LocalCluster, node: str) -> str:
    listed = cluster.api.call("GET", f"/api/v1/nodes/{node}")["status"]["conditions"]
    return next(str(each["status"]) for each in listed if each["type"] == "Ready")


def test_the_pods_of_a_machine_that_loses_its_power_are_evicted_and_end_when_it_is_back(
    machines: tuple[LocalCluster, NodeProcess],
) -> None:
    first, second = machines
    first.create(_on("traincrew", "stays"), _on("second", "lost"))
    kept = first.running("stays")["metadata"]["uid"]
    first.running("lost")
    eventually(lambda: first.logs("lost") == "started\n")
    node_outages.power_off(second)
    eventually(lambda: _ready(first, "second") == "Unknown", LOST)
    eventually(lambda: "deletionTimestamp" in first.pod("lost")["metadata"], LOST)
    conditions = {each["type"]: each for each in first.pod("lost")["status"]["conditions"]}
    assert conditions["Ready"]["status"] == "False"
    assert conditions["DisruptionTarget"]["reason"] == "DeletionByTaintManager"
    assert _ready(first, "traincrew") == "True"
    assert first.running("stays")["metadata"]["uid"] == kept
    node_outages.reboot(second, "--client-ca-file", str(first.data / "pki" / "ca.crt"))
    first.gone("lost", seconds=LOST)
    assert _ready(first, "second") == "True"
