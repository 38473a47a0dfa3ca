"""The streams of a container's process."""

from __future__ import annotations

import contextlib
import os
import socket
import stat

from traincrew.embedded.kubelet.runtime import fork, protocol


def replace(streams: tuple[int, int, int], kept: tuple[int, ...]) -> None:
    """Sets standard input, output and error; -1 stands for /dev/null. Every other descriptor that is not listed is closed."""
    for target, fd in enumerate(streams):
        if fd < 0:
            fd = os.open(os.devnull, os.O_RDONLY if target == 0 else os.O_WRONLY)
        os.dup2(fd, target)
    fork.close_other_descriptors(kept)


def give_to(uid: int) -> None:
    """Gives the streams to a user, who may open /dev/stdout then. As runc does."""
    for number in range(3):
        stream = os.fstat(number)
        if stat.S_ISFIFO(stream.st_mode) or os.isatty(number):
            # A user without a mapping is reported later.
            with contextlib.suppress(OSError):
                os.fchown(number, uid, stream.st_gid)


def open_terminal(status: socket.socket) -> int:
    """Allocates a terminal in the container and sends its master end to the shim."""
    master, slave = os.openpty()
    socket.send_fds(status, [protocol.encode({"terminal": True}, [master])], [master])
    os.close(master)
    return slave
