"""The init process of a container: builds its rootfs, starts the command, forwards signals, reaps, and records the exit."""

from __future__ import annotations

import contextlib
import os
import signal
import socket

from traincrew.embedded.kubelet.runtime import errors, fork, protocol, spec, syscalls
from traincrew.embedded.kubelet.runtime.cgroups import entry
from traincrew.embedded.kubelet.runtime.container import credentials, launch
from traincrew.embedded.kubelet.runtime.container.init_config import InitConfig
from traincrew.embedded.kubelet.runtime.container.supervisor import FORWARDED, Init
from traincrew.embedded.kubelet.runtime.rootfs import rootfs


def main(config: InitConfig) -> None:
    """For a container without other processes in its PID namespace, or without a PID namespace of its pod."""
    fork.close_other_descriptors(config.descriptors())
    os.setsid()
    if not config.control.recv(1):
        return
    if config.own_pid_namespace:
        # Only after the shim has become the parent. Without an own PID namespace, the end of `control` signals its death instead.
        syscalls.die_with_parent(signal.SIGKILL)
    wakeup = _catch_signals()
    start_reader, start_writer = os.pipe2(os.O_CLOEXEC)
    try:
        child = _start(config, start_reader, start_writer)
    except (errors.OperationFailed, OSError) as error:
        report_failure(config, error)
        return
    _close_descriptors(config, (*wakeup, start_writer))
    # A container with the capability SYS_PTRACE can become its init process, which must have no more than the container.
    credentials.reduce(config.process.container, config.process.isolation)
    os.write(start_writer, b"g")
    os.close(start_writer)
    _run(config, child, wakeup[0])


def main_prepared(config: InitConfig, prepared: launch.PreparedProcess) -> None:
    """For a container in a PID namespace with other containers. This process has the rights of the container's, and KILL."""
    os.setsid()
    if not config.control.recv(1):
        return
    wakeup = _catch_signals()
    syscalls.become_subreaper()

    def command() -> None:
        with launch.failures_reported(config.status):
            launch.execute(prepared, config.status)

    child = fork.fork_child(command)
    _close_descriptors(config, wakeup)
    _run(config, child, wakeup[0])


def report_failure(config: InitConfig, error: Exception) -> None:
    if isinstance(error, errors.OperationFailed):
        launch.report_failure(config.status, error.reason, error.message)
    else:
        launch.report_failure(config.status, "CreateContainerError", f"failed to create the container: {error}")


def _run(config: InitConfig, child: int, wakeup: int) -> None:
    try:
        Init(config, child, wakeup).run()
    except Exception as error:
        # The log of the shim is not open here any more.
        config.control.send(protocol.encode({"error": f"{type(error).__name__}: {error}"}))


def _catch_signals() -> tuple[int, int]:
    wakeup, wakeup_writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.set_wakeup_fd(wakeup_writer, warn_on_full_buffer=False)
    for number in (*FORWARDED, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)
    return wakeup, wakeup_writer


def _close_descriptors(config: InitConfig, kept: tuple[int, ...]) -> None:
    config.status.detach()
    if config.process.isolation != spec.Isolation.NONE:
        null = os.open(os.devnull, os.O_RDWR)
        for target in range(3):
            os.dup2(null, target)
    fork.close_other_descriptors((config.control.fileno(), *kept))


def _start(config: InitConfig, start_reader: int, start_writer: int) -> int:
    mappings = credentials.read_id_mappings()
    if config.mount_namespace >= 0:
        syscalls.setns(config.mount_namespace, syscalls.CLONE_NEWNS)
    elif config.process.isolation == spec.Isolation.NONE:
        _check_mounts(config.process.container.mounts)
    else:
        build_rootfs(config)
    if not config.own_pid_namespace:
        syscalls.become_subreaper()

    def command() -> None:
        os.close(start_writer)
        if os.read(start_reader, 1):
            launch.exec_process(config.process, config.status, mappings)

    return fork.fork_child(command, entry.clone_target(config.process.cgroup_entries))


def build_rootfs(config: InitConfig) -> None:
    """Moves this process into a new mount namespace and into the rootfs, and sends the shim the namespaces for exec."""
    syscalls.unshare(syscalls.CLONE_NEWNS)
    kinds = ("mnt",) if config.pid_namespace >= 0 else ("mnt", "pid")
    # Of the host's /proc, because that of the container may not show this process.
    namespaces = [os.open(f"/proc/self/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC) for kind in kinds]
    process = config.process
    shared = rootfs.SharedMounts(config.shm_namespace, config.proc_namespace)
    rootfs.build(config.pod, process.container, process.isolation, process.cgroup_entries, shared)
    socket.send_fds(config.status, [protocol.encode({"namespaces": True}, namespaces)], namespaces)
    for namespace in namespaces:
        os.close(namespace)


def _check_mounts(mounts: tuple[spec.Mount, ...]) -> None:
    """Without namespaces every path is the host's."""
    for mount in mounts:
        with contextlib.suppress(OSError):
            if mount.kind == "bind" and os.path.samefile(mount.path, mount.source):
                continue
        if not mount.optional:
            raise errors.OperationFailed("StartError", _UNMOUNTABLE.format(path=mount.path))


_UNMOUNTABLE = (
    'unable to start container process: cannot mount a volume at {path}: isolation level "none" has no mount namespaces; '
    "only a hostPath volume mounted at its own path works"
)
