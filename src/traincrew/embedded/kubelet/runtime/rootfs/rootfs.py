"""A container's rootfs: the host's files below, a writable overlay above, and the mounts of the container."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import os

from traincrew.embedded.file_trees import removal
from traincrew.embedded.kubelet.runtime import host_mounts, syscalls
from traincrew.embedded.kubelet.runtime.host_mounts import HostMount, is_within
from traincrew.embedded.kubelet.runtime.rootfs import kernel_filesystems, mount_namespaces, shared_memory
from traincrew.embedded.kubelet.runtime.rootfs.bind_mounts import BindMounter, MountError, ordered_mounts
from traincrew.embedded.kubelet.runtime.rootfs.hidden_directories import HiddenDirectories
from traincrew.embedded.kubelet.runtime.rootfs.host_root import HostRoot
from traincrew.embedded.kubelet.runtime.rootfs.mounts import bind, remount_read_only
from traincrew.embedded.kubelet.runtime.rootfs.overlay import WritableLayer
from traincrew.embedded.kubelet.runtime.rootfs.root_directory import RootDirectory, descriptor_path
from traincrew.embedded.kubelet.runtime.spec import ContainerConfig, Isolation, PodSandboxConfig

_OWN_DIRECTORIES = {"/run": 0o755, "/tmp": 0o1777, "/var/tmp": 0o1777}  # noqa: S108 -- paths of the container's own


class RootfsError(OSError):
    """The rootfs cannot be built. The message goes into the pod's events."""


@dataclasses.dataclass(frozen=True)
class SharedMounts:
    """Open mount namespaces that keep what the containers of a pod share; -1: the container has its own."""

    shm_namespace: int = -1
    proc_namespace: int = -1


NOTHING_SHARED = SharedMounts()


def build(
    pod: PodSandboxConfig,
    container: ContainerConfig,
    isolation: Isolation,
    cgroup_entries: tuple[int, ...] = (),
    shared: SharedMounts = NOTHING_SHARED,
) -> None:
    """Called by the container's init in a mount namespace of its own: makes the root and goes into it; the host's is gone then.

    cgroup_entries: of the container's cgroup, which is mounted at /sys/fs/cgroup.
    Works at levels ROOT and USER. Raises RootfsError; the caller exits then, and its mounts go with its namespace.
    """
    umask = os.umask(0o022)
    try:
        _enter(_Builder(pod, container, isolation).run(kernel_filesystems.cgroup_directories(cgroup_entries), shared))
    except (MountError, OSError) as error:
        raise RootfsError(str(error)) from error
    finally:
        os.umask(umask)


def layer_directory(pod: PodSandboxConfig, container: ContainerConfig) -> str:
    return f"{pod.directory}/layers/{container.name}/{container.attempt}"


class _Builder:
    def __init__(self, pod: PodSandboxConfig, container: ContainerConfig, isolation: Isolation) -> None:
        self.pod, self.container, self.isolation = pod, container, isolation
        self.mounts = ordered_mounts(pod, container)

    def run(self, cgroups: dict[str, str], shared: SharedMounts) -> str:
        """Returns the path of the rootfs."""
        shm = shared_memory.clone_from(shared.shm_namespace)
        proc = _clone_proc(shared.proc_namespace)
        syscalls.mount("", "/", "", syscalls.MS_REC | syscalls.MS_PRIVATE)
        mounts = host_mounts.visible(host_mounts.read())
        layer = _layer(self.pod, self.container, self.isolation, mounts)
        top = layer.create_directory("root", 0o755)
        hidden = HiddenDirectories(self.pod.masked, self.pod.directory, mounts)
        host = HostRoot(layer, mounts, hidden.paths)
        host.mount(top, self.isolation, mount_points=tuple(mount.path for mount in self.mounts))
        with contextlib.closing(RootDirectory(top)) as root:
            _create_own_directories(root, layer, self.container)
            kernel_filesystems.mount_proc(root, self.pod, self.container, proc)
            kernel_filesystems.mount_dev(root, self.pod, self.container, shm)
            kernel_filesystems.mount_sys(root, self.container, cgroups)
            if not self.container.privileged:
                kernel_filesystems.mask(root)
            layers = [root.open(path) for path in (*host.overlays, *_OWN_DIRECTORIES)]
            self._mount(root, hidden)
            if self.container.read_only_root:
                # By descriptors: a volume may cover a layer now and keeps its own flags.
                for each in layers:
                    remount_read_only(descriptor_path(each))
            for each in layers:
                os.close(each)
        return top

    def _mount(self, root: RootDirectory, hidden: HiddenDirectories) -> None:
        binds = BindMounter(root, self.pod, self.container, hidden)
        binds.mask()
        for mount in self.mounts:
            binds.mount(mount)
        binds.make_masks_read_only()


def _clone_proc(namespace: int) -> int:
    if namespace < 0:
        return -1
    try:
        return mount_namespaces.clone_root(namespace)
    except OSError as error:
        if error.errno == errno.ENOSYS:
            raise RootfsError("shareProcessNamespace needs Linux 5.2") from None
        raise


def _layer(
    pod: PodSandboxConfig, container: ContainerConfig, isolation: Isolation, mounts: tuple[HostMount, ...]
) -> WritableLayer:
    directory = layer_directory(pod, container)
    if os.path.lexists(directory):
        # Left by a start that did not finish. An overlay cannot reuse it.
        removal.remove_tree(directory)
    under = [mount for mount in mounts if is_within(os.path.realpath(pod.directory), mount.path)]
    return WritableLayer(directory, under[-1].kind, isolation, container.privileged)


def _create_own_directories(root: RootDirectory, layer: WritableLayer, container: ContainerConfig) -> None:
    attributes = 0 if container.privileged else syscalls.MOUNT_ATTR_NODEV
    for path, mode in _OWN_DIRECTORIES.items():
        os.close(root.open(path, make="directory"))
        bind(root, layer.create_directory(f"own{path}", mode), path, attributes)
    os.close(root.open("/run/lock", make="directory"))
    for path in ("/proc", "/sys", "/dev"):
        os.close(root.open(path, make="directory"))


def _enter(top: str) -> None:
    os.chdir(top)
    syscalls.pivot_root(".", ".")
    # The host's root now covers the new one. After the unmount no path leads back to it.
    syscalls.umount(".", syscalls.MNT_DETACH)
    os.chdir("/")
