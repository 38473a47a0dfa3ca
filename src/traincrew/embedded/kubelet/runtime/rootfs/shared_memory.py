"""Shared memory of a pod: its containers share one /dev/shm while the pod lives."""

from __future__ import annotations

import os

from traincrew.embedded.kubelet.runtime import fork, syscalls
from traincrew.embedded.kubelet.runtime.rootfs import mount_namespaces
from traincrew.embedded.kubelet.runtime.rootfs.mounts import tmpfs
from traincrew.embedded.kubelet.runtime.rootfs.root_directory import RootDirectory
from traincrew.embedded.kubelet.runtime.spec import PodSandboxConfig

_FLAGS = syscalls.MS_NOSUID | syscalls.MS_NODEV | syscalls.MS_NOEXEC


def create_namespace(pod: PodSandboxConfig) -> int:
    """Called by the shim: an open mount namespace that holds nothing but the pod's tmpfs; -1: each container has its own.

    No process is in the namespace, so it ends with the last descriptor, however shim and containers end.
    """
    if pod.host_ipc:
        return -1
    ready, ready_writer = os.pipe()
    release, release_writer = os.pipe()

    def body() -> None:
        os.close(release_writer)
        mount_namespaces.create()
        mount_namespaces.replace_root("tmpfs", pod.directory, _FLAGS, _options(pod))
        os.write(ready_writer, b"m")
        os.read(release, 1)

    child = fork.fork_child(body)
    os.close(ready_writer)
    os.close(release)
    try:
        created = os.read(ready, 1) == b"m"
        return os.open(f"/proc/{child}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC) if created else -1
    finally:
        os.close(ready)
        os.close(release_writer)
        os.waitpid(child, 0)


def clone_from(namespace: int) -> int:
    """Called by a container's init in its own mount namespace: a detached copy of the tmpfs; -1: there is none."""
    if namespace < 0:
        return -1
    try:
        return mount_namespaces.clone_root(namespace)
    except OSError:
        return -1


def mount(root: RootDirectory, pod: PodSandboxConfig) -> None:
    tmpfs(root, "/dev/shm", _options(pod), syscalls.MS_NOEXEC)  # noqa: S108 -- the container's own


def _options(pod: PodSandboxConfig) -> str:
    return f"mode=1777,size={pod.shm_bytes or '50%'}"
