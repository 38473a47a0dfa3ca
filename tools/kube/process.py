"""Server processes that end with the process that started them, and ports that stay theirs."""

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

MEMORY_DISK = Path("/dev/shm")  # noqa: S108  a mkdtemp is made in it, readable by its owner alone
MEMORY_NEEDED = 4 << 30
PREFIX = "traincrew-kube-"
PR_SET_PDEATHSIG = 1


class Process:
    """One server. It is killed when the *thread* that started it ends: start it from the main thread."""

    def __init__(self, name: str, command: Sequence[str | Path], directory: Path, env: Mapping[str, str]) -> None:
        self.name = name
        self.log = directory / f"{name}.log"
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [str(part) for part in command],
                cwd=directory,
                env={**os.environ, **env},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for the test run, which then stops its servers in order
                preexec_fn=_die_with_parent(),
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    def alive(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def last_lines(self, count: int = 25) -> str:
        lines = self.log.read_text(errors="replace").splitlines()[-count:]
        return "\n".join([f"--- the end of {self.name}'s log", *lines])


class Port:
    """A free port of the loopback address, held for as long as this lives.

    The socket is bound but does not listen: with SO_REUSEPORT the server can take the port, again and again,
    while no other process is given it. Between two lives of the server connections are refused as usual.
    """

    def __init__(self) -> None:
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        self._socket.bind(("127.0.0.1", 0))
        self.number: int = self._socket.getsockname()[1]

    def close(self) -> None:
        self._socket.close()


def make_directory(parent: Path | None = None) -> Path:
    """A private temporary directory, in memory where there is room; removes those of runs that were killed."""
    if parent is None:
        roomy = MEMORY_DISK.is_dir() and shutil.disk_usage(MEMORY_DISK).free > MEMORY_NEEDED
        parent = MEMORY_DISK if roomy and os.access(MEMORY_DISK, os.W_OK) else Path(tempfile.gettempdir())
    for left in parent.glob(f"{PREFIX}*"):
        if not _exists(left.name.removeprefix(PREFIX).partition("-")[0]):
            shutil.rmtree(left, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=parent))


def _exists(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except (PermissionError, ValueError):
        return True
    return True


def _die_with_parent() -> Callable[[], None] | None:
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    parent = os.getpid()

    def arrange() -> None:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died before the line above
            os._exit(1)

    return arrange
