"""The limits of scaling: stabilization windows, scaling policies, minimum and maximum."""

from __future__ import annotations

import dataclasses
import datetime as dt
import math
from collections.abc import Sequence
from typing import NamedTuple

from traincrew.apimachinery.unstructured import Object

WINDOW = 300
"""The default stabilization window for scaling down, in seconds."""
_UP: Object = {
    "stabilizationWindowSeconds": 0, "selectPolicy": "Max",
    "policies": [{"type": "Pods", "value": 4, "periodSeconds": 15}, {"type": "Percent", "value": 100, "periodSeconds": 15}],
}  # fmt: skip
_DOWN: Object = {
    "stabilizationWindowSeconds": WINDOW, "selectPolicy": "Max",
    "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}],
}  # fmt: skip


class Recommendation(NamedTuple):
    time: dt.datetime
    replicas: int


@dataclasses.dataclass(frozen=True)
class ScalingHistory:
    """Recent recommendations and scale changes of one autoscaler."""

    recommendations: tuple[Recommendation, ...] = ()
    changes: tuple[Recommendation, ...] = ()
    """Replicas added, or removed (negative)."""

    def recommended(self, replicas: int, now: dt.datetime) -> ScalingHistory:
        return dataclasses.replace(self, recommendations=(*_recent(self.recommendations, now), Recommendation(now, replicas)))

    def changed(self, by: int, now: dt.datetime) -> ScalingHistory:
        return dataclasses.replace(self, changes=(*_recent(self.changes, now), Recommendation(now, by)))


def _recent(recommendations: Sequence[Recommendation], now: dt.datetime) -> list[Recommendation]:
    return [each for each in recommendations if each.time > now - dt.timedelta(hours=1)]


class LimitedScale(NamedTuple):
    replicas: int
    able: tuple[str, str]
    """Reason and message of AbleToScale."""
    limited: bool
    limit: tuple[str, str]
    """Reason and message of ScalingLimited."""


class ScaleRequest(NamedTuple):
    current: int
    wanted: int
    least: int
    most: int


def limit(request: ScaleRequest, behaviour: Object | None, history: ScalingHistory, now: dt.datetime) -> LimitedScale:
    """history: without the current recommendation."""
    if behaviour is None:
        desired = max([request.wanted, *(each.replicas for each in _within(history.recommendations, WINDOW, now))])
        reason = _STABLE_DOWN
        allowed = _plain(request._replace(wanted=desired))
    else:
        up, down = _UP | (behaviour.get("scaleUp") or {}), _DOWN | (behaviour.get("scaleDown") or {})
        desired = _stable(request, up, down, history, now)
        reason = _STABLE_UP if request.wanted >= request.current else _STABLE_DOWN
        allowed = _rated(request._replace(wanted=desired), up, down, history, now)
    able = reason if desired != request.wanted else ("ReadyForNewScale", "recommended size matches current size")
    replicas, why = allowed
    return LimitedScale(replicas, able, replicas != desired, why)


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


def _plain(request: ScaleRequest) -> Allowed:
    """The default limit: twice the current number of replicas, or four."""
    fastest = max(2 * request.current, 4)
    most, why = (fastest, _FAST_UP) if request.most > fastest else (request.most, _MANY)
    if request.wanted < request.least:
        return request.least, _FEW
    return (most, why) if request.wanted > most else (request.wanted, _RIGHT)


def _within(recommendations: Sequence[Recommendation], seconds: int, now: dt.datetime) -> list[Recommendation]:
    return [each for each in recommendations if each.time > now - dt.timedelta(seconds=seconds)]


def _stable(request: ScaleRequest, up: Object, down: Object, history: ScalingHistory, now: dt.datetime) -> int:
    """Scales up to the lowest and down to the highest recommendation within the windows."""
    recent = history.recommendations
    low = min([request.wanted, *(each.replicas for each in _within(recent, up["stabilizationWindowSeconds"], now))])
    high = max([request.wanted, *(each.replicas for each in _within(recent, down["stabilizationWindowSeconds"], now))])
    return min(max(request.current, low), high)


def _rated(request: ScaleRequest, up: Object, down: Object, history: ScalingHistory, now: dt.datetime) -> Allowed:
    if request.wanted > request.current:
        fastest = max(request.current, _fastest(request.current, up, history, now, 1))
        most, why = (fastest, _FAST_UP) if request.most > fastest else (request.most, _MANY)
        if request.wanted > most:
            return most, why
    elif request.wanted < request.current:
        fastest = min(request.current, _fastest(request.current, down, history, now, -1))
        least, why = (fastest, _FAST_DOWN) if request.least < fastest else (request.least, _FEW)
        if request.wanted < least:
            return least, why
    return request.wanted, _RIGHT


def _fastest(current: int, rules: Object, history: ScalingHistory, now: dt.datetime, sign: int) -> int:
    """The limit of the policies. sign: 1 up, -1 down."""
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
