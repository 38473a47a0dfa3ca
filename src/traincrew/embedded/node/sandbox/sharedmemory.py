"""The shared memory of a pod: one for all its containers, for as long as the pod lives."""

from __future__ import annotations

import os

from traincrew.embedded.node.sandbox import forking, kernel
from traincrew.embedded.node.sandbox.mounting import tmpfs
from traincrew.embedded.node.sandbox.rooted import Rooted
from traincrew.embedded.node.sandbox.spec import Pod

_FLAGS = kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC


def held(pod: Pod) -> int:
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

    child = forking.child(body)
    os.close(making)
    os.close(leaving)
    try:
        made = os.read(ready, 1) == b"m"
        return os.open(f"/proc/{child}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC) if made else -1
    finally:
        os.close(ready)
        os.close(staying)
        os.waitpid(child, 0)


def taken(held_namespace: int) -> int:
    """Called by a container's init in its own mount namespace: the mount to attach; -1 if there is none, or none can be had."""
    if held_namespace < 0:
        return -1
    own = os.open("/proc/self/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
    try:
        kernel.setns(held_namespace, kernel.CLONE_NEWNS)
        try:
            return kernel.clone_mount("/")
        except OSError:
            return -1
        finally:
            kernel.setns(own, kernel.CLONE_NEWNS)
    finally:
        os.close(own)


def mount(root: Rooted, pod: Pod) -> None:
    tmpfs(root, "/dev/shm", _options(pod), kernel.MS_NOEXEC)  # noqa: S108 -- the container's own


def _options(pod: Pod) -> str:
    return f"mode=1777,size={pod.shm_bytes or '50%'}"


def _make(pod: Pod) -> None:
    kernel.unshare(kernel.CLONE_NEWNS)
    kernel.mount("", "/", "", kernel.MS_REC | kernel.MS_PRIVATE)
    kernel.mount("tmpfs", pod.directory, "tmpfs", _FLAGS, _options(pod))
    os.chdir(pod.directory)
    kernel.pivot_root(".", ".")
    kernel.umount(".", kernel.MNT_DETACH)
