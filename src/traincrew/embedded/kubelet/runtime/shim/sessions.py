"""Those who come to a pod from outside: commands beside a container's own, clients who look on, and bearers of tickets."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable

from traincrew.embedded.kubelet.runtime import protocol
from traincrew.embedded.kubelet.runtime.container import launch
from traincrew.embedded.kubelet.runtime.container.container_run import ContainerRun, PodSandbox
from traincrew.embedded.kubelet.runtime.shim import exec_socket
from traincrew.embedded.kubelet.runtime.shim.attach import Attachment
from traincrew.embedded.kubelet.runtime.shim.exec_process import ExecCommand, ExecProcess
from traincrew.embedded.kubelet.runtime.shim.peer import Listener, Peer, Reply

_STREAMS = ("stdin", "stdout", "stderr")


class Sessions:
    def __init__(self, place: PodSandbox, running: Callable[[str], ContainerRun]) -> None:
        """running: the container of that name, or launch.Refused."""
        self._place, self._running = place, running
        self._execs: dict[int, ExecProcess] = {}
        self._tickets = exec_socket.ExecTickets()
        self._directory = exec_socket.directory(place.pod)
        self.operations: dict[str, Callable[[protocol.Message, Reply, list[int]], None]] = {
            "exec": self._exec,
            "exec_kill": self._exec_kill,
            "attach": self._attach,
            "ticket": self._ticket,
        }
        self._open_door()

    def _open_door(self) -> None:
        """Everybody may knock: the ticket is what counts, and who sees the directory at all is the daemon's choice."""
        with contextlib.suppress(FileExistsError):
            os.mkdir(self._directory)
            os.chmod(self._directory, 0o711)  # noqa: S103 -- to be bound into pods of any user
        here = os.getcwd()
        os.chdir(self._directory)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(exec_socket.name(self._place.pod))
        Listener(self._place.loop, exec_socket.name(self._place.pod), 0o666, self._knock)
        os.chdir(here)

    def close_door(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(self._directory, exec_socket.name(self._place.pod)))

    # -- commands

    def _exec(self, message: protocol.Message, answer: Reply, fds: list[int]) -> None:
        run = self._running(message["name"])
        number, given = int(message["exec"]), _streams(message, fds)
        command = ExecCommand(
            tuple(message["argv"]),
            dict(message.get("env") or {}),
            (given[0] or -1, given[1] or -1, given[2] or -1),
            bool(message.get("tty")),
        )

        def begun(made: ExecProcess) -> None:
            if made.beginning.refusal is not None:
                answer.refuse(*made.beginning.refusal)
            else:
                answer.give((made.beginning.terminal,) if made.beginning.terminal >= 0 else ())
            made.beginning.close()

        def ended(made: ExecProcess) -> None:
            answer.peer.send({"exec_ended": number, "code": made.code})

        self._begin(ExecProcess(self._place, run, begun, ended), command, answer.peer, number)

    def _begin(self, made: ExecProcess, command: ExecCommand, peer: Peer, number: int = 0) -> None:
        made.begin(command)
        self._execs[made.pid] = made
        made.peer, made.number = peer, number
        peer.on_close.append(made.kill)

    def _exec_kill(self, message: protocol.Message, answer: Reply, _: list[int]) -> None:
        for each in list(self._execs.values()):
            if each.peer is answer.peer and each.number == message["exec"]:
                each.kill()
        answer.give()

    def reaped(self, pid: int, status: int) -> None:
        if (made := self._execs.pop(pid, None)) is not None:
            made.reaped(status)
            with contextlib.suppress(ValueError):
                made.peer.on_close.remove(made.kill)

    def leave(self, run: ContainerRun) -> None:
        """The container has ended."""
        for made in list(self._execs.values()):
            if made.run is run:
                made.leave()

    def pids(self, run: ContainerRun | None = None) -> set[int]:
        """The first processes of commands, of one container's or of all."""
        return {pid for pid, made in self._execs.items() if run in (None, made.run)}

    @property
    def empty(self) -> bool:
        return not self._execs

    # -- clients who look on

    def _attach(self, message: protocol.Message, answer: Reply, fds: list[int]) -> None:
        run = self._running(message["name"])
        attachment = Attachment(self._place.loop, run, _streams(message, fds))
        answer.peer.on_close.append(attachment.close)
        number = message["attach"]
        run.on_end.append(lambda: answer.peer.send({"attach_ended": number}))
        answer.give((run.beginning.terminal,) if run.container.tty else ())

    # -- tickets

    def _ticket(self, message: protocol.Message, answer: Reply, _: list[int]) -> None:
        self._running(message["name"])
        self._tickets.issue(str(message["secret"]), message["name"], float(message["seconds"]))
        answer.give()

    def _knock(self, peer: Peer, message: protocol.Message, fds: list[int]) -> None:
        try:
            run = self._running(self._tickets.redeem(str(message["secret"])))
            stdin, stdout, stderr = fds
            command = ExecCommand(tuple(message["argv"]), dict(message.get("env") or {}), (stdin, stdout, stderr))
            made = ExecProcess(self._place, run, lambda each: _refuse(peer, each), lambda each: _leave(peer, each))
            self._begin(made, command, peer)
        except launch.Refused as refusal:
            peer.send({"error": refusal.message, "reason": refusal.reason})
        except (KeyError, TypeError, ValueError, OSError) as error:
            peer.send({"error": f"{type(error).__name__}: {error}", "reason": "Invalid"})
        finally:
            for fd in fds:
                os.close(fd)


def _refuse(peer: Peer, made: ExecProcess) -> None:
    if made.beginning.refusal is not None:
        reason, message = made.beginning.refusal
        peer.send({"error": message, "reason": reason})
    else:
        peer.send({"started": True})


def _leave(peer: Peer, made: ExecProcess) -> None:
    peer.send({"exit": made.code})


def _streams(message: protocol.Message, fds: list[int]) -> tuple[int | None, int | None, int | None]:
    """The descriptors in their order, of those streams that the message names."""
    given = iter(fds)
    stdin, stdout, stderr = (next(given) if name in message["streams"] else None for name in _STREAMS)
    return stdin, stdout, stderr
