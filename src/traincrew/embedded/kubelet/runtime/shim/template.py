"""The process that shims are forked from: small, one thread, everything imported that they need. Ends with its daemon."""

from __future__ import annotations

import gc
import os
import select
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any

from traincrew.embedded.kubelet.runtime import protocol, spec, syscalls, tree_removal
from traincrew.embedded.kubelet.runtime.cgroups import hierarchies
from traincrew.embedded.kubelet.runtime.shim import fork
from traincrew.embedded.kubelet.runtime.shim import main as shim_main


def main(door: int, isolation: str, space: int) -> None:
    """space: an open user namespace; -1: to stay in this one."""
    daemon = socket.socket(fileno=door)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        if space >= 0:
            enter_user_namespace(space)
    except OSError as error:
        daemon.sendall(protocol.encode({"error": str(error)}))
        return
    gc.disable()
    gc.freeze()
    daemon.sendall(protocol.encode({"ready": os.getpid()}))
    _serve(daemon, spec.Isolation(isolation))


def enter_user_namespace(space: int) -> None:
    """As its root."""
    syscalls.setns(space, syscalls.CLONE_NEWUSER)
    os.close(space)
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)
    # What the kernel forbids a process whose rights have grown: to look at itself in /proc.
    syscalls.set_dumpable(True)


def _serve(daemon: socket.socket, isolation: spec.Isolation) -> None:
    lines = protocol.LineReader()
    ground = hierarchies.discover()  # looked for once: it takes as long as everything else about a pod's group
    while True:
        data, fds = protocol.receive(daemon)
        if not data:
            return
        for message, own in lines.feed(data, fds):
            if _gone(daemon):
                return  # what it asked for last, its successor will ask for again
            _carry_out(message, own, daemon, lambda pod, first: shim_main.main(pod, isolation, first, ground))


def _gone(daemon: socket.socket) -> bool:
    poll = select.poll()
    poll.register(daemon, 0)
    return bool(poll.poll(0))


def _carry_out(
    message: dict[str, Any], fds: list[int], daemon: socket.socket, live: Callable[[spec.Pod, socket.socket], None]
) -> None:
    if "fork" in message:
        _detach(lambda first: live(spec.pod_from_json(message["fork"]), first), fds[0], daemon)
    elif "remove" in message:
        _detach(lambda asker: _remove(message["remove"], asker), fds[0], daemon)


def _detach(body: Callable[[socket.socket], None], fd: int, daemon: socket.socket) -> None:
    """Not a child of this process: it neither waits for it nor takes it along when it ends."""
    sock = socket.socket(fileno=fd)

    def between() -> None:
        daemon.close()
        fork.fork_child(lambda: body(sock))

    os.waitpid(fork.fork_child(between), 0)
    sock.close()


def _remove(path: str, asker: socket.socket) -> None:
    try:
        tree_removal.remove_tree(path)
    except OSError as error:
        asker.sendall(protocol.encode({"error": str(error)}))
    else:
        asker.sendall(protocol.encode({"removed": path}))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
