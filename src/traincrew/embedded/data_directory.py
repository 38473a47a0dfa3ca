"""The data directory of the cluster of this machine, and which process has it open."""

from __future__ import annotations

import dataclasses
import fcntl
import json
import os
import pathlib

from traincrew import errors
from traincrew.embedded import private_files, process_identity


def data_directory(given: str = "") -> pathlib.Path:
    """The given directory, else $TRAINCREW_DATA, else $XDG_STATE_HOME/traincrew."""
    if chosen := given or os.environ.get("TRAINCREW_DATA", ""):
        return pathlib.Path(chosen).expanduser().absolute()
    state = os.environ.get("XDG_STATE_HOME") or pathlib.Path.home() / ".local" / "state"
    return pathlib.Path(state, "traincrew").absolute()


@dataclasses.dataclass(frozen=True)
class DataDirectory:
    data: pathlib.Path

    @property
    def kubeconfig(self) -> pathlib.Path:
        return self.data / "kubeconfig"

    @property
    def log(self) -> pathlib.Path:
        return self.data / "traincrew.log"

    @property
    def history(self) -> pathlib.Path:
        """Database of the jobs that were deleted."""
        return self.data / "history.db"

    @property
    def _announcement(self) -> pathlib.Path:
        return self.data / "running.json"

    @property
    def _grace(self) -> pathlib.Path:
        return self.data / "grace.json"

    def owner_pid(self) -> int:
        """The PID of the process that has the database open; 0 if none has, -1 if it has not written its PID yet.

        Determined by the lock, not by a file that may be stale.
        """
        path = self.data / "cluster.db.lock"
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except PermissionError:
            raise self._inaccessible() from None
        except OSError:
            return 0
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            text = os.pread(descriptor, 20, 0).decode(errors="replace").strip()
            # A process that has just taken the lock may not have written its PID: the file then contains the previous PID.
            return int(text) if text.isdecimal() and process_identity.is_running(text) else -1
        finally:
            os.close(descriptor)
        return 0

    def exists(self) -> bool:
        """Whether a cluster was ever started here."""
        try:
            return self.kubeconfig.exists()
        except PermissionError:
            raise self._inaccessible() from None

    def _inaccessible(self) -> errors.NotRunning:
        return errors.NotRunning(
            f"{self.data} belongs to another user and cannot be read. Name your own data directory with --data DIR."
        )

    def announce(self, url: str, started: str, **more: object) -> None:
        """Announces to waiting processes that the cluster is ready."""
        announcement = {"pid": os.getpid(), "server": url, "started": started, **more}
        private_files.write(self._announcement, json.dumps(announcement).encode())

    def request_grace_period(self, seconds: float) -> None:
        """Sets the grace period of pods for the stop signal that follows."""
        private_files.write(self._grace, json.dumps({"seconds": seconds}).encode())

    def take_requested_grace_period(self) -> float | None:
        """Reads and removes the request: the next stop has another grace period."""
        try:
            return float(json.loads(self._grace.read_text())["seconds"])
        except (OSError, ValueError, KeyError, TypeError):
            return None
        finally:
            self._grace.unlink(missing_ok=True)

    def withdraw(self) -> None:
        self._announcement.unlink(missing_ok=True)

    def running(self) -> dict[str, object] | None:
        """The announcement of the process that has the database open; None while it starts or stops, or if there is none."""
        pid = self.owner_pid()
        try:
            announced: dict[str, object] = json.loads(self._announcement.read_text())
        except (OSError, ValueError):
            return None
        return announced if pid and announced.get("pid") == pid else None

    def last_port(self) -> int:
        """The port of the previous start: copies of the kubeconfig stay valid if it is used again."""
        try:
            text = self.kubeconfig.read_text()
        except OSError:
            return 0
        servers = [line.strip() for line in text.splitlines() if line.strip().startswith("server:")]
        port = servers[0].rpartition(":")[2].strip('"') if servers else ""
        return int(port) if port.isdecimal() else 0
