"""Paths of environments: <cache>/frameworks/<name>-<digest of its inputs>, so that no environment is ever stale."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import platform
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.frameworks.recipes import Recipe
from tools.kube.build import cache

LOCKS = Path(__file__).resolve().parents[2] / "requirements" / "frameworks"


@dataclass(frozen=True)
class Built:
    """The metadata of an environment, in environment.json."""

    name: str
    python: str
    seconds: float
    megabytes: int


def root() -> Path:
    return cache() / "frameworks"


def locks(recipe: Recipe) -> tuple[Path, ...]:
    names = (recipe.name, *recipe.alone, *(("horovod",) if recipe.horovod else ()))
    return tuple(LOCKS / f"{name}.txt" for name in names)


def environment(recipe: Recipe, python: str) -> Path:
    """The folder of the recipe's environment for one Python, such as 3.11."""
    digest = hashlib.sha256(json.dumps([recipe.trimmed, recipe.horovod, python, platform.machine()]).encode())
    for lock in locks(recipe):
        digest.update(lock.read_bytes())
    return root() / f"{recipe.name}-{digest.hexdigest()[:8]}"


def unfinished(finished: Path) -> Path:
    return finished.with_name(f".{finished.name}.unfinished")


def built(folder: Path) -> Built | None:
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        return Built(**json.loads((folder / "environment.json").read_text()))
    return None


def size(folder: Path) -> int:
    """In MB, as `du` counts: files with several names once."""
    seen: dict[tuple[int, int], int] = {}
    for where, _, names in os.walk(folder):
        for name in names:
            found = os.lstat(os.path.join(where, name))
            seen[found.st_dev, found.st_ino] = found.st_blocks * 512
    return sum(seen.values()) >> 20


@contextlib.contextmanager
def only_one_at_a_time(name: str, say: Callable[[str], None]) -> Iterator[None]:
    root().mkdir(parents=True, exist_ok=True)
    with (root() / f".{name}.lock").open("w") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"{name}: another process builds it, waiting for that")
            fcntl.flock(held, fcntl.LOCK_EX)
        yield
