"""The scenarios: functions that send requests, by area. Each is played on both servers with names of its own."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from collections.abc import Callable
from typing import Any

from tests.differential import scenarios
from tests.differential.play import Play

Act = Callable[[Play], Any]


@dataclasses.dataclass(frozen=True)
class Scenario:
    area: str
    name: str
    act: Act
    namespaced: bool
    """Whether it wants a fresh namespace."""


_FOUND: dict[str, Scenario] = {}


def scenario(area: str, namespaced: bool = True) -> Callable[[Act], Act]:
    def enter(act: Act) -> Act:
        name = act.__name__
        assert name not in _FOUND, f"two scenarios are called {name}"
        _FOUND[name] = Scenario(area, name, act, namespaced)
        return act

    return enter


def everything() -> list[Scenario]:
    for module in pkgutil.iter_modules(scenarios.__path__):
        importlib.import_module(f"{scenarios.__name__}.{module.name}")
    return list(_FOUND.values())
