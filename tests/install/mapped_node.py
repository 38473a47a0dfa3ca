"""A node of a real control plane that runs the operator's image from this source tree."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import yaml
from tests.node import joined_node
from tests.node.joined_node import JoinedNode
from tests.node.local_cluster import python_for

OPERATOR_USER = 65532


@contextlib.contextmanager
def running() -> Iterator[JoinedNode]:
    with joined_node.own_control_plane() as kube:
        node = JoinedNode(kube)
        try:
            _map_image(node)
            yield node.up()
        finally:
            node.close()


def _map_image(node: JoinedNode) -> None:
    program, variables = python_for(OPERATOR_USER)
    entry = {
        "pattern": "registry.example.com/team/traincrew",
        "command": [program, "-m", "traincrew.cli.main"],
        "variables": variables,
    }
    node.data.mkdir(mode=0o700, exist_ok=True)
    (node.data / "images.yaml").write_text(yaml.safe_dump({"version": 1, "images": [entry]}))
