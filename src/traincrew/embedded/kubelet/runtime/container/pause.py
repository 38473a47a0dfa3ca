"""The pause process: keeps the PID namespace that the containers of a pod share, and reaps orphans, as a pause container does."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import socket

from traincrew.embedded.kubelet.runtime import fork, syscalls
from traincrew.embedded.kubelet.runtime.container import credentials
from traincrew.embedded.kubelet.runtime.rootfs import mount_namespaces

_SAFE_FLAGS = syscalls.MS_NOSUID | syscalls.MS_NODEV | syscalls.MS_NOEXEC


@dataclasses.dataclass(frozen=True)
class SharedProcesses:
    """A PID namespace that all containers of a pod share. Open descriptors; -1: each container has its own."""

    pid_namespace: int = -1
    proc_namespace: int = -1
    """The mount namespace that keeps its /proc. No process is in it."""
    pause: int = 0
    """The process that keeps the PID namespace."""


def start(directory: str) -> SharedProcesses:
    """directory: of the pod."""
    ours, theirs = socket.socketpair()
    pause = fork.fork_grandchild(lambda: syscalls.unshare(syscalls.CLONE_NEWPID), lambda: _main(directory, theirs))
    theirs.close()
    ours.send(b"g")
    _, fds, _, _ = socket.recv_fds(ours, 1, 2, socket.MSG_CMSG_CLOEXEC)
    # Left open on purpose: the pause process ends when this end is closed.
    ours.detach()
    if len(fds) != 2:
        raise OSError("the pause process failed; see shim.log")
    return SharedProcesses(fds[0], fds[1], pause)


def _main(directory: str, shim: socket.socket) -> None:
    """Containers see this process and may trace it. Before the first one starts, it gives up all files and capabilities."""
    fork.close_other_descriptors([shim.fileno()])
    if not shim.recv(1):
        return
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps
    namespaces = _create_namespaces(directory)
    credentials.drop_all_capabilities()
    syscalls.set_dumpable(False)
    syscalls.die_with_parent(signal.SIGKILL)
    syscalls.close_range(0, 2)
    socket.send_fds(shim, [b"n"], namespaces)
    for namespace in namespaces:
        os.close(namespace)
    with contextlib.suppress(OSError):
        shim.recv(1)


def _create_namespaces(directory: str) -> list[int]:
    """The PID namespace and the mount namespace of its /proc. Leaves this process with an empty root directory."""
    processes = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    own = mount_namespaces.create()
    proc = mount_namespaces.create()
    mount_namespaces.replace_root("proc", directory, _SAFE_FLAGS)
    syscalls.setns(own, syscalls.CLONE_NEWNS)
    os.close(own)
    mount_namespaces.replace_root("tmpfs", directory, _SAFE_FLAGS | syscalls.MS_RDONLY, "mode=555,size=4k,nr_inodes=1")
    return [processes, proc]
