"""Bind mounts of a container: volumes and the pod's files in /etc; and masks over the cluster's data directory."""

from __future__ import annotations

import contextlib
import errno
import os
import stat

from traincrew.embedded.kubelet.runtime import syscalls
from traincrew.embedded.kubelet.runtime.host_mounts import is_within
from traincrew.embedded.kubelet.runtime.rootfs.hidden_directories import HiddenDirectories
from traincrew.embedded.kubelet.runtime.rootfs.mounts import bound, mount_target, opened, remount_read_only, tmpfs
from traincrew.embedded.kubelet.runtime.rootfs.root_directory import Resolve, RootDirectory, descriptor_path
from traincrew.embedded.kubelet.runtime.spec import ContainerConfig, Mount, PodSandboxConfig


class MountError(Exception):
    """Names the mount and the reason. The message goes into the pod's events."""


def ordered_mounts(pod: PodSandboxConfig, container: ContainerConfig) -> tuple[Mount, ...]:
    """All mounts of a container, parents first. Mounts of the container replace those that every pod has."""
    mounts = {os.path.normpath(mount.path): mount for mount in container.mounts}
    for name in ("hosts", "resolv.conf", "hostname"):
        source = f"{pod.directory}/etc/{name}"
        if os.path.exists(source):
            mounts.setdefault(f"/etc/{name}", Mount(f"/etc/{name}", source))
    message = f"{pod.directory}/containers/{container.name}/{container.attempt}/message"
    if container.message_path and os.path.exists(message):
        mounts.setdefault(os.path.normpath(container.message_path), Mount(container.message_path, message))
    return tuple(mounts[path] for path in sorted(mounts, key=lambda path: (path.count("/"), path)))


class BindMounter:
    def __init__(self, root: RootDirectory, pod: PodSandboxConfig, container: ContainerConfig, hidden: HiddenDirectories) -> None:
        self._root = root
        self._pod = pod
        self._directory = os.path.realpath(pod.directory)
        self._hidden = hidden
        self._masks: list[str] = []
        self._attributes = 0 if container.privileged else syscalls.MOUNT_ATTR_NODEV

    def mask(self) -> None:
        """Covers the hidden directories with empty ones.

        They stay writable until `make_masks_read_only`: volumes may be mounted in them.
        """
        for path in self._hidden.paths:
            if self._root.exists(path):
                with opened(self._root, path) as found:
                    self._mask(found, path)

    def make_masks_read_only(self) -> None:
        for path in self._masks:
            # Of this mount only: mounts below it keep their flags. A volume may cover it; then it is not visible.
            with contextlib.suppress(OSError), mount_target(self._root, path) as target:
                remount_read_only(target)

    def mount(self, mount: Mount) -> None:
        try:
            if mount.kind == "tmpfs" and not (mount.source and os.path.ismount(mount.source)):
                self._tmpfs(mount)
            else:
                self._bind(mount)
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else str(error)
            if mount.volume:
                # A subPath: the event must not show the path of the volume on this machine to the pod's user.
                raise MountError(f"failed to prepare subPath for the mount at {mount.path}: {reason}") from error
            raise MountError(f"cannot mount {mount.source or mount.kind} at {mount.path}: {reason}") from error

    def _tmpfs(self, mount: Mount) -> None:
        flags = syscalls.MS_RDONLY if mount.read_only else 0
        tmpfs(self._root, mount.path, f"mode=1777,size={mount.size or '50%'}", flags)

    def _bind(self, mount: Mount) -> None:
        source = _open_source(mount)
        try:
            real = os.readlink(descriptor_path(source))
            self._check_source(mount, real, source)
            kind = "directory" if stat.S_ISDIR(os.fstat(source).st_mode) else "file"
            attributes = self._attributes | (syscalls.MOUNT_ATTR_RDONLY if mount.read_only else 0)
            with opened(self._root, mount.path, kind) as target:
                self._check_target(mount.path, target, kind)
                with bound(self._root, source, mount.path, target, attributes) as mounted:
                    self._mask_below(mounted, mount, real)
        finally:
            os.close(source)

    def _check_source(self, mount: Mount, real: str, source: int) -> None:
        """A symbolic link in a volume must not lead out of it, and no mount may show the cluster's data directory."""
        own = f"{self._directory}/volumes"
        if is_within(os.path.normpath(mount.source), f"{self._pod.directory}/volumes"):
            first = os.path.relpath(mount.source, f"{self._pod.directory}/volumes").split("/")[0]
            if not is_within(real, f"{own}/{first}"):
                raise MountError(f"cannot mount {mount.source} at {mount.path}: it is outside of its volume")
        if self._hidden.hides(real, source, host_path=mount.host_path):
            why = "the cluster's data directory cannot be mounted into pods"
            raise MountError(f"cannot mount {mount.source} at {mount.path}: {why}")

    def _check_target(self, path: str, target: int, kind: str) -> None:
        is_directory = stat.S_ISDIR(os.fstat(target).st_mode)
        with opened(self._root, "/proc") as proc:
            in_proc = os.fstat(proc).st_dev == os.fstat(target).st_dev
        if in_proc:
            raise MountError(f"cannot mount anything at {path}: it is in /proc")
        if is_directory != (kind == "directory"):
            kinds = ("a file", "a directory") if is_directory else ("a directory", "a file")
            raise MountError(f"cannot mount {kinds[0]} at {path}: it is {kinds[1]}")

    def _mask_below(self, mounted: int, mount: Mount, real: str) -> None:
        """Covers what the new mount shows of the hidden directories. By identity: pods may exchange directories above them."""
        for path, expected in self._hidden.identities.items():
            if expected is None or not is_within(path, real):
                continue
            inner = os.path.relpath(path, real)
            with contextlib.closing(RootDirectory(mounted, Resolve.NO_SYMLINKS)) as tree, opened(tree, inner) as found:
                if (os.fstat(found).st_dev, os.fstat(found).st_ino) != expected:
                    raise OSError(errno.ESTALE, "a directory was replaced meanwhile")
                self._mask(found, os.path.join(mount.path, inner))

    def _mask(self, found: int, path: str) -> None:
        if stat.S_ISDIR(os.fstat(found).st_mode):
            flags = syscalls.MS_NOSUID | syscalls.MS_NODEV | syscalls.MS_NOEXEC
            syscalls.mount("tmpfs", descriptor_path(found), "tmpfs", flags, "mode=755,size=64k")
            self._masks.append(path)
        else:
            syscalls.mount(os.devnull, descriptor_path(found), "", syscalls.MS_BIND)


def _open_source(mount: Mount) -> int:
    """Pods may change a volume while a part of it is being mounted. The volume's own path is beyond their reach."""
    if not mount.volume:
        return os.open(mount.source, os.O_PATH | os.O_CLOEXEC)
    with contextlib.closing(RootDirectory(mount.volume, Resolve.BENEATH)) as volume:
        return volume.open(mount.source.removeprefix(mount.volume))
