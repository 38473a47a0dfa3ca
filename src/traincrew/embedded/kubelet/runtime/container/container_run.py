"""One run of a container in its shim: from the start request to the exit record."""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import os
import signal
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from traincrew.embedded.kubelet.runtime import fork, protocol, spec
from traincrew.embedded.kubelet.runtime.container import init, launch, nsexec
from traincrew.embedded.kubelet.runtime.container.container_directory import ContainerDirectory
from traincrew.embedded.kubelet.runtime.container.init_config import InitConfig
from traincrew.embedded.kubelet.runtime.container.log_file import LogFile
from traincrew.embedded.kubelet.runtime.container.output_pump import OutputPump
from traincrew.embedded.kubelet.runtime.container.pod_sandbox import PodSandbox
from traincrew.embedded.kubelet.runtime.container.start_handshake import StartHandshake, handshake_pair, socket_pair, timestamp
from traincrew.embedded.kubelet.runtime.event_loop import READ

_PIPE_BYTES = 256 << 10
_MOST_LOGGED_BYTES = 1024
_KILL_SECONDS = 5.0
"""Time for init to kill the processes of the container and to record its exit, before init is killed."""
_WAIT_SECONDS = 0.5
"""The event loop waits so long for killed processes at most."""

if TYPE_CHECKING:
    from traincrew.embedded.kubelet.runtime.cgroups.cgroups import Cgroup


