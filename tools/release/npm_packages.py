"""The packages of the console's page, from web/package-lock.json: those that the page contains, and those that build it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

LOCK = Path(__file__).resolve().parents[2] / "web" / "package-lock.json"
BUILD_TOOLS = ("@types/", "@vitejs/", "typescript", "vite")
"""Beginnings of the names of dependencies that build the page and are not part of it."""
_PLACE = "node_modules/"


class NpmPackage(NamedTuple):
    name: str
    version: str
    license: str
    integrity: str
    """As the lock file has it: `sha512-` and the digest in base64."""
    contained: bool
    """Whether the page contains it; otherwise it is needed to build the page."""


def pinned(lock: Path = LOCK) -> list[NpmPackage]:
    """Without the packages of checks and without those for one platform only."""
    packages: dict[str, dict[str, Any]] = json.loads(lock.read_text())["packages"]
    direct = [name for name in packages[""]["dependencies"] if not name.startswith(BUILD_TOOLS)]
    contained = _closure(packages, direct)
    found = {place: each for place, each in packages.items() if place and not each.get("dev") and not each.get("optional")}
    return [
        NpmPackage(
            place.rpartition(_PLACE)[2], each["version"], each.get("license", ""), each.get("integrity", ""), place in contained
        )
        for place, each in sorted(found.items())
    ]


def _closure(packages: dict[str, dict[str, Any]], names: Iterable[str]) -> set[str]:
    """Where these packages and all that they depend on are installed."""
    reached: set[str] = set()
    waiting = [("", name) for name in names]
    while waiting:
        inside, name = waiting.pop()
        place = _resolved(packages, inside, name)
        if place and place not in reached:
            reached.add(place)
            waiting += [(place, each) for each in packages[place].get("dependencies", ())]
    return reached


def _resolved(packages: dict[str, dict[str, Any]], inside: str, name: str) -> str:
    """As Node.js resolves it: the nearest node_modules, from the inside out. Empty: it is not installed."""
    while True:
        place = f"{inside}/{_PLACE}{name}" if inside else f"{_PLACE}{name}"
        if place in packages or not inside:
            return place if place in packages else ""
        inside = inside.rpartition(_PLACE)[0].rstrip("/")
