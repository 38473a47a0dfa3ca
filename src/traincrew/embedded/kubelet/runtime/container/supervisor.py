"""The loop of a container's init: it forwards signals, reaps processes and kills what is left."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
from collections.abc import Callable, Collection

from traincrew.embedded.kubelet.runtime import protocol, syscalls
from traincrew.embedded.kubelet.runtime.container.init_config import InitConfig

FORWARDED = (
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
        # Outside of a PID namespace of its own, -1 would be every process of the machine.
        if self._config.own_pid_namespace and os.getpid() == 1:
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