class ContainerRun:
    def __init__(self, sandbox: PodSandbox, container: spec.ContainerConfig, on_change: Callable[[ContainerRun], None]) -> None:
        """on_change: called when the container has started, could not be started, or has ended."""
        self._sandbox, self._loop, self._on_change = sandbox, sandbox.loop, on_change
        self.container = container
        self.ended = False
        self.init = 0
        self.cgroup: Cgroup | None = None
        self.stdin = -1
        self.on_end: list[Callable[[], None]] = []
        self.pumps: list[OutputPump] = []
        self._killed = False
        self._recorded = False
        self._exit: dict[str, Any] | None = None
        self._directory = ContainerDirectory(sandbox.pod, container)
        self._log = LogFile(container.log, container.attempt, container.log_bytes, container.log_files)

    @property
    def running(self) -> bool:
        return bool(self.started) and not self.ended

    @property
    def started(self) -> str:
        return self.handshake.started

    @property
    def failure(self) -> tuple[str, str] | None:
        return self.handshake.failure

    # -- start

    def start(self) -> None:
        """OSError: the container was not started, and nothing of it is left."""
        try:
            self._prepare()
        except OSError:
            for pump in self.pumps:
                pump.close()
            self._release()
            raise

    def _prepare(self) -> None:
        container = self.container
        self._directory.create()
        os.makedirs(container.log, mode=0o700, exist_ok=True)
        if self._sandbox.cgroup is not None:
            self.cgroup = self._sandbox.cgroup.create_child(f"{container.name}-{container.attempt}", container.limits)
        self._fork()

    def _fork(self) -> None:
        ours, theirs = socket_pair()
        status, status_end = handshake_pair()
        stdio, given = self._stdio()
        entries = tuple(self.cgroup.open_entries()) if self.cgroup else ()
        message = spec.Mount(self.container.message_path, self._directory.message_path, optional=True)
        container = dataclasses.replace(self.container, mounts=(*self.container.mounts, message))
        sandbox = self._sandbox
        process = launch.ProcessSpec(container, container.argv, container.env, stdio, container.tty, sandbox.isolation, entries)
        config = InitConfig(
            sandbox.pod,
            process,
            theirs,
            status_end,
            serves_exec=False,
            own_pid_namespace=sandbox.own_pid_namespaces,
            shm_namespace=sandbox.shm_namespace,
            pid_namespace=sandbox.processes.pid_namespace,
            proc_namespace=sandbox.processes.proc_namespace,
        )
        try:
            self.init = self._fork_init(config)
        finally:
            for fd in (*given, *entries, theirs.detach(), status_end.detach()):
                os.close(fd)
        self._directory.write_init(self.init)
        self._control = ours
        ours.setblocking(False)
        self._loop.watch(ours.fileno(), READ, self._read_control)
        if sandbox.shared_processes:
            self.handshake = StartHandshake(self._loop, status, self._on_started, self.init, self._on_forked)
        else:
            ours.send(b"go")
            self.handshake = StartHandshake(self._loop, status, self._on_started)

    def _fork_init(self, config: InitConfig) -> int:
        if self._sandbox.shared_processes:
            return fork.fork_child(lambda: nsexec.start_container(config))
        return fork.fork_grandchild(self._sandbox.enter, lambda: init.main(config))

    def _on_forked(self, pid: int) -> None:
        """Until now `init` was the process that prepares the container."""
        self.init = pid
        try:
            self._directory.write_init(self.init)
        except OSError:
            self._killed = True  # nobody would find the container without its shim
        if self._killed:
            self.kill_init()
        else:
            with contextlib.suppress(OSError):
                self._control.send(b"go")

    def _stdio(self) -> tuple[tuple[int, int, int], list[int]]:
        """The command's ends of its pipes, and the descriptors to close after the fork."""
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

    def _on_started(self) -> None:
        if self.handshake.terminal >= 0:
            self.pumps.append(OutputPump(self._loop, os.dup(self.handshake.terminal), "stdout", self._log))
        if self.failure is None:
            self._on_change(self)
        else:
            self._close_control()  # `finish` reports the failure once every process is gone

    # -- running

    def signal(self, number: int) -> None:
        self._send_control({"signal": number})

    def kill(self) -> None:
        self._killed = True
        if self._sandbox.shared_processes and not self.handshake.forked:
            self.kill_init()
            return
        self._send_control({"kill": True})
        # A container that may trace its init process can stop it.
        self._loop.call_later(_KILL_SECONDS, self.kill_init)

    def close_stdin(self) -> None:
        if self.stdin >= 0:
            os.close(self.stdin)
            self.stdin = -1

    def kill_init(self) -> None:
        """Kills the container without a record by its init process."""
        if self.init:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.init, signal.SIGKILL)

    def _send_control(self, order: protocol.Message) -> None:
        with contextlib.suppress(OSError):
            self._control.send(protocol.encode(order))

    def _close_control(self) -> None:
        """Init kills every process and exits when the shim closes `control`."""
        if self._control.fileno() < 0:
            return
        self._loop.unwatch(self._control.fileno())
        self._control.close()

    # -- end

    def _read_control(self) -> None:
        """Handles every message that has arrived: the sender may have exited already."""
        while self._control.fileno() >= 0:
            try:
                data = self._control.recv(protocol.CHUNK_BYTES)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            code = _exit_code(data)
            if code is not None:
                self._command_ended(code)
                continue
            if data:
                print(f"init of container {self.container.name}: {data[:_MOST_LOGGED_BYTES]!r}", file=sys.stderr)
            self._close_control()

    def _command_ended(self, code: int) -> None:
        self.handshake.read()
        if self.failure is None and self._exit is None:
            self._exit = self._record(code)
            with contextlib.suppress(OSError):  # `_complete` tries again
                self._write_exit(self._exit)
            self._send_control({"recorded": True})

    def _write_exit(self, record: dict[str, Any]) -> None:
        self._directory.write_exit(record)
        self._recorded = True

    def _record(self, code: int) -> dict[str, Any]:
        oom = self.cgroup is not None and self.cgroup.oom_kills() > 0
        number = -code if code < 0 else 0
        message = self._directory.read_message()
        return spec.to_json(spec.Exit(128 + number if number else code, self.started, timestamp(), number, oom, message))

    def finish(self) -> None:
        """The init process has been reaped, so every process of the container is gone."""
        self.handshake.process_ended()
        self._read_control()
        self._close_control()
        for pump in self.pumps:
            pump.drain()
        self._complete()

    def _complete(self) -> None:
        if self.cgroup is not None and not self.cgroup.kill(_WAIT_SECONDS):
            self._loop.call_later(1.0, self._complete)  # the container has not ended while one of its processes lives
            return
        if self.failure is None and not self._recorded:
            self._exit = self._exit or self._record(-signal.SIGKILL)
            try:
                self._write_exit(self._exit)
            except OSError:
                self._loop.call_later(1.0, self._complete)  # without a record the exit would be lost with this process
                return
        self.handshake.close()
        self._release()
        self.ended = True
        self._on_change(self)
        for each in self.on_end:
            each()

    def _close_log(self) -> None:
        """Closes the log after it notes the lines that were lost."""
        if self._log.lost and not self._log.note_lost():
            self._loop.call_later(1.0, self._close_log)
        else:
            self._log.close()

    def _release(self) -> None:
        self._close_log()
        if self.cgroup is not None:
            self.cgroup.kill()
            self.cgroup.remove()
        self.close_stdin()
        self._directory.close()


def _exit_code(data: bytes) -> int | None:
    """None: init has closed the connection, or is controlled by its container and sends something else."""
    try:
        code = json.loads(data)["ended"]
    except (ValueError, KeyError, TypeError):
        return None
    return code if isinstance(code, int) and -64 <= code <= 255 else None
