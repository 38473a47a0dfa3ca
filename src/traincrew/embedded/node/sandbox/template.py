"""The process that shims are forked from: small, one thread, everything imported that they need. Ends with its daemon."""

from __future__ import annotations

import gc
import os
import signal
import socket
import sys
from typing import Any

from traincrew.embedded.node.sandbox import birth, forking, kernel, protocol, spec


def main(door: int, isolation: str, userns_of: int) -> None:
    daemon = socket.socket(fileno=door)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        if userns_of:
            enter(userns_of)
    except OSError as error:
        daemon.sendall(protocol.line({"error": str(error)}))
        return
    gc.disable()
    gc.freeze()
    daemon.sendall(protocol.line({"ready": os.getpid()}))
    _serve(daemon, spec.Isolation(isolation))


def enter(pid: int) -> None:
    """The holder's user namespace, as its root."""
    fd = os.open(f"/proc/{pid}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    kernel.setns(fd, kernel.CLONE_NEWUSER)
    os.close(fd)
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)
    # What the kernel forbids a process whose rights have grown: to look at itself in /proc.
    kernel.set_dumpable(True)


def _serve(daemon: socket.socket, isolation: spec.Isolation) -> None:
    lines = protocol.Lines()
    while True:
        data, fds = protocol.receive(daemon)
        if not data:
            return
        for message, own in lines.feed(data, fds):
            _carry_out(message, own, isolation, daemon)


def _carry_out(message: dict[str, Any], fds: list[int], isolation: spec.Isolation, daemon: socket.socket) -> None:
    if "fork" in message:
        first = socket.socket(fileno=fds[0])

        def between() -> None:
            daemon.close()
            forking.child(lambda: birth.main(spec.pod(message["fork"]), isolation, first))

        os.waitpid(forking.child(between), 0)
        first.close()
    elif "remove" in message:
        ...


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
