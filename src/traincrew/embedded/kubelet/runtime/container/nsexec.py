"""Starts processes in a PID namespace where processes of the pod already run, which may be allowed to trace others.

A process that they see must have no way to the host and no more rights than they have. So a process outside of the PID namespace
prepares everything, gives up its rights, and forks the process into the namespace last.
"""

from __future__ import annotations

import socket
from collections.abc import Callable

from traincrew.embedded.kubelet.runtime import errors, fork, protocol, syscalls
from traincrew.embedded.kubelet.runtime.container import capabilities, credentials, init, launch
from traincrew.embedded.kubelet.runtime.container.init_config import InitConfig


def start_container(config: InitConfig) -> None:
    """The start of a container's init, which forks its command."""
    fork.close_other_descriptors(config.descriptors())
    mappings = credentials.read_id_mappings()
    try:
        init.build_rootfs(config)
        syscalls.setns(config.pid_namespace, syscalls.CLONE_NEWPID)
    except (errors.OperationFailed, OSError) as error:
        init.report_failure(config, error)
        return
    kept, kill = (config.control.fileno(),), capabilities.bits({"KILL"})
    with launch.failures_reported(config.status):
        prepared = launch.prepare(config.process, config.status, mappings, kept, retained=kill)
        _fork(config.status, lambda: init.main_prepared(config, prepared))


def start_exec(process: launch.ProcessSpec, namespaces: tuple[int, int], control: socket.socket, status: socket.socket) -> None:
    """The start of a command in a container. namespaces: its mount namespace and its PID namespace."""
    given = [fd for fd in (*process.stdio, *process.cgroup_entries) if fd >= 0]
    fork.close_other_descriptors([status.fileno(), control.fileno(), *namespaces, *given])
    mappings = credentials.read_id_mappings()
    mounts, processes = namespaces

    def command() -> None:
        # Not before the shim knows the process.
        if control.recv(1):
            with launch.failures_reported(status):
                launch.execute(prepared, status)

    with launch.failures_reported(status):
        syscalls.setns(mounts, syscalls.CLONE_NEWNS)
        syscalls.setns(processes, syscalls.CLONE_NEWPID)
        prepared = launch.prepare(process, status, mappings, (control.fileno(),))
        _fork(status, command)


def _fork(status: socket.socket, body: Callable[[], None]) -> None:
    """The shim is a child subreaper: it becomes the parent when this process ends."""
    syscalls.set_dumpable(False)
    child = fork.fork_child(body)
    status.send(protocol.encode({"forked": child}))
