"""Kinds that are served in two versions of different shapes, and kept in one of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from traincrew.apimachinery.resource_info import Object
from traincrew.embedded.apiserver.registry.builtin import autoscaler_conversion


class VersionConversion(NamedTuple):
    shown: Callable[[Object], Object]
    """From the version that objects are kept in."""
    kept: Callable[[Object], Object]
    """To it."""


_EVENT = {
    "regarding": "involvedObject", "note": "message", "reportingController": "reportingComponent", "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp", "deprecatedLastTimestamp": "lastTimestamp", "deprecatedCount": "count",
}  # fmt: skip
"""How events.k8s.io/v1 calls what the core group calls otherwise."""
_EVENT_BACK = {core: newer for newer, core in _EVENT.items()}
_ALWAYS: Object = {
    "involvedObject": {}, "source": {}, "firstTimestamp": None, "lastTimestamp": None, "eventTime": None,
    "reportingComponent": "", "reportingInstance": "",
}  # fmt: skip
"""What an event of the core group has, even if it is empty."""
_OMITTED = ("reportingController", "reportingInstance")
"""What an event of events.k8s.io has only if it is not."""


def _core_event(obj: Object) -> Object:
    return _ALWAYS | {_EVENT.get(key, key): value for key, value in obj.items()}


def _newer_event(obj: Object) -> Object:
    found = {_EVENT_BACK.get(key, key): value for key, value in (_ALWAYS | obj).items()}
    return {key: value for key, value in found.items() if value or key not in _OMITTED}


CONVERSIONS = {
    ("events.k8s.io/v1", "Event"): VersionConversion(_newer_event, _core_event),
    ("autoscaling/v1", "HorizontalPodAutoscaler"): VersionConversion(autoscaler_conversion.older, autoscaler_conversion.newer),
}
"""By what is not kept. Both directions leave kind and apiVersion alone."""
