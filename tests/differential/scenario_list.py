"""The scenarios: functions that send requests, by area. Each runs on both servers with unique names."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from collections.abc import Callable
from typing import Any

from tests.differential import scenarios
from tests.differential.scenario_client import ScenarioClient

Act = Callable[[ScenarioClient], Any]


@dataclasses.dataclass(frozen=True)
class Scenario:
    area: str
    name: str
    act: Act
    namespaced: bool
    """The scenario needs its own namespace."""


_SCENARIOS: dict[str, Scenario] = {}


def scenario(area: str, namespaced: bool = True) -> Callable[[Act], Act]:
    def register(act: Act) -> Act:
        name = act.__name__
        assert name not in _SCENARIOS, f"two scenarios are called {name}"
        _SCENARIOS[name] = Scenario(area, name, act, namespaced)
        return act

    return register


def all_scenarios() -> list[Scenario]:
    for module in pkgutil.iter_modules(scenarios.__path__):
        importlib.import_module(f"{scenarios.__name__}.{module.name}")
    return list(_SCENARIOS.values())
