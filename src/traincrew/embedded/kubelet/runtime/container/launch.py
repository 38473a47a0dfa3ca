"""The last steps of a container's process before its execve, in the order in which runc takes them."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import fcntl
import os
import signal
import socket
import stat
import termios
from typing import NoReturn

from traincrew.embedded.kubelet.runtime import errors, protocol, spec, syscalls
from traincrew.embedded.kubelet.runtime.cgroups import entry as cgroups_entry
from traincrew.embedded.kubelet.runtime.container import credentials
from traincrew.embedded.kubelet.runtime.rootfs.mounts import opened
from traincrew.embedded.kubelet.runtime.rootfs.root_directory import RootDirectory

DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclasses.dataclass(frozen=True)
class ProcessSpec:
    """A process of a container: its own command, or one that exec starts beside it."""

    container: spec.Container
    """Gives user, environment and working directory."""
    argv: tuple[str, ...]
    env: dict[str, str]
    stdio: tuple[int, int, int]
    """-1 stands for /dev/null. Ignored when tty is set."""
    tty: bool
    """The streams are a terminal that is allocated in the container."""
    isolation: spec.Isolation
    cgroup_entries: tuple[int, ...] = ()
    """Open entries of the container's cgroup; see `cgroups.entry`."""
    own_stdio: bool = True
    """The streams were made for this process. Otherwise they are a client's, and stay as they are."""


def exec_process(process: ProcessSpec, status: socket.socket) -> NoReturn:
    """Becomes the process. A failure is reported on `status`; the execve closes it without a message."""
    try:
        os.setsid()
        _join_cgroup(process.cgroup_entries)
        _set_stdio(process, status)
        if process.own_stdio:
            _give_stdio(process)
        entered = _change_directory(process.container.cwd, process.isolation)
        credentials.apply(process.container, process.isolation)
        if not entered:
            _enter(process.container.cwd, process.isolation)
        env = environment(process)
        path = find_executable(process.argv[0], env.get("PATH", ""))
        _reset_signals()
        os.umask(0o022)
        status.send(protocol.encode({"exec": os.getpid()}))
        _execute(path, process.argv, env)
    except errors.OperationFailed as failure:
        report_failure(status, failure.reason, failure.message)
    except (OSError, ValueError) as error:
        report_failure(status, "StartError", f"unable to start container process: {_message(error)}")
    os._exit(127)


def _join_cgroup(groups: tuple[int, ...]) -> None:
    if groups:
        cgroups_entry.join(groups)
        syscalls.unshare(syscalls.CLONE_NEWCGROUP)


def report_failure(status: socket.socket, reason: str, message: str) -> None:
    status.send(protocol.encode({"failed": reason, "message": message[:4096]}))


def environment(process: ProcessSpec) -> dict[str, str]:
    """The variables of the process, with the defaults that a container runtime adds."""
    env = {"PATH": DEFAULT_PATH, **({"TERM": "xterm"} if process.tty else {}), **process.env}
    if "HOME" not in env:
        env["HOME"] = _home(os.getuid())
    return env


def find_executable(name: str, path: str) -> str:
    if "/" in name:
        if (why := _why_not_executable(name)) is not None:
            words = f"stat {name}: {os.strerror(why).lower()}" if why == errno.ENOENT else os.strerror(why).lower()
            raise errors.OperationFailed("StartError", f'unable to start container process: exec: "{name}": {words}')
        return name
    directories = [directory or "." for directory in path.split(":")]
    for directory in directories:
        candidate = f"{directory}/{name}"
        if _why_not_executable(candidate) is None:
            return candidate
    looked = ", ".join(directories)
    raise errors.OperationFailed(
        "StartError",
        f'unable to start container process: exec: "{name}": executable file not found in $PATH (looked in {looked})',
    )


def _why_not_executable(path: str) -> int | None:
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
        raise errors.OperationFailed("StartError", f"unable to start container process: exec {path}: {words}") from None


def _set_stdio(process: ProcessSpec, status: socket.socket) -> None:
    """Sets standard input, output and error. Every other descriptor but `status` is closed."""
    stdio = (_terminal(status),) * 3 if process.tty else process.stdio
    for target, fd in enumerate(stdio):
        if fd < 0:
            fd = os.open(os.devnull, os.O_RDONLY if target == 0 else os.O_WRONLY)
        os.dup2(fd, target)
    syscalls.close_range(3, status.fileno() - 1)
    syscalls.close_range(status.fileno() + 1)


def _give_stdio(process: ProcessSpec) -> None:
    """Gives the streams to the user of the process, who may open /dev/stdout then. As runc does."""
    uid = process.container.user
    if not uid or process.isolation == spec.Isolation.NONE:
        return
    for number in range(3):
        stream = os.fstat(number)
        if stat.S_ISFIFO(stream.st_mode) or os.isatty(number):
            # A user without a mapping is reported later.
            with contextlib.suppress(OSError):
                os.fchown(number, uid, stream.st_gid)


def _terminal(status: socket.socket) -> int:
    """Allocates a terminal in the container and sends its master end to the shim."""
    master, slave = os.openpty()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    socket.send_fds(status, [protocol.encode({"terminal": True}, [master])], [master])
    os.close(master)
    return slave


def _change_directory(path: str, isolation: spec.Isolation) -> bool:
    """Whether it could be entered; if not, the container's own user may be able to. A missing one is entered, as runtimes do."""
    try:
        _enter(path, isolation, make="directory")
    except PermissionError:
        return False
    except OSError as error:
        words = (error.strerror or "").lower()
        message = f'unable to start container process: chdir to cwd ("{path}") failed: {words}'
        raise errors.OperationFailed("StartError", message) from None
    return True


def _enter(path: str, isolation: spec.Isolation, make: str = "") -> None:
    if isolation == spec.Isolation.NONE:
        os.chdir(path)
        return
    # Name by name: the container chooses the path, and links of /proc would lead this process, which has more rights, outside.
    with contextlib.closing(RootDirectory("/")) as root, opened(root, path, make) as directory:
        os.fchdir(directory)


def _reset_signals() -> None:
    """The shim and Python ignore some signals. Containers must not inherit that."""
    for number in signal.valid_signals():
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _home(uid: int) -> str:
    return next(
        (fields[5] or "/" for fields in credentials.read_table("/etc/passwd") if len(fields) > 5 and fields[2] == str(uid)), "/"
    )


def _message(error: Exception) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
