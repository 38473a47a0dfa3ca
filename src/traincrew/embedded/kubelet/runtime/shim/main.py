"""How a shim comes into being: out of the template, into the pod's own namespaces."""

from __future__ import annotations

import contextlib
import fcntl
import gc
import os
import resource
import signal
import socket
import struct

from traincrew.embedded.kubelet.runtime import protocol, spec, syscalls
from traincrew.embedded.kubelet.runtime.cgroups import cgroups
from traincrew.embedded.kubelet.runtime.cgroups.hierarchies import Hierarchies
from traincrew.embedded.kubelet.runtime.container import launch
from traincrew.embedded.kubelet.runtime.container.container_run import PodSandbox
from traincrew.embedded.kubelet.runtime.rootfs import shared_memory
from traincrew.embedded.kubelet.runtime.shim import fork, lock
from traincrew.embedded.kubelet.runtime.shim.event_loop import EventLoop
from traincrew.embedded.kubelet.runtime.shim.shim import Shim

_SIOCSIFFLAGS, _IFF_UP = 0x8914, 1


def main(pod: spec.Pod, isolation: spec.Isolation, first: socket.socket, ground: Hierarchies | None = None) -> None:
    """The whole life of a shim. `first` is its first client, `ground` what its template knows of cgroups."""
    gc.enable()  # what came with the template stays frozen, and shared
    os.setsid()
    os.umask(0o077)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        # Meant for a daemon in the same terminal or unit, not for a pod that outlives it.
        signal.signal(number, signal.SIG_IGN)
    if not lock.acquire(pod.directory):
        first.sendall(protocol.encode({"error": "the pod has a shim already", "reason": "AlreadyRunning"}))
        return
    try:
        _own_stdio(pod.directory)
        syscalls.adopt_orphans()
        processes, pause = _namespaces(pod, isolation)
        memory = -1 if isolation == spec.Isolation.NONE else shared_memory.create_namespace(pod)
        place = PodSandbox(pod, isolation, EventLoop(), _group(pod, ground), processes, memory, pause)
        Shim(place, first)
    except (OSError, launch.Refused) as error:
        first.setblocking(True)
        first.sendall(
            protocol.encode({"error": f"the pod's sandbox could not be made: {error}", "reason": "FailedCreatePodSandBox"})
        )
        raise
    place.loop.run()


def _own_stdio(directory: str) -> None:
    null = os.open(os.devnull, os.O_RDWR)
    log = os.open(os.path.join(directory, "shim.log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for target, fd in enumerate((null, null, log)):
        os.dup2(fd, target)
    os.close(null)
    os.close(log)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    del soft
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 65536), hard))


def _group(pod: spec.Pod, ground: Hierarchies | None) -> cgroups.Cgroup | None:
    if not pod.cgroup:
        return None
    group = cgroups.create_pod_cgroup(pod.cgroup, pod.limits, ground)
    for _ in range(3):
        if not group.why:
            break
        # The last pod but one may just have taken an empty parent away with it.
        group = cgroups.create_pod_cgroup(pod.cgroup, pod.limits)
    return group


def _namespaces(pod: spec.Pod, isolation: spec.Isolation) -> tuple[int, int]:
    """Network, IPC and host name of the pod, and if its containers share one, its PID namespace."""
    if isolation == spec.Isolation.NONE:
        return -1, 0
    flags = 0 if pod.host_network else syscalls.CLONE_NEWNET | syscalls.CLONE_NEWUTS
    flags |= 0 if pod.host_ipc else syscalls.CLONE_NEWIPC
    syscalls.unshare(flags)
    if not pod.host_network:
        syscalls.sethostname(pod.hostname)
        _raise_loopback()
    for name, value in pod.sysctls.items():
        with open("/proc/sys/" + name.replace(".", "/"), "w") as file:
            file.write(value)
    return _shared_processes() if pod.share_processes and not pod.host_pid else (-1, 0)


def _raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        request = struct.pack("16sh22x", b"lo", _IFF_UP)
        fcntl.ioctl(sock, _SIOCSIFFLAGS, request)


def _shared_processes() -> tuple[int, int]:
    """The namespace is held by a process that does nothing but reap, as a pod's pause container does."""
    ours, theirs = socket.socketpair()
    pause = fork.fork_grandchild(lambda: syscalls.unshare(syscalls.CLONE_NEWPID), lambda: _pause(theirs))
    theirs.close()
    ours.send(b"g")
    _, fds, _, _ = socket.recv_fds(ours, 1, 1, socket.MSG_CMSG_CLOEXEC)
    # Stays open for as long as this process lives: its end is what the other waits for, beside the signal.
    ours.detach()
    return fds[0], pause


def _pause(shim: socket.socket) -> None:
    fork.close_other_descriptors([shim.fileno()])
    if not shim.recv(1):
        return
    syscalls.die_with_parent(signal.SIGKILL)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps
    with open("/proc/self/ns/pid", "rb") as processes:
        socket.send_fds(shim, [b"n"], [processes.fileno()])
    with contextlib.suppress(OSError):
        shim.recv(1)
