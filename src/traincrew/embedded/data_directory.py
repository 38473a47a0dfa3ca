"""Where the cluster of this machine lives, and whether it runs."""

from __future__ import annotations

import dataclasses
import fcntl
import json
import os
import pathlib

from traincrew import errors


def data_directory(given: str = "") -> pathlib.Path:
    """What was named, else $TRAINCREW_DATA, else traincrew's own below $XDG_STATE_HOME."""
    if found := given or os.environ.get("TRAINCREW_DATA", ""):
        return pathlib.Path(found).expanduser().absolute()
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
    def _note(self) -> pathlib.Path:
        return self.data / "running.json"

    @property
    def _grace(self) -> pathlib.Path:
        return self.data / "grace.json"

    def holder(self) -> int:
        """The process that has the cluster's data open; 0 if none has, -1 if it has not said yet which it is.

        The lock says so, not a file that may be stale.
        """
        path = self.data / "cluster.db.lock"
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except PermissionError:
            raise self._closed() from None
        except OSError:
            return 0
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            text = os.pread(descriptor, 20, 0).decode(errors="replace").strip()
            # Who has just taken it may not have said so yet: then the last one's number is there still.
            return int(text) if text.isdecimal() and _lives(text) else -1
        finally:
            os.close(descriptor)
        return 0

    def made(self) -> bool:
        """Whether a cluster was ever started here."""
        try:
            return self.kubeconfig.exists()
        except PermissionError:
            raise self._closed() from None

    def _closed(self) -> errors.NotRunning:
        return errors.NotRunning(f"{self.data} belongs to another user and cannot be looked into: name yours with --data DIR")

    def announce(self, url: str, started: str, **more: object) -> None:
        """That it is ready, for whoever waits."""
        _written(self._note, {"pid": os.getpid(), "server": url, "started": started, **more})

    def ask_for_grace(self, seconds: float) -> None:
        """How long pods are to be given when the cluster is told to stop, which follows."""
        _written(self._grace, {"seconds": seconds})

    def asked_grace(self) -> float | None:
        """Taken once: the next stop has a grace of its own."""
        try:
            return float(json.loads(self._grace.read_text())["seconds"])
        except (OSError, ValueError, KeyError, TypeError):
            return None
        finally:
            self._grace.unlink(missing_ok=True)

    def withdraw(self) -> None:
        self._note.unlink(missing_ok=True)

    def running(self) -> dict[str, object] | None:
        """What the process that holds the data has announced; None while it starts, stops, or is not there."""
        pid = self.holder()
        try:
            note: dict[str, object] = json.loads(self._note.read_text())
        except (OSError, ValueError):
            return None
        return note if pid and note.get("pid") == pid else None

    def last_port(self) -> int:
        """The port of the last time, so that kubeconfigs in other hands stay good."""
        try:
            text = self.kubeconfig.read_text()
        except OSError:
            return 0
        found = [line.strip() for line in text.splitlines() if line.strip().startswith("server:")]
        port = found[0].rpartition(":")[2].strip('"') if found else ""
        return int(port) if port.isdecimal() else 0

    def required(self) -> dict[str, object]:
        found = self.running()
        if found is None:
            raise errors.NotRunning(f"no cluster runs on {self.data}: start one with `traincrew up --detach`")
        return found


def _lives(pid: str) -> bool:
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state not in ("Z", "X")


def _written(path: pathlib.Path, content: dict[str, object]) -> None:
    """Whole or not at all."""
    fresh = path.with_suffix(".new")
    with open(fresh, "w", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(json.dumps(content))
    fresh.replace(path)
