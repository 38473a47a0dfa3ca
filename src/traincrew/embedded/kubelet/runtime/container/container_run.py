"""One run of a container as its shim sees it: from the order to start it to the record of its end."""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import os
import signal
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from traincrew.embedded.kubelet.runtime import protocol, spec, syscalls
from traincrew.embedded.kubelet.runtime.container import init, launch
from traincrew.embedded.kubelet.runtime.container.start_handshake import StartHandshake, socket_pair, timestamp
from traincrew.embedded.kubelet.runtime.shim import fork
from traincrew.embedded.kubelet.runtime.shim.event_loop import READ, EventLoop
from traincrew.embedded.kubelet.runtime.shim.log_file import LogFile
from traincrew.embedded.kubelet.runtime.shim.output_pump import OutputPump

MESSAGE_BYTES = 4096
_PIPE_BYTES = 256 << 10

if TYPE_CHECKING:
    from traincrew.embedded.kubelet.runtime.cgroups.cgroups import Cgroup


@dataclasses.dataclass(frozen=True)
class PodSandbox:
    """Where a pod's containers run."""

    pod: spec.Pod
    isolation: spec.Isolation
    loop: EventLoop
    group: Cgroup | None = None
    processes: int = -1
    """The PID namespace that all containers share; -1: each has its own."""
    memory: int = -1
    """What keeps their shared memory; -1: each has its own."""
    pause: int = 0
    """The process that keeps the shared PID namespace."""

    @property
    def alone(self) -> bool:
        return self.isolation != spec.Isolation.NONE and not self.pod.host_pid and self.processes < 0

    def enter(self) -> None:
        if self.alone:
            syscalls.unshare(syscalls.CLONE_NEWPID)
        elif self.processes >= 0:
            syscalls.setns(self.processes, syscalls.CLONE_NEWPID)


