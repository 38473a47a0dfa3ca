"""Events, in the core group and in events.k8s.io."""

from __future__ import annotations

from collections.abc import Callable

from traincrew.apimachinery import field_errors, name_validation
from traincrew.apimachinery.object_metadata import IMMUTABLE
from traincrew.apimachinery.resource_info import Object
from traincrew.embedded.apiserver.registry.builtin.strategy import Errors, Strategy

_UNSET = "needs to be unset"


def _checked(reporter: str, regarding: str, note: str) -> Callable[[Object, Errors], None]:
    def check(obj: Object, errors: Errors) -> None:
        namespace = obj["metadata"].get("namespace") or ""
        about = (obj.get(regarding) or {}).get("namespace") or ""
        if not obj.get("eventTime"):
            if namespace != about and (about or namespace not in ("", "default")):
                errors.append(field_errors.invalid("involvedObject.namespace", about, "does not match event.namespace"))
        else:
            if not about and namespace not in ("default", "kube-system"):
                errors.append(field_errors.invalid("involvedObject.namespace", about, "does not match event.namespace"))
            _check_new_style(obj, reporter, note, errors)
        errors += [field_errors.invalid("namespace", namespace, fault) for fault in name_validation.dns_subdomain(namespace)]

    return check


def _check_new_style(obj: Object, reporter: str, note: str, errors: Errors) -> None:
    controller = obj.get(reporter) or ""
    if not controller:
        errors.append(field_errors.required(reporter))
    errors += [field_errors.invalid(reporter, controller, fault) for fault in name_validation.qualified_name(controller)]
    for field in ("reportingInstance", "action", "reason"):
        value = obj.get(field) or ""
        if not value:
            errors.append(field_errors.required(field))
        if len(value.encode()) > 128:
            errors.append(field_errors.invalid(field, "", "can have at most 128 characters"))
    if len((obj.get(note) or "").encode()) > 1024:
        errors.append(field_errors.invalid("message", "", "can have at most 1024 characters"))


def _checked_newer(obj: Object, errors: Errors) -> None:
    if not obj.get("eventTime"):
        errors.append(field_errors.required("eventTime"))
    if obj.get("type") not in ("Normal", "Warning"):
        errors.append(field_errors.invalid("type", "", f"has invalid value: {obj.get('type') or ''}"))
    for field, told in (("deprecatedFirstTimestamp", "firstTimestamp"), ("deprecatedLastTimestamp", "lastTimestamp")):
        if obj.get(field):
            errors.append(field_errors.invalid(told, "", _UNSET))
    if obj.get("deprecatedCount"):
        errors.append(field_errors.invalid("count", "", _UNSET))
    if any((obj.get("deprecatedSource") or {}).values()):
        errors.append(field_errors.invalid("source", "", _UNSET))


_KEPT = {
    "regarding": "involvedObject", "reason": "reason", "note": "message", "type": "type", "eventTime": "eventTime",
    "action": "action", "related": "related", "reportingController": "reportingController",
    "reportingInstance": "reportingInstance",
}  # fmt: skip


def _compared_newer(new: Object, old: Object, errors: Errors) -> None:
    for field, told in _KEPT.items():
        if (new.get(field) or None) != (old.get(field) or None):
            errors.append(field_errors.invalid(told, new.get(field) or "", IMMUTABLE))


_check_core = _checked("reportingComponent", "involvedObject", "message")
_check_legacy = _checked("reportingController", "regarding", "note")


def _check_events(obj: Object, errors: Errors) -> None:
    _check_legacy(obj, errors)
    _checked_newer(obj, errors)


EVENT = Strategy(
    kind="Event",
    created_by_update=True,
    naming=name_validation.path_segment,
    checked=_check_core,
    create_metadata=False,
    standard_finalizers=False,
    on_update=("spec",),
)
NEWER_EVENT = Strategy(
    kind="Event",
    created_by_update=True,
    checked=_check_events,
    compared=_compared_newer,
    create_metadata=False,
    on_update=("meta", "compare"),
)
