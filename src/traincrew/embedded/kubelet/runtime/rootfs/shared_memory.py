"""The shared memory of a pod: one for all its containers, for as long as the pod lives."""

from __future__ import annotations

import os

from traincrew.embedded.kubelet.runtime import syscalls
from traincrew.embedded.kubelet.runtime.rootfs.mounts import tmpfs
from traincrew.embedded.kubelet.runtime.rootfs.root_directory import RootDirectory
from traincrew.embedded.kubelet.runtime.shim import fork
from traincrew.embedded.kubelet.runtime.spec import Pod

_FLAGS = syscalls.MS_NOSUID | syscalls.MS_NODEV | syscalls.MS_NOEXEC


def create_namespace(pod: Pod) -> int:
    """Called by the shim: a descriptor that keeps the pod's shared memory, -1 if each container is to have its own.

    It is a mount namespace with nothing else in it, and no process: whatever becomes of shim and containers, it goes with them.
    """
    if pod.host_ipc:
        return -1
    ready, making = os.pipe()
    leaving, staying = os.pipe()

    def body() -> None:
        os.close(staying)
        _make(pod)
        os.write(making, b"m")
        os.read(leaving, 1)

    child = fork.fork_child(body)
    os.close(making)
    os.close(leaving)
    try:
        made = os.read(ready, 1) == b"m"
        return os.open(f"/proc/{child}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC) if made else -1
    finally:
        os.close(ready)
        os.close(staying)
        os.waitpid(child, 0)


def clone_from(held_namespace: int) -> int:
    """Called by a container's init in its own mount namespace: the mount to attach; -1 if there is none, or none can be had."""
    if held_namespace < 0:
        return -1
    own = os.open("/proc/self/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
    try:
        syscalls.setns(held_namespace, syscalls.CLONE_NEWNS)
        try:
            return syscalls.clone_mount("/")
        except OSError:
            return -1
        finally:
            syscalls.setns(own, syscalls.CLONE_NEWNS)
    finally:
        os.close(own)


def mount(root: RootDirectory, pod: Pod) -> None:
    tmpfs(root, "/dev/shm", _options(pod), syscalls.MS_NOEXEC)  # noqa: S108 -- the container's own


def _options(pod: Pod) -> str:
    return f"mode=1777,size={pod.shm_bytes or '50%'}"


def _make(pod: Pod) -> None:
    syscalls.unshare(syscalls.CLONE_NEWNS)
    syscalls.mount("", "/", "", syscalls.MS_REC | syscalls.MS_PRIVATE)
    syscalls.mount("tmpfs", pod.directory, "tmpfs", _FLAGS, _options(pod))
    os.chdir(pod.directory)
    syscalls.pivot_root(".", ".")
    syscalls.umount(".", syscalls.MNT_DETACH)
