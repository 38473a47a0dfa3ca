"""How fast a target may be scaled: recommendations of the near past, policies, least and most."""

from __future__ import annotations

import dataclasses
import datetime as dt
import math
from collections.abc import Sequence
from typing import NamedTuple

from traincrew.apimachinery.resource_info import Object

WINDOW = 300
"""Seconds for which the highest recommendation holds, where nothing else is said."""
_UP: Object = {
    "stabilizationWindowSeconds": 0, "selectPolicy": "Max",
    "policies": [{"type": "Pods", "value": 4, "periodSeconds": 15}, {"type": "Percent", "value": 100, "periodSeconds": 15}],
}  # fmt: skip
_DOWN: Object = {
    "stabilizationWindowSeconds": WINDOW, "selectPolicy": "Max",
    "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}],
}  # fmt: skip


class At(NamedTuple):
    time: dt.datetime
    replicas: int


@dataclasses.dataclass(frozen=True)
class History:
    """What is remembered of one autoscaler."""

    recommendations: tuple[At, ...] = ()
    changes: tuple[At, ...] = ()
    """Replicas added, or taken away (negative)."""

    def recommended(self, replicas: int, now: dt.datetime) -> History:
        return dataclasses.replace(self, recommendations=(*_recent(self.recommendations, now), At(now, replicas)))

    def changed(self, by: int, now: dt.datetime) -> History:
        return dataclasses.replace(self, changes=(*_recent(self.changes, now), At(now, by)))


def _recent(held: Sequence[At], now: dt.datetime) -> list[At]:
    return [each for each in held if each.time > now - dt.timedelta(hours=1)]


class Limited(NamedTuple):
    replicas: int
    able: tuple[str, str]
    """Reason and message of AbleToScale."""
    limited: bool
    limit: tuple[str, str]
    """Reason and message of ScalingLimited."""


class Ask(NamedTuple):
    current: int
    wanted: int
    least: int
    most: int


def limit(ask: Ask, behaviour: Object | None, history: History, now: dt.datetime) -> Limited:
    """history: without what is wanted now."""
    if behaviour is None:
        wanted = max([ask.wanted, *(each.replicas for each in _within(history.recommendations, WINDOW, now))])
        reason = _STABLE_DOWN
        allowed = _plain(ask._replace(wanted=wanted))
    else:
        up, down = _UP | (behaviour.get("scaleUp") or {}), _DOWN | (behaviour.get("scaleDown") or {})
        wanted = _stable(ask, up, down, history, now)
        reason = _STABLE_UP if ask.wanted >= ask.current else _STABLE_DOWN
        allowed = _rated(ask._replace(wanted=wanted), up, down, history, now)
    able = reason if wanted != ask.wanted else ("ReadyForNewScale", "recommended size matches current size")
    replicas, why = allowed
    return Limited(replicas, able, replicas != wanted, why)


_STABLE_DOWN = (
    "ScaleDownStabilized",
    "recent recommendations were higher than current one, applying the highest recent recommendation",
)
_STABLE_UP = (
    "ScaleUpStabilized",
    "recent recommendations were lower than current one, applying the lowest recent recommendation",
)
_RIGHT = ("DesiredWithinRange", "the desired count is within the acceptable range")
_FEW = ("TooFewReplicas", "the desired replica count is less than the minimum replica count")
_MANY = ("TooManyReplicas", "the desired replica count is more than the maximum replica count")
_FAST_UP = ("ScaleUpLimit", "the desired replica count is increasing faster than the maximum scale rate")
_FAST_DOWN = ("ScaleDownLimit", "the desired replica count is decreasing faster than the maximum scale rate")

Allowed = tuple[int, tuple[str, str]]


def _plain(ask: Ask) -> Allowed:
    """At most twice as many as there are, or four."""
    fastest = max(2 * ask.current, 4)
    most, why = (fastest, _FAST_UP) if ask.most > fastest else (ask.most, _MANY)
    if ask.wanted < ask.least:
        return ask.least, _FEW
    return (most, why) if ask.wanted > most else (ask.wanted, _RIGHT)


def _within(held: Sequence[At], seconds: int, now: dt.datetime) -> list[At]:
    return [each for each in held if each.time > now - dt.timedelta(seconds=seconds)]


def _stable(ask: Ask, up: Object, down: Object, history: History, now: dt.datetime) -> int:
    """Up to the lowest, down to the highest of what was recommended within the windows."""
    recent = history.recommendations
    low = min([ask.wanted, *(each.replicas for each in _within(recent, up["stabilizationWindowSeconds"], now))])
    high = max([ask.wanted, *(each.replicas for each in _within(recent, down["stabilizationWindowSeconds"], now))])
    return min(max(ask.current, low), high)


def _rated(ask: Ask, up: Object, down: Object, history: History, now: dt.datetime) -> Allowed:
    if ask.wanted > ask.current:
        fastest = max(ask.current, _fastest(ask.current, up, history, now, 1))
        most, why = (fastest, _FAST_UP) if ask.most > fastest else (ask.most, _MANY)
        if ask.wanted > most:
            return most, why
    elif ask.wanted < ask.current:
        fastest = min(ask.current, _fastest(ask.current, down, history, now, -1))
        least, why = (fastest, _FAST_DOWN) if ask.least < fastest else (ask.least, _FEW)
        if ask.wanted < least:
            return least, why
    return ask.wanted, _RIGHT


def _fastest(current: int, rules: Object, history: History, now: dt.datetime, sign: int) -> int:
    """How far the policies let it go now; sign: 1 up, -1 down."""
    choice = rules.get("selectPolicy", "Max")
    if choice == "Disabled":
        return current
    proposals = []
    for policy in rules.get("policies") or ():
        start = current - sum(each.replicas for each in _within(history.changes, policy["periodSeconds"], now))
        if policy["type"] == "Pods":
            proposals.append(start + sign * policy["value"])
        else:
            part = start * (1 + sign * policy["value"] / 100)
            proposals.append(math.ceil(part) if sign > 0 else int(part))
    farthest = (choice == "Max") == (sign > 0)
    return (max if farthest else min)(proposals, default=current)
