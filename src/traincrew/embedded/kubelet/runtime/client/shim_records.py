"""What a shim reports about its containers: status, usage and exit records."""

from __future__ import annotations

import dataclasses
import datetime
import json
import pathlib
from collections.abc import Mapping
from typing import Any

from traincrew.apimachinery import times
from traincrew.client import clock
from traincrew.embedded.kubelet.runtime import spec

KILLED = 137


@dataclasses.dataclass(frozen=True)
class ShimContainerStatus:
    attempt: int
    running: bool
    pid: int
    started: datetime.datetime


@dataclasses.dataclass(frozen=True)
class ContainerUsage:
    cpu_seconds: float
    memory_bytes: int
    pids: int


def read_exit(directory: pathlib.Path, name: str, attempt: int) -> spec.Exit | None:
    """The exit record in the pod's directory; None: the container has not ended, or never ran."""
    try:
        text = (directory / "containers" / name / str(attempt) / "exit.json").read_bytes()
    except FileNotFoundError:
        return None
    return spec.exit_from_json(json.loads(text))


def container_status(values: Mapping[str, Any]) -> ShimContainerStatus:
    started = times.parse_optional(values["started"]) or clock.now()
    return ShimContainerStatus(values["attempt"], values["running"], values["pid"], started)
