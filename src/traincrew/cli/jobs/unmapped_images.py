"""Warns about images without a mapping, which run in the default environment of this machine."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from typing import Any

from traincrew.cli.jobs.manifests import ManifestObject
from traincrew.embedded import data_directory

LOCAL_IMAGE = "traincrew.local/default"
"""The image of jobs that are generated from a command: it runs in the default environment."""


def warnings(wanted: Iterable[ManifestObject], directory: data_directory.DataDirectory) -> list[str]:
    """One warning for each image. None if the cluster runs no pods or rejects such images."""
    from traincrew.embedded.kubelet.images.environment import Environment
    from traincrew.embedded.kubelet.images.resolver import ImageResolver

    environment = (directory.running() or {}).get("environment")
    if not environment:
        return []
    images = ImageResolver.load(directory.data)
    named = dict.fromkeys(image for each in wanted if each.job is not None for image in _images(each.document))
    found = {image: images.resolve(image) for image in named if image != LOCAL_IMAGE}
    return [
        _warning(image, str(environment)) for image, each in found.items() if isinstance(each, Environment) and not each.mapped
    ]


def _warning(image: str, environment: str) -> str:
    return (
        f"image {image} has no mapping and runs in {environment}. Run `traincrew image set "
        f"{shlex.quote(image)} --env DIR` to map it. docs/frameworks.md lists ready-made environments (`make framework-torch`)."
    )


def _images(value: Any) -> Iterator[str]:
    """The images of all containers in the manifest."""
    if isinstance(value, dict):
        for container in value.get("containers") or ():
            if isinstance(container, dict) and isinstance(container.get("image"), str):
                yield container["image"]
        for each in value.values():
            yield from _images(each)
