"""The settings of a console."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import NamedTuple

from traincrew.history.store import StoreAccess


class LocalEnvironment(NamedTuple):
    """A directory of this machine that runs in place of an image."""

    directory: str
    image: str
    """The pattern of the image map."""


@dataclasses.dataclass(frozen=True)
class LocalMachine:
    """What the API server of one machine does not know, read when it is needed."""

    overcommitted: Callable[[], Sequence[str]]
    """Resources of which pods may request more than the machine has."""
    environments: Callable[[], Sequence[LocalEnvironment]]
    """Raise SettingsError if an image map cannot be read."""


@dataclasses.dataclass
class RecordingSpace:
    """What the recording files that are open may use, for all users of a console."""

    limit: int = 2 * 1024 * 1024 * 1024
    """Bytes of these files."""
    used: int = 0
    importing: int = 0
    """Files that are being read."""


@dataclasses.dataclass(frozen=True)
class ConsoleTarget:
    """The cluster, as the page shows it."""

    server: str
    namespace: str
    context: str = ""
    embedded: bool = False
    """The cluster of this machine that `traincrew up` runs."""
    log_root: str = ""
    """The logs of its pods, if it runs on this machine. Empty: it runs elsewhere."""
    machine: LocalMachine | None = None
    """If it is the cluster of this machine. None: its scheduler is not ours."""
    history: StoreAccess | None = None
    """Reads what the recorder writes, for all users. None: nothing is recorded."""
    prometheus: str = ""
    """The address of a Prometheus that knows the pods of the cluster. Empty: none."""
    has_cluster: bool = True
    """False: the console shows recording files, and nothing else."""
    space: RecordingSpace = dataclasses.field(default_factory=RecordingSpace)
    """For recording files that users open."""


@dataclasses.dataclass(frozen=True)
class ServerSettings:
    public_url: str = ""
    """The origin at which users open the console, such as `https://console.example.com`. Empty: an address of their machine."""
    where_to_open: str = "Open the link that `traincrew console` prints."
    """The next step of a request whose origin is refused."""