class ContainerRun:
    def __init__(self, place: PodSandbox, container: spec.Container, told: Callable[[ContainerRun], None]) -> None:
        """told: called when it has started, could not be started, or has ended."""
        self._place, self._loop, self._told = place, place.loop, told
        self.container = container
        self.ended = False
        self.init = 0
        self.group: Cgroup | None = None
        self.stdin = -1
        self.on_end: list[Callable[[], None]] = []
        self.pumps: list[OutputPump] = []
        self._recorded = False
        self._known: dict[str, Any] | None = None
        self._records = -1
        self._log = LogFile(container.log, container.attempt, container.log_bytes, container.log_files)

    @property
    def running(self) -> bool:
        return bool(self.started) and not self.ended

    @property
    def started(self) -> str:
        return self.beginning.started

    @property
    def refusal(self) -> tuple[str, str] | None:
        return self.beginning.refusal

    # -- the start

    def begin(self) -> None:
        """OSError: nothing was started, and nothing is left of it."""
        try:
            self._prepare()
        except OSError:
            for pump in self.pumps:
                pump.close()
            self._let_go()
            raise

    def _prepare(self) -> None:
        container, directory = self.container, self._directory()
        self._records = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        protocol.reserve(self._records, "exit.json")
        self._write("spec.json", json.dumps(spec.to_json(container)).encode(), 0o600)
        self._write("message", b"", 0o666)
        os.makedirs(container.log, mode=0o700, exist_ok=True)
        if self._place.group is not None:
            self.group = self._place.group.make(f"{container.name}-{container.attempt}", container.limits)
        self._fork(os.path.join(directory, "message"))

    def _directory(self) -> str:
        path = os.path.join(self._place.pod.directory, "containers", self.container.name, str(self.container.attempt))
        os.makedirs(path, mode=0o700, exist_ok=True)
        return path

    def _write(self, name: str, data: bytes, mode: int) -> None:
        fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode, dir_fd=self._records)
        os.fchmod(fd, mode)
        with open(fd, "wb") as file:
            file.write(data)

    def _fork(self, message: str) -> None:
        ours, theirs = socket_pair()
        status, telling = socket_pair()
        stdio, given = self._stdio()
        groups = tuple(self.group.entrances()) if self.group else ()
        container = dataclasses.replace(
            self.container, mounts=(*self.container.mounts, spec.Mount(self.container.message_path, message, optional=True))
        )
        order = launch.ProcessSpec(container, container.argv, container.env, stdio, container.tty, self._place.isolation, groups)
        duty = init.InitConfig(
            self._place.pod, order, theirs, telling, self._records, self._place.alone, memory=self._place.memory
        )
        try:
            self.init = fork.fork_grandchild(self._place.enter, lambda: init.main(duty))
        finally:
            for fd in (*given, *groups, theirs.detach(), telling.detach()):
                os.close(fd)
        ours.send(b"go")
        self._control = ours
        ours.setblocking(False)
        self._loop.watch(ours.fileno(), READ, self._hear)
        self.beginning = StartHandshake(self._loop, status, self._begun)

    def _stdio(self) -> tuple[tuple[int, int, int], list[int]]:
        """The command's ends of its pipes."""
        if self.container.tty:
            return (-1, -1, -1), []
        stdin = -1
        if self.container.stdin:
            stdin, self.stdin = os.pipe2(os.O_CLOEXEC)
            os.set_blocking(self.stdin, False)
        stdout, stderr = (self._output(stream) for stream in ("stdout", "stderr"))
        return (stdin, stdout, stderr), [fd for fd in (stdin, stdout, stderr) if fd >= 0]

    def _output(self, stream: str) -> int:
        reading, writing = os.pipe2(os.O_CLOEXEC)
        with contextlib.suppress(OSError):
            fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        self.pumps.append(OutputPump(self._loop, reading, stream, self._log))
        return writing

    def _begun(self) -> None:
        if self.beginning.terminal >= 0:
            self.pumps.append(OutputPump(self._loop, os.dup(self.beginning.terminal), "stdout", self._log))
        if self.refusal is None:
            self._told(self)
        else:
            self._stop_init()  # told once nothing is left: see finish

    # -- while it runs

    def signal(self, number: int) -> None:
        self._order({"signal": number})

    def kill(self) -> None:
        self._order({"kill": True})

    def close_stdin(self) -> None:
        if self.stdin >= 0:
            os.close(self.stdin)
            self.stdin = -1

    def kill_init(self) -> None:
        """When there is no time to ask."""
        if self.init:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.init, signal.SIGKILL)

    def _order(self, order: protocol.Message) -> None:
        with contextlib.suppress(OSError):
            self._control.send(protocol.encode(order))

    def _stop_init(self) -> None:
        """Without its shim's end of `control` it kills what there is and goes."""
        if self._control.fileno() < 0:
            return
        self._loop.forget(self._control.fileno())
        self._control.close()

    # -- the end

    def _hear(self) -> None:
        """Everything that has been said up to now: it may be the last word of a process that is gone already."""
        while self._control.fileno() >= 0:
            try:
                data = self._control.recv(protocol.CHUNK_BYTES)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if data:
                self._note(json.loads(data))
            else:
                self._stop_init()

    def _note(self, message: protocol.Message) -> None:
        if "ended" in message:
            self.beginning.hear()
            if self.refusal is None:
                self._known = self._record(message["ended"])
                self._order({"record": self._known})
        elif "recorded" in message:
            self._recorded = True

    def _record(self, code: int) -> dict[str, Any]:
        oom = self.group is not None and self.group.oom_kills() > 0
        number = -code if code < 0 else 0
        return spec.to_json(spec.Exit(128 + number if number else code, self.started, timestamp(), number, oom, self._message()))

    def _message(self) -> str:
        with contextlib.suppress(OSError):
            fd = os.open("message", os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW, dir_fd=self._records)
            with open(fd, "rb") as file:
                file.seek(max(0, os.fstat(fd).st_size - MESSAGE_BYTES))
                return file.read(MESSAGE_BYTES).decode(errors="replace")
        return ""

    def finish(self) -> None:
        """Its first process is gone, and with it every other one."""
        self.beginning.hear()
        self._hear()
        self._stop_init()
        for pump in self.pumps:
            pump.drain()
        self._complete()

    def _complete(self) -> None:
        if self.refusal is None and not self._recorded:
            known = self._known or self._record(-signal.SIGKILL)
            try:
                protocol.write_atomically(self._records, "exit.json", json.dumps(known).encode())
            except OSError:
                self._loop.later(1.0, self._complete)  # an end without a record would be lost with this process
                return
        self.beginning.close()
        self._let_go()
        self.ended = True
        self._told(self)
        for each in self.on_end:
            each()

    def _close_log(self) -> None:
        """Not before it says what is missing in it."""
        if self._log.lost and not self._log.tell_lost():
            self._loop.later(1.0, self._close_log)
        else:
            self._log.close()

    def _let_go(self) -> None:
        self._close_log()
        if self.group is not None:
            self.group.kill()
            self.group.remove()
        self.close_stdin()
        if self._records >= 0:
            os.close(self._records)
            self._records = -1
