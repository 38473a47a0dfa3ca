"""Processes of their own out of a single-threaded one."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterable

from traincrew.embedded.kubelet.runtime import syscalls


def fork_child(body: Callable[[], None], group: int = -1) -> int:
    """A process that does this and nothing of what its parent would have gone on to do.

    group: the open directory of a unified group to be born in; where the kernel cannot, it is born in its parent's.
    """
    pid = _forked(group)
    if pid:
        return pid
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        body()
        code = 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        with contextlib.suppress(Exception):
            sys.stderr.flush()
        os._exit(code)


def _forked(group: int) -> int:
    if group >= 0:
        with contextlib.suppress(OSError):
            return syscalls.fork_into(group)
    return os.fork()


def fork_grandchild(enter: Callable[[], None], body: Callable[[], None], group: int = -1) -> int:
    """A child that begins where `enter` leads, and in that group; see `child`.

    Entering a PID namespace holds for children alone and, in a user namespace, cannot be taken back: so a process in between
    enters and goes. The caller, who adopts orphans, becomes the parent.
    """
    reading, writing = os.pipe2(os.O_CLOEXEC)

    def between() -> None:
        try:
            enter()
            told = str(fork_child(body, group))
        except OSError as error:
            told = f"{-(error.errno or 1)} {error.strerror}"
        os.write(writing, told.encode())

    middle = fork_child(between)
    os.close(writing)
    with open(reading, "rb") as pipe:
        number, _, words = pipe.read().decode().partition(" ")
    os.waitpid(middle, 0)
    if int(number or -1) < 0:
        raise OSError(-int(number or -1), words or "fork")
    return int(number)


def close_other_descriptors(descriptors: Iterable[int]) -> None:
    """Closes every other one, but for the first three."""
    first = 3
    for kept in sorted(set(descriptors)):
        if kept > first:
            syscalls.close_range(first, kept - 1)
        first = max(first, kept + 1)
    syscalls.close_range(first)
