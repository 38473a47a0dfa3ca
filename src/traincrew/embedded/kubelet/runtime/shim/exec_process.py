"""Commands beside a container's own, as the shim sees them."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import signal
import socket
from collections.abc import Callable

from traincrew.embedded.kubelet.runtime import protocol, syscalls
from traincrew.embedded.kubelet.runtime.cgroups import entry
from traincrew.embedded.kubelet.runtime.container import init, launch
from traincrew.embedded.kubelet.runtime.container.container_run import ContainerRun, PodSandbox
from traincrew.embedded.kubelet.runtime.container.start_handshake import StartHandshake, socket_pair
from traincrew.embedded.kubelet.runtime.shim import fork
from traincrew.embedded.kubelet.runtime.shim.event_loop import READ
from traincrew.embedded.kubelet.runtime.shim.peer import Peer


@dataclasses.dataclass(frozen=True)
class ExecCommand:
    argv: tuple[str, ...]
    env: dict[str, str]
    stdio: tuple[int, int, int]
    """-1: none. Duplicates are taken; the originals remain the caller's."""
    tty: bool = False


class ExecProcess:
    """In the namespaces, with the user, environment and directory of a container that runs."""

    def __init__(
        self, place: PodSandbox, run: ContainerRun, begun: Callable[[ExecProcess], None], ended: Callable[[ExecProcess], None]
    ) -> None:
        """begun: it runs or was refused. ended: never before begun, and not at all if refused."""
        self._place, self.run = place, run
        self._on_begun, self._on_ended = begun, ended
        self.pid = 0
        self.code: int | None = None
        self.peer: Peer
        self.number = 0
        """Who asked for it, and by what name."""
        self.over = False
        self._control: socket.socket | None = None
        self._known = False

    def begin(self, command: ExecCommand) -> None:
        container, env = self.run.container, {**self.run.container.env, **command.env}
        groups = tuple(self.run.group.entrances()) if self.run.group else ()
        order = launch.ProcessSpec(container, command.argv, env, command.stdio, command.tty, self._place.isolation, groups)
        status, telling = socket_pair()
        ours, theirs = socket_pair()
        try:
            if self._reaped_by_container:
                group = entry.clone_target(groups)
                self.pid = fork.fork_grandchild(self._enter, lambda: self._become(order, telling, theirs), group)
            else:
                mounts = self.run.beginning.namespaces[0] if self.run.beginning.namespaces else -1
                duty = init.InitConfig(self._place.pod, order, theirs, telling, -1, False, mounts)
                self.pid = fork.fork_grandchild(lambda: None, lambda: init.main(duty))
        finally:
            for fd in (*groups, theirs.detach(), telling.detach()):
                os.close(fd)
        ours.send(b"go")
        ours.setblocking(False)
        self._control = ours
        self._place.loop.watch(ours.fileno(), READ, self._hear)
        self.beginning = StartHandshake(self._place.loop, status, self._begun)

    @property
    def _reaped_by_container(self) -> bool:
        """Elsewhere no namespace ends with the container, so somebody has to stay and look after what a command leaves behind."""
        return self._place.alone or self._place.processes >= 0

    def _enter(self) -> None:
        syscalls.setns(self.run.beginning.namespaces[1], syscalls.CLONE_NEWPID)

    def _become(self, order: launch.ProcessSpec, status: socket.socket, control: socket.socket) -> None:
        mounts = self.run.beginning.namespaces[0]
        fork.close_other_descriptors(
            [status.fileno(), control.fileno(), mounts, *(fd for fd in (*order.stdio, *order.groups) if fd >= 0)]
        )
        if control.recv(1):
            syscalls.setns(mounts, syscalls.CLONE_NEWNS)
            launch.exec_process(order, status)

    def kill(self) -> None:
        """It and what it has started, as far as that has not left its session."""
        if self.over:
            return
        if not self._reaped_by_container:
            self._say({"kill": True})
            return
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(ProcessLookupError):
                kill(self.pid, signal.SIGKILL)

    def leave(self) -> None:
        """The container has ended: nobody of it goes on."""
        self.kill()
        self._hang_up()

    def _begun(self) -> None:
        self._known = True
        self._on_begun(self)
        self._tell()

    def _hear(self) -> None:
        """Everything that has been said up to now: it may be the last word of a process that is gone already."""
        while self._control is not None:
            try:
                data = self._control.recv(protocol.CHUNK_BYTES)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if not data:
                self._hang_up()
            elif (code := json.loads(data).get("ended")) is not None:
                self._finish(code)

    def reaped(self, status: int) -> None:
        self.over = True
        self._hear()
        self._hang_up()
        self._finish(os.waitstatus_to_exitcode(status) if self._reaped_by_container else -signal.SIGKILL)
        self.beginning.close()

    def _finish(self, code: int) -> None:
        if self.code is None:
            self.code = 128 - code if code < 0 else code
            self.beginning.hear()
            self._tell()

    def _tell(self) -> None:
        if self._known and self.code is not None and self.beginning.refusal is None:
            self._known = False
            self._on_ended(self)

    def _say(self, message: protocol.Message) -> None:
        if self._control is not None:
            with contextlib.suppress(OSError):
                self._control.send(protocol.encode(message))

    def _hang_up(self) -> None:
        if self._control is not None:
            self._place.loop.forget(self._control.fileno())
            self._control.close()
            self._control = None
