"""Two nodes of a real Kubernetes on this machine: their pods reach each other, and see each other's addresses."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest
from tests.cluster.api import eventually
from tests.node import joined_node
from tests.node.joined_node import JoinedNode
from tests.node.local_cluster import pod

SERVER = """
import socket
with socket.create_server(("", 4711)) as listener:
    print(listener.accept()[1][0], flush=True)
"""
CLIENT = "import socket, sys; socket.create_connection((sys.argv[1], 4711), 30)"


@pytest.fixture(scope="module")
def nodes() -> Iterator[tuple[JoinedNode, JoinedNode]]:
    with joined_node.own_control_plane() as kube, contextlib.ExitStack() as stack:
        found = [JoinedNode(kube, name) for name in ("first", "second")]
        for node in found:
            stack.callback(node.close)
            node.up()
        yield found[0], found[1]


def test_a_server_sees_the_address_of_a_client_on_the_other_node(nodes: tuple[JoinedNode, JoinedNode]) -> None:
    first, second = nodes
    first.create(pod("server", "python3", "-c", SERVER, nodeSelector={"kubernetes.io/hostname": first.name}))
    address = first.running("server")["status"]["podIP"]
    first.create(pod("client", "python3", "-c", CLIENT, address, nodeSelector={"kubernetes.io/hostname": second.name}))
    client = first.ended("client")
    assert client["status"]["phase"] == "Succeeded", first.logs("client")
    eventually(lambda: first.logs("server").strip() == client["status"]["podIP"])
