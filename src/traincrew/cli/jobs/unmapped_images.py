"""Images that have no environment of their own on this machine: what runs in their place is told before it surprises."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from typing import Any

from traincrew.cli.jobs.manifests import ManifestObject
from traincrew.embedded import data_directory

LOCAL_IMAGE = "traincrew.local/default"
"""Stands for no image at all: what runs in the environment of the machine's cluster."""


def warnings(wanted: Iterable[ManifestObject], where: data_directory.DataDirectory) -> list[str]:
    """One for each image; none where the cluster runs no pods, or refuses such images by itself."""
    from traincrew.embedded.kubelet.images.environment import Environment
    from traincrew.embedded.kubelet.images.resolver import ImageResolver

    environment = (where.running() or {}).get("environment")
    if not environment:
        return []
    images = ImageResolver.load(where.data)
    named = dict.fromkeys(image for each in wanted if each.job is not None for image in _images(each.document))
    found = {image: images.resolve(image) for image in named if image != LOCAL_IMAGE}
    return [_told(image, str(environment)) for image, each in found.items() if isinstance(each, Environment) and not each.own]


def _told(image: str, environment: str) -> str:
    return (
        f"image {image} has no mapping and runs in {environment}. Run `traincrew image set "
        f"{shlex.quote(image)} --env DIR` to map it. docs/frameworks.md lists ready-made environments (`make framework-torch`)."
    )


def _images(value: Any) -> Iterator[str]:
    """Of all containers, wherever the kind has its pod templates."""
    if isinstance(value, dict):
        for container in value.get("containers") or ():
            if isinstance(container, dict) and isinstance(container.get("image"), str):
                yield container["image"]
        for each in value.values():
            yield from _images(each)
