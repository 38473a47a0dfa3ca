"""A job out of one command: which replicas run what. `traincrew run --kind K -- COMMAND` fills in the rest."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple

Command = tuple[str, ...]


class Wish(NamedTuple):
    """What somebody asks for."""

    command: Command
    workers: int = 1
    """Replicas that train, the leading one included where there is one."""
    elastic: tuple[int, int] | None = None
    """The fewest and the most of them."""
    gpus: int = 0
    """For each of them."""


class Part(NamedTuple):
    role: str
    replicas: int
    command: Command = ()
    """Empty: what the kind gives to a replica that has none."""
    trains: bool = True
    """False: it needs no devices, and little of anything."""


@dataclasses.dataclass(frozen=True)
class Sketch:
    parts: tuple[Part, ...]
    spec: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """Fields of the kind's own."""
    env: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Variables of every replica that a job of this make needs."""


class NotElastic(ValueError):
    """A kind whose replicas cannot come and go."""


def workers_only(wish: Wish) -> Sketch:
    if wish.elastic is not None:
        raise NotElastic
    return Sketch((Part("Worker", wish.workers, wish.command),))


def led_by(role: str, wish: Wish) -> Sketch:
    """The first of those that train is the one that the others look for."""
    if wish.elastic is not None:
        raise NotElastic
    rest = (Part("Worker", wish.workers - 1, wish.command),) if wish.workers > 1 else ()
    return Sketch((Part(role, 1, wish.command), *rest))


def is_python(command: Command) -> bool:
    return command[0].rpartition("/")[2].startswith("python")
