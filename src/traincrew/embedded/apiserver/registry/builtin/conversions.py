"""Conversion of kinds that are served in two versions of different shapes and stored in one of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.registry.builtin.autoscaling import autoscaler_conversion


class VersionConversion(NamedTuple):
    shown: Callable[[Object], Object]
    """From the storage version."""
    kept: Callable[[Object], Object]
    """To the storage version."""


_EVENT = {
    "regarding": "involvedObject", "note": "message", "reportingController": "reportingComponent", "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp", "deprecatedLastTimestamp": "lastTimestamp", "deprecatedCount": "count",
}  # fmt: skip
"""Fields of events.k8s.io/v1 and their names in the core group."""
_EVENT_BACK = {core: newer for newer, core in _EVENT.items()}
_ALWAYS: Object = {
    "involvedObject": {}, "source": {}, "firstTimestamp": None, "lastTimestamp": None, "eventTime": None,
    "reportingComponent": "", "reportingInstance": "",
}  # fmt: skip
"""Fields that an event of the core group has even if they are empty."""
_OMITTED = ("reportingController", "reportingInstance")
"""Fields that an event of events.k8s.io has only if they are not empty."""


def _core_event(obj: Object) -> Object:
    return _ALWAYS | {_EVENT.get(key, key): value for key, value in obj.items()}


def _newer_event(obj: Object) -> Object:
    event = {_EVENT_BACK.get(key, key): value for key, value in (_ALWAYS | obj).items()}
    return {key: value for key, value in event.items() if value or key not in _OMITTED}


CONVERSIONS = {
    ("events.k8s.io/v1", "Event"): VersionConversion(_newer_event, _core_event),
    ("autoscaling/v1", "HorizontalPodAutoscaler"): VersionConversion(autoscaler_conversion.older, autoscaler_conversion.newer),
}
"""By the version that is not the storage version. Conversions leave kind and apiVersion alone."""
