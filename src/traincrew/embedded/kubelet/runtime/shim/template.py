"""The template process: shims are forked from it. It has one thread and all imports of a shim, and ends with the daemon."""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any

from traincrew.embedded.file_trees import removal
from traincrew.embedded.kubelet.runtime import fork, protocol, spec, syscalls
from traincrew.embedded.kubelet.runtime.cgroups import hierarchies
from traincrew.embedded.kubelet.runtime.shim import main as shim_main


def main(socket_fd: int, isolation: str, userns: int) -> None:
    """userns: an open user namespace to join; -1: stay in this one."""
    daemon = socket.socket(fileno=socket_fd)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        if userns >= 0:
            enter_user_namespace(userns)
    except OSError as error:
        daemon.sendall(protocol.encode({"error": str(error)}))
        return
    gc.disable()
    gc.freeze()
    daemon.sendall(protocol.encode({"ready": os.getpid()}))
    _serve(daemon, spec.Isolation(isolation))


def enter_user_namespace(userns: int) -> None:
    """Joins the user namespace as its root."""
    syscalls.setns(userns, syscalls.CLONE_NEWUSER)
    os.close(userns)
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)
    # After a gain of capabilities the kernel denies a process its own /proc entries.
    syscalls.set_dumpable(True)


def _serve(daemon: socket.socket, isolation: spec.Isolation) -> None:
    lines = protocol.LineReader()
    found = hierarchies.discover()  # discovered once: it takes as long as the rest of creating a cgroup
    while True:
        data, fds = protocol.receive(daemon)
        if not data:
            return
        for message, own in lines.feed(data, fds):
            if _is_closed(daemon):
                return  # the next daemon repeats the request
            _handle(message, own, daemon, lambda pod, first: shim_main.main(pod, isolation, first, found))


def _is_closed(sock: socket.socket) -> bool:
    poll = select.poll()
    poll.register(sock, 0)
    return bool(poll.poll(0))


def _handle(
    message: dict[str, Any], fds: list[int], daemon: socket.socket, shim: Callable[[spec.PodSandboxConfig, socket.socket], None]
) -> None:
    if "fork" in message:
        _detach(lambda first: shim(spec.pod_from_json(message["fork"]), first), fds[0], daemon)
    elif "remove" in message:
        _detach(lambda requester: _remove(message["remove"], requester), fds[0], daemon)


def _detach(body: Callable[[socket.socket], None], fd: int, daemon: socket.socket) -> None:
    """Runs `body` in a process that is not a child of this one and outlives it."""
    sock = socket.socket(fileno=fd)

    def intermediate() -> None:
        daemon.close()
        fork.fork_child(lambda: body(sock))

    os.waitpid(fork.fork_child(intermediate), 0)
    sock.close()


def _remove(path: str, requester: socket.socket) -> None:
    reply = {"removed": path}
    try:
        # The next daemon continues the removal.
        removal.remove_tree(path, lambda: _is_closed(requester))
    except OSError as error:
        reply = {"error": str(error)}
    with contextlib.suppress(ConnectionError):
        requester.sendall(protocol.encode(reply))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
