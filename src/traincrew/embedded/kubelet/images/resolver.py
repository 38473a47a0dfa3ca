"""Resolves an image name to the environment that replaces the image."""

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
    """Reloads changed image map files, so that `traincrew image set` affects a running cluster."""

    def __init__(
        self, paths: Iterable[pathlib.Path], default: Environment, tools: ContainerTools | None = None, strict: bool = False
    ) -> None:
        self._paths, self._default, self._tools, self._strict = tuple(paths), default, tools, strict
        self._stamp: Stamp | None = None
        self._entries: dict[str, ImageMapEntry] = {}
        self._load_error = ""

    @classmethod
    def load(cls, data: pathlib.Path, tools: ContainerTools | None = None, strict: bool = False) -> ImageResolver:
        """Uses the image maps of the user and of the cluster, and the environment of this process as the default."""
        return cls(
            (image_map_files.user_path(), image_map_files.cluster_path(data)), default_environment.from_process(), tools, strict
        )

    def resolve(self, image: str, role: str = "", pod_environment: str = "") -> Environment | EnvironmentNotFound:
        """pod_environment: the environment that the pod's annotation names, in place of the default one."""
        try:
            name = image_names.parse(image)
        except ValueError as error:
            message = f'Failed to apply default image tag "{image}": couldn\'t parse image name "{image}": {error}'
            return EnvironmentNotFound(message, "InvalidImageName")
        self._reload()
        if self._load_error:
            return EnvironmentNotFound(f"cannot load the image map: {self._load_error}")
        entry = self._best_match(name)
        if entry is None and self._strict and not (role and self._tools) and not pod_environment:
            return EnvironmentNotFound(_not_configured(image))
        default = self._default_of(pod_environment)
        if isinstance(default, EnvironmentNotFound):
            return default
        environment = default if entry is None else self._build(entry, default)
        if isinstance(environment, EnvironmentNotFound) or self._tools is None:
            return environment
        return self._tools.add_to(environment, role)

    def _best_match(self, name: image_names.ImageName) -> ImageMapEntry | None:
        matching = [each for each in self._entries.values() if image_names.parse_pattern(each.pattern).matches(name)]
        return max(matching, key=lambda each: image_names.parse_pattern(each.pattern).weight, default=None)

    def _default_of(self, pod_environment: str) -> Environment | EnvironmentNotFound:
        if not pod_environment:
            return self._default
        if not os.path.isabs(pod_environment) or not os.path.isdir(os.path.join(pod_environment, "bin")):
            message = f"{pod_environment!r} in the annotation {default_environment.ANNOTATION} is not an environment of this node"
            return EnvironmentNotFound(f"{message}: it has no bin directory.")
        return default_environment.from_annotation(pod_environment)

    def _build(self, entry: ImageMapEntry, default: Environment) -> Environment | EnvironmentNotFound:
        if entry.environment and not os.path.isdir(entry.environment):
            message = f"environment {entry.environment} of images {entry.pattern!r} does not exist"
            return EnvironmentNotFound(f"{message}. Create it, or run {_remedy(entry.pattern)}.")
        missing = next((each.source for each in entry.mounts if not os.path.exists(each.source)), "")
        if missing:
            return EnvironmentNotFound(f"mount source {missing} of images {entry.pattern!r} does not exist")
        base = default_environment.from_prefix(entry.environment, entry.libraries) if entry.environment else default
        source = f"{base.source} (images {entry.pattern!r})"
        mounts = tuple(Mount(each.path, os.path.realpath(each.source), each.read_only) for each in entry.mounts)
        return dataclasses.replace(
            base,
            env={**base.env, **entry.variables},
            mounts=(*base.mounts, *mounts),
            workdir=entry.workdir,
            command=entry.command,
            source=source,
            mapped=True,
        )

    def _reload(self) -> None:
        stamp = tuple(_stamp(path) for path in self._paths)
        if stamp == self._stamp:
            return
        try:
            self._entries = {entry.pattern: entry for path in self._paths for entry in image_map_files.read(path)}
            self._load_error = ""
        except errors.SettingsError as error:
            self._load_error = "; ".join(str(error).splitlines())
        self._stamp = stamp


def _stamp(path: pathlib.Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


def _not_configured(image: str) -> str:
    return f"no environment is configured for image {image!r} (--strict-images). Run {_remedy(image)}."


def _remedy(image: str) -> str:
    return f"`traincrew image set {shlex.quote(image)} --env-dir DIR`"
