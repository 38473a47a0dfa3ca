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
from collections.abc import Iterator
from typing import NoReturn

from traincrew.embedded.kubelet.runtime import errors, protocol, spec, syscalls
from traincrew.embedded.kubelet.runtime.cgroups import entry as cgroups_entry
from traincrew.embedded.kubelet.runtime.container import credentials, stdio
from traincrew.embedded.kubelet.runtime.rootfs.mounts import opened
from traincrew.embedded.kubelet.runtime.rootfs.root_directory import RootDirectory

DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclasses.dataclass(frozen=True)
class ProcessSpec:
    """A process of a container: its own command, or one that exec starts beside it."""

    container: spec.ContainerConfig
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


@dataclasses.dataclass(frozen=True)
class PreparedProcess:
    """What is left to do: a fork and the execve. Nothing of it needs more rights than the container has."""

    path: str
    argv: tuple[str, ...]
    env: dict[str, str]
    tty: bool
    capabilities: int | None
    """None: those that it has."""


def exec_process(process: ProcessSpec, status: socket.socket, mappings: credentials.IdMappings) -> NoReturn:
    """Becomes the process. A failure is reported on `status`; the execve closes it without a message."""
    with failures_reported(status):
        execute(prepare(process, status, mappings), status)


@contextlib.contextmanager
def failures_reported(status: socket.socket) -> Iterator[None]:
    """Reports a failure on `status` and exits."""
    try:
        yield
    except errors.OperationFailed as failure:
        report_failure(status, failure.reason, failure.message)
        os._exit(127)
    except (OSError, ValueError) as error:
        report_failure(status, "StartError", f"unable to start container process: {_message(error)}")
        os._exit(127)


def prepare(
    process: ProcessSpec,
    status: socket.socket,
    mappings: credentials.IdMappings,
    kept: tuple[int, ...] = (),
    retained: int = 0,
) -> PreparedProcess:
    """Gives this process all that the container's process has, and no more: streams, directory, cgroup, user, capabilities.

    kept: descriptors that stay open beside `status`; retained: see `credentials.apply`.
    """
    _join_cgroup(process.cgroup_entries)
    _set_stdio(process, status, kept)
    entered = _change_directory(process.container.cwd, process.isolation)
    granted = credentials.apply(process.container, process.isolation, mappings, retained)
    if not entered:
        _enter(process.container.cwd, process.isolation)
    env = environment(process)
    path = find_executable(process.argv[0], env.get("PATH", ""))
    os.umask(0o022)
    changes = process.isolation != spec.Isolation.NONE
    return PreparedProcess(path, process.argv, env, process.tty, granted if changes else None)


def execute(prepared: PreparedProcess, status: socket.socket) -> NoReturn:
    """Becomes the process. Raises OperationFailed."""
    os.setsid()
    if prepared.tty:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    if prepared.capabilities is not None:
        credentials.set_capabilities(prepared.capabilities)
    _reset_signals()
    status.send(protocol.encode({"exec": os.getpid()}))
    try:
        os.execve(prepared.path, prepared.argv, prepared.env)
    except OSError as error:
        words = (error.strerror or "").lower()
        raise errors.OperationFailed("StartError", f"unable to start container process: exec {prepared.path}: {words}") from None


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


def _set_stdio(process: ProcessSpec, status: socket.socket, kept: tuple[int, ...]) -> None:
    streams = (stdio.open_terminal(status),) * 3 if process.tty else process.stdio
    stdio.replace(streams, (status.fileno(), *kept))
    if process.own_stdio and process.container.user and process.isolation != spec.Isolation.NONE:
        stdio.give_to(process.container.user)


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
