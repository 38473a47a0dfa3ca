"""A pod's volumes, made real below its directory, and what else a container is told of the cluster: its environment variables."""

from __future__ import annotations

from traincrew.embedded.node.volumes.environment import environment
from traincrew.embedded.node.volumes.faults import Broken, ConfigError, NotYet, Unmade
from traincrew.embedded.node.volumes.mounting import clear, mount, refresh, release, unmount
from traincrew.embedded.node.volumes.mounts import mounts_of
from traincrew.embedded.node.volumes.place import Mounted, Place, Volume

__all__ = [
    "Broken",
    "ConfigError",
    "Mounted",
    "NotYet",
    "Place",
    "Unmade",
    "Volume",
    "clear",
    "environment",
    "mount",
    "mounts_of",
    "refresh",
    "release",
    "unmount",
]
