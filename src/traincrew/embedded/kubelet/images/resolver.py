"""From an image's name to the environment that runs in its place."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import shlex
from collections.abc import Iterable

from traincrew import errors
from traincrew.embedded.kubelet.images import default_environment, image_map_files, image_names
from traincrew.embedded.kubelet.images.environment import Environment, EnvironmentNotFound
from traincrew.embedded.kubelet.images.image_map import ImageMapEntry
from traincrew.embedded.kubelet.images.tools_directory import ContainerTools
from traincrew.embedded.kubelet.runtime.spec import Mount

Stamp = tuple[tuple[int, int, int] | None, ...]


class ImageResolver:
    """Files that change are read again: `traincrew image set` works on a cluster that runs."""

    def __init__(
        self, paths: Iterable[pathlib.Path], default: Environment, tools: ContainerTools | None = None, strict: bool = False
    ) -> None:
        self._paths, self._default, self._tools, self._strict = tuple(paths), default, tools, strict
        self._stamp: Stamp | None = None
        self._entries: dict[str, ImageMapEntry] = {}
        self._fault = ""

    @classmethod
    def load(cls, data: pathlib.Path, tools: ContainerTools | None = None, strict: bool = False) -> ImageResolver:
        """Of the user and of the cluster, with this process's environment as the default one."""
        return cls(
            (image_map_files.user_path(), image_map_files.cluster_path(data)), default_environment.from_process(), tools, strict
        )

    def resolve(self, image: str, role: str = "") -> Environment | EnvironmentNotFound:
        try:
            name = image_names.parse(image)
        except ValueError as error:
            message = f'Failed to apply default image tag "{image}": couldn\'t parse image name "{image}": {error}'
            return EnvironmentNotFound(message, "InvalidImageName")
        self._reread()
        if self._fault:
            return EnvironmentNotFound(f"the file of image names cannot be used: {self._fault}")
        entry = self._best(name)
        if entry is None and self._strict and not (role and self._tools):
            return EnvironmentNotFound(_unknown(image))
        found = self._default if entry is None else self._of(entry)
        if isinstance(found, EnvironmentNotFound) or self._tools is None:
            return found
        return self._tools.add_to(found, role)

    def _best(self, name: image_names.ImageName) -> ImageMapEntry | None:
        fitting = [each for each in self._entries.values() if image_names.parse_pattern(each.pattern).matches(name)]
        return max(fitting, key=lambda each: image_names.parse_pattern(each.pattern).weight, default=None)

    def _of(self, entry: ImageMapEntry) -> Environment | EnvironmentNotFound:
        if entry.environment and not os.path.isdir(entry.environment):
            message = f"{entry.environment}, the environment of images {entry.pattern!r}, does not exist"
            return EnvironmentNotFound(f"{message}: make it, or name another with {_remedy(entry.pattern)}")
        missing = next((each.source for each in entry.mounts if not os.path.exists(each.source)), "")
        if missing:
            return EnvironmentNotFound(f"{missing}, which images {entry.pattern!r} are to see, does not exist")
        base = default_environment.from_prefix(entry.environment, entry.libraries) if entry.environment else self._default
        source = f"{base.source} (images {entry.pattern!r})"
        mounts = tuple(Mount(each.path, os.path.realpath(each.source), each.read_only) for each in entry.mounts)
        return dataclasses.replace(
            base,
            env={**base.env, **entry.variables},
            mounts=(*base.mounts, *mounts),
            workdir=entry.workdir,
            command=entry.command,
            source=source,
            own=True,
        )

    def _reread(self) -> None:
        stamp = tuple(_stamp(path) for path in self._paths)
        if stamp == self._stamp:
            return
        try:
            self._entries = {entry.pattern: entry for path in self._paths for entry in image_map_files.read(path)}
            self._fault = ""
        except errors.SettingsError as error:
            self._fault = "; ".join(str(error).splitlines())
        self._stamp = stamp


def _stamp(path: pathlib.Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def _unknown(image: str) -> str:
    return f"no environment stands for image {image!r} on this machine (--strict-images): name one with {_remedy(image)}"


def _remedy(image: str) -> str:
    return f"`traincrew image set {shlex.quote(image)} --env DIR`"
