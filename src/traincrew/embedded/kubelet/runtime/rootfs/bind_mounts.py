"""What the pod asked to find at given paths: volumes, its own /etc files, and nothing at all where the cluster's data is."""

from __future__ import annotations

import contextlib
import os
import stat

from traincrew.embedded.kubelet.runtime import syscalls
from traincrew.embedded.kubelet.runtime.rootfs.host_root import is_within
from traincrew.embedded.kubelet.runtime.rootfs.mounts import bind, mount_target, remount_read_only, restrict, tmpfs
from traincrew.embedded.kubelet.runtime.rootfs.root_directory import RootDirectory, descriptor_path
from traincrew.embedded.kubelet.runtime.spec import Container, Mount, Pod

_FOR_PODS = ("volumes", "node/doors", "node/tools")
"""Below the cluster's data directory: the claims' directories, other pods' doors (which ask for a secret), the tools."""


class MountError(Exception):
    """Says which mount and why, in words for the pod's events."""


def ordered_mounts(pod: Pod, container: Container) -> tuple[Mount, ...]:
    """All binds of a container, outer ones first; what it asks for goes before what every pod has."""
    asked = {os.path.normpath(mount.path): mount for mount in container.mounts}
    for name in ("hosts", "resolv.conf", "hostname"):
        source = f"{pod.directory}/etc/{name}"
        if os.path.exists(source):
            asked.setdefault(f"/etc/{name}", Mount(f"/etc/{name}", source))
    message = f"{pod.directory}/containers/{container.name}/{container.attempt}/message"
    if container.message_path and os.path.exists(message):
        asked.setdefault(os.path.normpath(container.message_path), Mount(container.message_path, message))
    return tuple(asked[path] for path in sorted(asked, key=lambda path: (path.count("/"), path)))


class BindMounter:
    def __init__(self, root: RootDirectory, pod: Pod, container: Container) -> None:
        self._root = root
        self._pod = pod
        self._directory = os.path.realpath(pod.directory)
        self._masked = tuple(os.path.realpath(path) for path in pod.masked)
        self._empty: list[str] = []
        self._attributes = 0 if container.privileged else syscalls.MOUNT_ATTR_NODEV

    def hide(self) -> None:
        """Empty directories in place of the masked ones. They stay writable until `seal`: volumes may be asked for in them."""
        for path in self._masked:
            if self._root.exists(path):
                self._hide_at(path)

    def seal(self) -> None:
        for path in self._empty:
            # Of this mount alone: what was mounted in it keeps its own flags. A volume may have covered it: then nobody sees it.
            with contextlib.suppress(OSError), mount_target(self._root, path) as target:
                remount_read_only(target)

    def mount(self, asked: Mount) -> None:
        try:
            if asked.kind == "tmpfs" and not (asked.source and os.path.ismount(asked.source)):
                self._tmpfs(asked)
            else:
                self._bind(asked)
        except OSError as refusal:
            reason = os.strerror(refusal.errno) if refusal.errno else str(refusal)
            raise MountError(f"cannot mount {asked.source or asked.kind} at {asked.path}: {reason}") from refusal

    def _tmpfs(self, asked: Mount) -> None:
        tmpfs(self._root, asked.path, f"mode=1777,size={asked.size or '50%'}")
        if asked.read_only:
            restrict(self._root, asked.path, syscalls.MOUNT_ATTR_RDONLY)

    def _bind(self, asked: Mount) -> None:
        source = os.open(asked.source, os.O_PATH | os.O_CLOEXEC)
        try:
            real = os.readlink(descriptor_path(source))
            self._check_source(asked, real)
            make = "directory" if stat.S_ISDIR(os.fstat(source).st_mode) else "file"
            self._check_target(asked.path, make)
            bind(
                self._root,
                descriptor_path(source),
                asked.path,
                self._attributes | (syscalls.MOUNT_ATTR_RDONLY if asked.read_only else 0),
            )
        finally:
            os.close(source)
        for path in self._masked:
            if is_within(path, real) and make == "directory":
                self._hide_at(os.path.join(asked.path, os.path.relpath(path, real)))

    def _check_source(self, asked: Mount, real: str) -> None:
        """Links that another container put into a volume must not lead out of it, nor may anything lead to the cluster's data."""
        own = f"{self._directory}/volumes"
        if is_within(os.path.normpath(asked.source), f"{self._pod.directory}/volumes"):
            first = os.path.relpath(asked.source, f"{self._pod.directory}/volumes").split("/")[0]
            if not is_within(real, f"{own}/{first}"):
                raise MountError(f"cannot mount {asked.source} at {asked.path}: it leads out of its volume")
        if is_within(real, self._directory):
            return
        for masked in self._masked:
            allowed = any(is_within(real, f"{masked}/{name}") for name in _FOR_PODS)
            if is_within(real, masked) and real != masked and not allowed:
                raise MountError(f"cannot mount {asked.source} at {asked.path}: the cluster's data is not for pods")

    def _check_target(self, path: str, make: str) -> None:
        descriptor = self._root.open(path, make)
        try:
            is_directory = stat.S_ISDIR(os.fstat(descriptor).st_mode)
            with mount_target(self._root, "/proc") as proc:
                in_proc = os.stat(proc).st_dev == os.fstat(descriptor).st_dev
        finally:
            os.close(descriptor)
        if in_proc:
            raise MountError(f"cannot mount anything at {path}: /proc tells of the container itself")
        if is_directory != (make == "directory"):
            kinds = ("a file", "a directory") if is_directory else ("a directory", "a file")
            raise MountError(f"cannot mount {kinds[0]} at {path}: it is {kinds[1]}")

    def _hide_at(self, path: str) -> None:
        if self._root.exists(path):
            tmpfs(self._root, path, "mode=755,size=64k", syscalls.MS_NOEXEC)
            self._empty.append(path)
