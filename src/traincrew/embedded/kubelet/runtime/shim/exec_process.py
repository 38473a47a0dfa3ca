"""Exec: a further process in a running container."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import signal
import socket
from collections.abc import Callable

from traincrew.embedded.kubelet.runtime import fork, protocol
from traincrew.embedded.kubelet.runtime.cgroups import entry
from traincrew.embedded.kubelet.runtime.container import init, launch, nsexec
from traincrew.embedded.kubelet.runtime.container.container_run import ContainerRun
from traincrew.embedded.kubelet.runtime.container.init_config import InitConfig
from traincrew.embedded.kubelet.runtime.container.pod_sandbox import PodSandbox
from traincrew.embedded.kubelet.runtime.container.start_handshake import StartHandshake, handshake_pair, socket_pair
from traincrew.embedded.kubelet.runtime.event_loop import READ
from traincrew.embedded.kubelet.runtime.shim.peer import Peer


@dataclasses.dataclass(frozen=True)
class ExecCommand:
    argv: tuple[str, ...]
    env: dict[str, str]
    stdio: tuple[int, int, int]
    """-1 stands for /dev/null. The caller keeps and closes these descriptors."""
    tty: bool = False
    own_stdio: bool = True
    """See `launch.ProcessSpec`."""


class ExecProcess:
    """Runs in the namespaces of the container, with its user, environment and working directory."""

    def __init__(
        self,
        sandbox: PodSandbox,
        run: ContainerRun,
        on_started: Callable[[ExecProcess], None],
        on_ended: Callable[[ExecProcess], None],
    ) -> None:
        """on_started: the process runs, or its start failed. on_ended: after on_started, and only if the process ran."""
        self._sandbox, self.run = sandbox, run
        self._notify_started, self._notify_ended = on_started, on_ended
        self.pid = 0
        self.code: int | None = None
        self.peer: Peer
        self.number = 0
        """The client that sent the request, and the number that it chose."""
        self.over = False
        self._killed = False
        self._control: socket.socket | None = None
        self._unreported = False

    def start(self, command: ExecCommand) -> None:
        container, env = self.run.container, {**self.run.container.env, **command.env}
        entries = tuple(self.run.cgroup.open_entries()) if self.run.cgroup else ()
        process = launch.ProcessSpec(
            container, command.argv, env, command.stdio, command.tty, self._sandbox.isolation, entries, command.own_stdio
        )
        status, status_end = handshake_pair()
        ours, theirs = socket_pair()
        try:
            self.pid = self._fork(process, theirs, status_end)
        finally:
            for fd in (*entries, theirs.detach(), status_end.detach()):
                os.close(fd)
        ours.setblocking(False)
        self._control = ours
        self._sandbox.loop.watch(ours.fileno(), READ, self._read_control)
        if self._reaped_by_container:
            self.handshake = StartHandshake(self._sandbox.loop, status, self._on_started, self.pid, self._on_forked)
        else:
            ours.send(b"go")
            self.handshake = StartHandshake(self._sandbox.loop, status, self._on_started)

    def _fork(self, process: launch.ProcessSpec, control: socket.socket, status: socket.socket) -> int:
        namespaces = self.run.handshake.namespaces
        if self._reaped_by_container:
            pair = (namespaces[0], self._sandbox.processes.pid_namespace if self._sandbox.shared_processes else namespaces[1])
            group = entry.clone_target(process.cgroup_entries)
            return fork.fork_child(lambda: nsexec.start_exec(process, pair, control, status), group)
        mounts = namespaces[0] if namespaces else -1
        config = InitConfig(
            self._sandbox.pod, process, control, status, serves_exec=True, own_pid_namespace=False, mount_namespace=mounts
        )
        return fork.fork_grandchild(lambda: None, lambda: init.main(config))

    def _on_forked(self, pid: int) -> None:
        """Until now `pid` was the process that prepares the command."""
        self.pid = pid
        if self._killed:
            self.kill()
        elif self._control is not None:
            with contextlib.suppress(OSError):
                self._control.send(b"go")

    @property
    def _reaped_by_container(self) -> bool:
        """Otherwise no PID namespace ends with the container: an init process stays to reap and kill what the command leaves."""
        return self._sandbox.own_pid_namespaces or self._sandbox.shared_processes

    def kill(self) -> None:
        """Kills the process and every other process of its session."""
        if self.over:
            return
        self._killed = True
        if not self._reaped_by_container:
            self._send_control({"kill": True})
            return
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(ProcessLookupError):
                kill(self.pid, signal.SIGKILL)

    def container_ended(self) -> None:
        """Processes of an exec end with their container."""
        self.kill()
        self._close_control()

    def _on_started(self) -> None:
        self._unreported = True
        self._notify_started(self)
        self._report_end()

    def _read_control(self) -> None:
        """Handles every message that has arrived: the sender may have exited already."""
        while self._control is not None:
            try:
                data = self._control.recv(protocol.CHUNK_BYTES)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if not data:
                self._close_control()
            elif (code := json.loads(data).get("ended")) is not None:
                self._finish(code)

    def reaped(self, status: int) -> None:
        self.over = True
        self.handshake.process_ended()
        self._read_control()
        self._close_control()
        self._finish(os.waitstatus_to_exitcode(status) if self._reaped_by_container else -signal.SIGKILL)
        self.handshake.close()

    def _finish(self, code: int) -> None:
        if self.code is None:
            self.code = 128 - code if code < 0 else code
            self.handshake.read()
            self._report_end()

    def _report_end(self) -> None:
        if self._unreported and self.code is not None and self.handshake.failure is None:
            self._unreported = False
            self._notify_ended(self)

    def _send_control(self, message: protocol.Message) -> None:
        if self._control is not None:
            with contextlib.suppress(OSError):
                self._control.send(protocol.encode(message))

    def _close_control(self) -> None:
        if self._control is not None:
            self._sandbox.loop.unwatch(self._control.fileno())
            self._control.close()
            self._control = None
