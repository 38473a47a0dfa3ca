"""The init process of a container: builds its rootfs, starts the command, forwards signals, reaps, and records the exit."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import select
import signal
import socket
from collections.abc import Callable, Collection

from traincrew.embedded.kubelet.runtime import errors, fork, protocol, spec, syscalls
from traincrew.embedded.kubelet.runtime.cgroups import entry
from traincrew.embedded.kubelet.runtime.container import credentials, launch
from traincrew.embedded.kubelet.runtime.rootfs import rootfs

_FORWARDED = (
    signal.SIGTERM,
    signal.SIGINT,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGWINCH,
    signal.SIGALRM,
    signal.SIGCONT,
)


@dataclasses.dataclass(frozen=True)
class InitConfig:
    pod: spec.Pod
    process: launch.ProcessSpec
    control: socket.socket
    """Connected to the shim while both processes live."""
    status: socket.socket
    """Connected to the shim until the execve: the start handshake."""
    serves_exec: bool
    """An exec leaves no exit record, and processes that it started may go on."""
    own_pid_namespace: bool
    """Whether a PID namespace ends with this process. Otherwise remaining processes must be found and killed."""
    mount_namespace: int = -1
    """A mount namespace to join, for an exec; -1: create one."""
    shm_namespace: int = -1
    """The mount namespace that keeps the pod's /dev/shm; -1: the container has its own."""
    pid_namespace: int = -1
    """The PID namespace that the pod's containers share; -1: this process is in that of the container."""
    proc_namespace: int = -1
    """The mount namespace that keeps /proc of that PID namespace."""

    def descriptors(self) -> list[int]:
        sockets, streams = (self.control.fileno(), self.status.fileno()), self.process.stdio
        namespaces = (self.mount_namespace, self.shm_namespace, self.pid_namespace, self.proc_namespace)
        return [fd for fd in (*sockets, *namespaces, *streams, *self.process.cgroup_entries) if fd >= 0]


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
    gate, gate_writer = os.pipe2(os.O_CLOEXEC)
    try:
        child = _start(config, gate, gate_writer)
    except (errors.OperationFailed, OSError) as error:
        report_failure(config, error)
        return
    _close_descriptors(config, (*wakeup, gate_writer))
    # A container with the capability SYS_PTRACE can become its init process, which must have no more than the container.
    credentials.reduce(config.process.container, config.process.isolation)
    os.write(gate_writer, b"g")
    os.close(gate_writer)
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
    for number in (*_FORWARDED, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)
    return wakeup, wakeup_writer


def _close_descriptors(config: InitConfig, kept: tuple[int, ...]) -> None:
    config.status.detach()
    if config.process.isolation != spec.Isolation.NONE:
        null = os.open(os.devnull, os.O_RDWR)
        for target in range(3):
            os.dup2(null, target)
    fork.close_other_descriptors((config.control.fileno(), *kept))


def _start(config: InitConfig, gate: int, gate_writer: int) -> int:
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
        os.close(gate_writer)
        if os.read(gate, 1):
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


class Init:
    def __init__(self, config: InitConfig, child: int, wakeup: int) -> None:
        self._config, self._child, self._woken = config, child, wakeup
        self._control = config.control
        self._ended: int | None = None
        self._no_children = False

    def run(self) -> None:
        syscalls.set_dumpable(False)
        self._reap()
        self._wait(lambda: self._ended is not None)
        self._send_control({"ended": os.waitstatus_to_exitcode(self._ended or 0)})
        if self._config.serves_exec:
            # Processes that the command left behind go on until the container ends, and need a reaper.
            self._wait(lambda: self._no_children)
            return
        self._wait_for_record()
        self._kill_until_gone()

    def _wait(self, done: Callable[[], bool]) -> None:
        poll = select.poll()
        poll.register(self._woken, select.POLLIN)
        poll.register(self._control, select.POLLIN)
        while not done():
            for fd, _ in poll.poll():
                if fd == self._woken:
                    self._signalled()
                else:
                    self._on_control()

    def _signalled(self) -> None:
        for number in os.read(self._woken, 4096):
            if number != signal.SIGCHLD:
                self._forward(number)
        self._reap()

    def _forward(self, number: int) -> None:
        if self._ended is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._child, number)

    def _reap(self) -> None:
        try:
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if ended[0] == self._child:
                    self._ended = ended[1]
        except ChildProcessError:
            self._no_children = True

    def _on_control(self) -> None:
        order = self._receive_order()
        if "signal" in order:
            self._forward(order["signal"])
        elif "kill" in order:
            self._kill_once()

    def _send_control(self, message: protocol.Message) -> None:
        try:
            self._control.send(protocol.encode(message))
        except OSError:
            self._abort()

    def _wait_for_record(self) -> None:
        """Nothing else happens before the shim has written exit.json."""
        while "recorded" not in self._receive_order():
            pass

    def _receive_order(self) -> protocol.Message:
        data = self._control.recv(protocol.CHUNK_BYTES)
        if not data:
            self._abort()
        order: protocol.Message = json.loads(data)
        return order

    def _abort(self) -> None:
        """The shim is gone: the container must end."""
        self._kill_until_gone()
        os._exit(1)

    def _kill_once(self) -> None:
        if self._config.own_pid_namespace:
            with contextlib.suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)
            return
        for pid in descendants(os.getpid()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _kill_until_gone(self) -> None:
        """Kills in rounds until no process is left: a process may fork while it is being killed."""
        with contextlib.suppress(ChildProcessError):
            while True:
                self._kill_once()
                os.waitpid(-1, 0)


def descendants(pid: int, but: Callable[[], Collection[int]] = tuple) -> list[int]:
    """All descendants, parents before their children. `but`: children to leave out, with their descendants; called at the end."""
    children = dict[int, list[int]]()
    for name in os.listdir("/proc"):
        if name.isdecimal():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
                parent = int(file.read().rpartition(b")")[2].split()[1])
                children.setdefault(parent, []).append(int(name))
    left_out = but()
    found = [each for each in children.get(pid, ()) if each not in left_out]
    for each in found:
        found += children.get(each, ())
    return found
