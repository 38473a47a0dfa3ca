"""The main function of a shim: the template forks it, and it creates the pod sandbox."""

from __future__ import annotations

import contextlib
import fcntl
import gc
import os
import resource
import signal
import socket
import struct

from traincrew.apimachinery import sysctls
from traincrew.embedded.kubelet.runtime import errors, protocol, spec, syscalls
from traincrew.embedded.kubelet.runtime.cgroups import cgroups
from traincrew.embedded.kubelet.runtime.cgroups.hierarchies import Hierarchies
from traincrew.embedded.kubelet.runtime.container import pause
from traincrew.embedded.kubelet.runtime.container.pause import SharedProcesses
from traincrew.embedded.kubelet.runtime.container.pod_sandbox import PodSandbox
from traincrew.embedded.kubelet.runtime.event_loop import EventLoop
from traincrew.embedded.kubelet.runtime.rootfs import shared_memory
from traincrew.embedded.kubelet.runtime.shim import lock
from traincrew.embedded.kubelet.runtime.shim.server import Shim

_SIOCSIFFLAGS, _IFF_UP = 0x8914, 1


def main(
    pod: spec.PodSandboxConfig, isolation: spec.Isolation, first: socket.socket, hierarchies: Hierarchies | None = None
) -> None:
    """Runs until the pod is stopped. first: the connection of the first client; hierarchies: cgroups that the template found."""
    gc.enable()  # objects of the template stay frozen, so that their pages stay shared
    os.setsid()
    os.umask(0o077)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        # These are meant for the daemon in the same terminal or systemd unit. The pod outlives it.
        signal.signal(number, signal.SIG_IGN)
    if not lock.acquire(pod.directory):
        first.sendall(protocol.encode({"error": "the pod already has a shim", "reason": "AlreadyRunning"}))
        return
    try:
        _redirect_stdio(pod.directory)
        syscalls.become_subreaper()
        processes = _namespaces(pod, isolation)
        memory = -1 if isolation == spec.Isolation.NONE else shared_memory.create_namespace(pod)
        sandbox = PodSandbox(pod, isolation, EventLoop(), _create_cgroup(pod, hierarchies), processes, memory)
        Shim(sandbox, first)
    except (OSError, errors.OperationFailed) as error:
        first.setblocking(True)
        first.sendall(
            protocol.encode({"error": f"failed to create the pod sandbox: {error}", "reason": "FailedCreatePodSandBox"})
        )
        raise
    sandbox.loop.run()


def _redirect_stdio(directory: str) -> None:
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


def _create_cgroup(pod: spec.PodSandboxConfig, hierarchies: Hierarchies | None) -> cgroups.Cgroup | None:
    if not pod.cgroup:
        return None
    group = cgroups.create_pod_cgroup(pod.cgroup, pod.limits, hierarchies)
    for _ in range(3):
        if not group.warning:
            break
        # Another pod that ended may have removed the empty parent cgroup meanwhile.
        group = cgroups.create_pod_cgroup(pod.cgroup, pod.limits)
    return group


def _namespaces(pod: spec.PodSandboxConfig, isolation: spec.Isolation) -> SharedProcesses:
    """Creates the network, IPC and UTS namespaces, and a PID namespace if the containers share one."""
    if isolation == spec.Isolation.NONE:
        return SharedProcesses()
    flags = 0 if pod.host_network else syscalls.CLONE_NEWNET | syscalls.CLONE_NEWUTS
    flags |= 0 if pod.host_ipc else syscalls.CLONE_NEWIPC
    syscalls.unshare(flags)
    if not pod.host_network:
        syscalls.sethostname(pod.hostname)
        _bring_up_loopback()
    _set_sysctls(pod)
    return pause.start(pod.directory) if pod.share_processes and not pod.host_pid else SharedProcesses()


def _set_sysctls(pod: spec.PodSandboxConfig) -> None:
    """The kubelet has checked the sysctls. Check again: without a namespace of the pod, those of the machine would change."""
    own = {sysctls.KernelNamespace.NET: not pod.host_network, sysctls.KernelNamespace.IPC: not pod.host_ipc}
    for given, value in pod.sysctls.items():
        name = sysctls.normalize_name(given)
        namespace, path = sysctls.namespace_of(name), sysctls.file_of(name)
        if namespace is None or path is None or not own[namespace]:
            raise errors.OperationFailed("FailedCreatePodSandBox", f'sysctl "{name}" is not in a separate kernel namespace')
        with open(f"/proc/sys/{path}", "w") as file:
            file.write(value)


def _bring_up_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        request = struct.pack("16sh22x", b"lo", _IFF_UP)
        fcntl.ioctl(sock, _SIOCSIFFLAGS, request)
