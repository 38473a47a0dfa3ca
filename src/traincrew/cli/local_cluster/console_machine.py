"""What the console of this machine's cluster reads apart from its API server: image maps, and what may be overcommitted."""

from __future__ import annotations

import os
import pathlib

from traincrew.console.settings import LocalEnvironment, LocalMachine
from traincrew.embedded.data_directory import DataDirectory
from traincrew.embedded.kubelet.images import image_map_files


def of(data: pathlib.Path) -> LocalMachine:
    """data: the data directory of the cluster."""
    return LocalMachine(overcommitted=lambda: _overcommitted(data), environments=lambda: _environments(data))


def _overcommitted(data: pathlib.Path) -> list[str]:
    found = (DataDirectory(data).running() or {}).get("overcommit")
    return [str(each) for each in found] if isinstance(found, list) else ["cpu"]


def _environments(data: pathlib.Path) -> list[LocalEnvironment]:
    """Those that exist."""
    return [
        LocalEnvironment(entry.environment, entry.pattern)
        for path in (image_map_files.cluster_path(data), image_map_files.user_path())
        for entry in image_map_files.read(path)
        if os.path.isdir(os.path.join(entry.environment or "/nonexistent", "bin"))
    ]
