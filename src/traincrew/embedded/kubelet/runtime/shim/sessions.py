"""Exec and attach sessions of a pod, requested over the shim socket or with a ticket over the exec socket."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable

from traincrew.embedded.kubelet.runtime import errors, protocol
from traincrew.embedded.kubelet.runtime.container.container_run import ContainerRun
from traincrew.embedded.kubelet.runtime.container.pod_sandbox import PodSandbox
from traincrew.embedded.kubelet.runtime.container.start_handshake import StartHandshake
from traincrew.embedded.kubelet.runtime.shim import exec_socket
from traincrew.embedded.kubelet.runtime.shim.attach import Attachment
from traincrew.embedded.kubelet.runtime.shim.exec_process import ExecCommand, ExecProcess
from traincrew.embedded.kubelet.runtime.shim.listener import Listener
from traincrew.embedded.kubelet.runtime.shim.peer import Peer, Reply

_STREAMS = ("stdin", "stdout", "stderr")


class ExecSessions:
    def __init__(self, sandbox: PodSandbox, running: Callable[[str], ContainerRun]) -> None:
        """running: returns the running container of that name, or raises OperationFailed."""
        self._sandbox, self._running = sandbox, running
        self._execs: list[ExecProcess] = []
        self._tickets = exec_socket.ExecTickets()
        self._directory, self._socket_name = os.path.split(exec_socket.path(sandbox.pod.directory))
        self.operations: dict[str, Callable[[protocol.Message, Reply, list[int]], None]] = {
            "exec": self._exec,
            "exec_kill": self._exec_kill,
            "attach": self._attach,
            "ticket": self._ticket,
        }
        self._listen()

    def _listen(self) -> None:
        """Any user may connect: the ticket authorizes, and the kubelet decides which pods see the directory."""
        with contextlib.suppress(FileExistsError):
            os.mkdir(self._directory)
            os.chmod(self._directory, 0o711)  # noqa: S103 -- to be bound into pods of any user
        here = os.getcwd()
        os.chdir(self._directory)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._socket_name)
        Listener(self._sandbox.loop, self._socket_name, 0o666, self._exec_with_ticket, exec_socket.limits())
        os.chdir(here)

    def close(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(self._directory, self._socket_name))

    # -- exec

    def _exec(self, message: protocol.Message, reply: Reply, fds: list[int]) -> None:
        run = self._running(message["name"])
        number, given = int(message["exec"]), _streams(message, fds)
        command = ExecCommand(
            tuple(message["argv"]),
            dict(message.get("env") or {}),
            (given[0] or -1, given[1] or -1, given[2] or -1),
            bool(message.get("tty")),
        )

        def started(process: ExecProcess) -> None:
            if process.handshake.failure is not None:
                reply.fail(*process.handshake.failure)
            else:
                reply.send((process.handshake.terminal,) if process.handshake.terminal >= 0 else ())
            process.handshake.close()

        def ended(process: ExecProcess) -> None:
            reply.peer.send({"exec_ended": number, "code": process.code})

        self._start(ExecProcess(self._sandbox, run, started, ended), command, reply.peer, number)

    def _start(self, process: ExecProcess, command: ExecCommand, peer: Peer, number: int = 0) -> None:
        process.start(command)
        self._execs.append(process)
        process.peer, process.number = peer, number
        peer.on_close.append(process.kill)

    def _exec_kill(self, message: protocol.Message, reply: Reply, _: list[int]) -> None:
        for each in list(self._execs):
            if each.peer is reply.peer and each.number == message["exec"]:
                each.kill()
        reply.send()

    def reaped(self, pid: int, status: int) -> None:
        for process in [each for each in self._execs if each.pid == pid]:
            process.reaped(status)
            self._execs.remove(process)
            with contextlib.suppress(ValueError):
                process.peer.on_close.remove(process.kill)

    def container_ended(self, run: ContainerRun) -> None:
        """Ends the exec processes of that container."""
        for process in list(self._execs):
            if process.run is run:
                process.container_ended()

    def pids(self, run: ContainerRun | None = None) -> set[int]:
        """Process ids of the exec processes: of one container, or of all."""
        return {process.pid for process in self._execs if run in (None, process.run)}

    def handshakes(self) -> list[StartHandshake]:
        return [process.handshake for process in self._execs]

    @property
    def empty(self) -> bool:
        return not self._execs

    # -- attach

    def _attach(self, message: protocol.Message, reply: Reply, fds: list[int]) -> None:
        run = self._running(message["name"])
        attachment = Attachment(self._sandbox.loop, run, _streams(message, fds))
        reply.peer.on_close.append(attachment.close)
        number = message["attach"]
        run.on_end.append(lambda: reply.peer.send({"attach_ended": number}))
        reply.send((run.handshake.terminal,) if run.container.tty else ())

    # -- tickets

    def _ticket(self, message: protocol.Message, reply: Reply, _: list[int]) -> None:
        self._running(message["name"])
        self._tickets.issue(str(message["secret"]), message["name"], float(message["seconds"]))
        reply.send()

    def _exec_with_ticket(self, peer: Peer, message: protocol.Message, fds: list[int]) -> None:
        """A connection is for one command at a time."""
        if any(each.peer is peer for each in self._execs):
            peer.descriptors.close(fds)
            peer.send({"error": "a command runs on this connection", "reason": "Invalid"})
            return
        try:
            run = self._running(self._tickets.redeem(str(message["secret"])))
            stdin, stdout, stderr = fds
            command = ExecCommand(
                tuple(message["argv"]), dict(message.get("env") or {}), (stdin, stdout, stderr), own_stdio=False
            )
            process = ExecProcess(self._sandbox, run, lambda each: _send_started(peer, each), lambda each: _send_exit(peer, each))
            self._start(process, command, peer)
        except errors.OperationFailed as failure:
            peer.send_last({"error": failure.message, "reason": failure.reason})
        except (KeyError, TypeError, ValueError, OSError) as error:
            peer.send_last({"error": f"{type(error).__name__}: {error}", "reason": "Invalid"})
        finally:
            peer.descriptors.close(fds)


def _send_started(peer: Peer, process: ExecProcess) -> None:
    if process.handshake.failure is not None:
        reason, message = process.handshake.failure
        peer.send_last({"error": message, "reason": reason})
    else:
        peer.send({"started": True})


def _send_exit(peer: Peer, process: ExecProcess) -> None:
    peer.send_last({"exit": process.code})


def _streams(message: protocol.Message, fds: list[int]) -> tuple[int | None, int | None, int | None]:
    """Descriptors of stdin, stdout and stderr; None for a stream that the request does not name."""
    given = iter(fds)
    stdin, stdout, stderr = (next(given) if name in message["streams"] else None for name in _STREAMS)
    return stdin, stdout, stderr
