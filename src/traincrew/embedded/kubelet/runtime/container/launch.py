"""The last steps of a process before it becomes what the container asked for."""

from __future__ import annotations

import dataclasses
import errno
import fcntl
import os
import signal
import socket
import stat
import termios
from typing import NoReturn

from traincrew.embedded.kubelet.runtime import protocol, spec, syscalls
from traincrew.embedded.kubelet.runtime.cgroups import entry as cgroups_entry
from traincrew.embedded.kubelet.runtime.container import credentials

DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Refused(Exception):
    """The container cannot be started, in a kubelet's words."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason, self.message = reason, message


@dataclasses.dataclass(frozen=True)
class ProcessSpec:
    container: spec.Container
    """Whose user, environment and working directory count."""
    argv: tuple[str, ...]
    env: dict[str, str]
    stdio: tuple[int, int, int]
    """-1: none. With a terminal they are not looked at."""
    tty: bool
    isolation: spec.Isolation
    groups: tuple[int, ...] = ()
    """Ways into the container's group; see `entrances`."""


def exec_process(order: ProcessSpec, status: socket.socket) -> NoReturn:
    """Never returns: what goes wrong is told on `status`, which otherwise ends without a word."""
    try:
        os.setsid()
        _join(order.groups)
        _stand(order, status)
        made = _in_directory(order.container.cwd, order.isolation)
        credentials.apply(order.container, order.isolation)
        if not made:
            os.chdir(order.container.cwd)
        env = environment(order)
        path = find_executable(order.argv[0], env.get("PATH", ""))
        _forget_signals()
        os.umask(0o022)
        status.send(protocol.encode({"exec": os.getpid()}))
        _execute(path, order.argv, env)
    except Refused as refusal:
        report_failure(status, refusal.reason, refusal.message)
    except (OSError, ValueError) as error:
        report_failure(status, "StartError", f"unable to start container process: {_words(error)}")
    os._exit(127)


def _join(groups: tuple[int, ...]) -> None:
    if groups:
        cgroups_entry.join(groups)
        syscalls.unshare(syscalls.CLONE_NEWCGROUP)


def report_failure(status: socket.socket, reason: str, message: str) -> None:
    status.send(protocol.encode({"failed": reason, "message": message[:4096]}))


def environment(order: ProcessSpec) -> dict[str, str]:
    """What a runtime adds if nothing else was said."""
    env = {"PATH": DEFAULT_PATH, **({"TERM": "xterm"} if order.tty else {}), **order.env}
    if "HOME" not in env:
        env["HOME"] = _home(os.getuid())
    return env


def find_executable(name: str, path: str) -> str:
    if "/" in name:
        if (why := _unfit(name)) is not None:
            words = f"stat {name}: {os.strerror(why).lower()}" if why == errno.ENOENT else os.strerror(why).lower()
            raise Refused("StartError", f'unable to start container process: exec: "{name}": {words}')
        return name
    places = [place or "." for place in path.split(":")]
    for place in places:
        candidate = f"{place}/{name}"
        if _unfit(candidate) is None:
            return candidate
    looked = ", ".join(places)
    raise Refused(
        "StartError",
        f'unable to start container process: exec: "{name}": executable file not found in $PATH (looked in {looked})',
    )


def _unfit(path: str) -> int | None:
    try:
        if stat.S_ISDIR(os.stat(path).st_mode):
            return errno.EISDIR
    except OSError as error:
        return error.errno
    return None if os.access(path, os.X_OK, effective_ids=True) else errno.EACCES


def _execute(path: str, argv: tuple[str, ...], env: dict[str, str]) -> None:
    try:
        os.execve(path, argv, env)
    except OSError as error:
        words = (error.strerror or "").lower()
        raise Refused("StartError", f"unable to start container process: exec {path}: {words}") from None


def _stand(order: ProcessSpec, status: socket.socket) -> None:
    """Standard input, output and error; the status is the only other descriptor that is left, until the execve."""
    stdio = (_terminal(status),) * 3 if order.tty else order.stdio
    for target, fd in enumerate(stdio):
        if fd < 0:
            fd = os.open(os.devnull, os.O_RDONLY if target == 0 else os.O_WRONLY)
        os.dup2(fd, target)
    syscalls.close_range(3, status.fileno() - 1)
    syscalls.close_range(status.fileno() + 1)


def _terminal(status: socket.socket) -> int:
    """A terminal of the container's own; whoever started it gets the other side."""
    master, slave = os.openpty()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    socket.send_fds(status, [protocol.encode({"terminal": True}, [master])], [master])
    os.close(master)
    return slave


def _in_directory(path: str, isolation: spec.Isolation) -> bool:
    """Whether it could be entered; if not, the container's own user may be able to. A missing one is made, as runtimes do."""
    try:
        if isolation != spec.Isolation.NONE:
            os.makedirs(path, mode=0o755, exist_ok=True)
        os.chdir(path)
    except PermissionError:
        return False
    except OSError as error:
        words = (error.strerror or "").lower()
        message = f'unable to start container process: chdir to cwd ("{path}") failed: {words}'
        raise Refused("StartError", message) from None
    return True


def _forget_signals() -> None:
    """What a shim ignores, and Python, its containers do not."""
    for number in signal.valid_signals():
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _home(uid: int) -> str:
    try:
        with open("/etc/passwd", errors="replace") as file:
            for entry in file:
                fields = entry.rstrip("\n").split(":")
                if len(fields) > 5 and fields[2] == str(uid):
                    return fields[5] or "/"
    except OSError:
        pass
    return "/"


def _words(error: Exception) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
