"""A node of a real control plane that runs the operator's image from this source tree, and an earlier one from another tree."""

from __future__ import annotations

import contextlib
import pathlib
from collections.abc import Iterator

import yaml
from tests.install import earlier_release
from tests.node import joined_node
from tests.node.joined_node import JoinedNode
from tests.node.local_cluster import SOURCE, python_for

IMAGE = "registry.example.com/team/traincrew"
OPERATOR_USER = 65532


@contextlib.contextmanager
def running(earlier: pathlib.Path | None = None) -> Iterator[JoinedNode]:
    """earlier: the source tree of the image of earlier_release."""
    with joined_node.own_control_plane() as kube:
        node = JoinedNode(kube)
        try:
            images = {IMAGE: SOURCE} | ({f"{IMAGE}:{earlier_release.VERSION}": earlier} if earlier else {})
            _map_images(node, images)
            yield node.up()
        finally:
            node.close()


def _map_images(node: JoinedNode, images: dict[str, pathlib.Path]) -> None:
    entries = []
    for pattern, source in images.items():
        program, variables = python_for(OPERATOR_USER, source)
        entries.append({"pattern": pattern, "command": [program, "-m", "traincrew.cli.main"], "variables": variables})
    node.data.mkdir(mode=0o700, exist_ok=True)
    (node.data / "images.yaml").write_text(yaml.safe_dump({"version": 1, "images": entries}))
