"""Events, in the core group and in events.k8s.io."""

from __future__ import annotations

from collections.abc import Callable

from traincrew.apimachinery import field_errors, name_validation
from traincrew.apimachinery.object_meta_validation import IMMUTABLE
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.registry.builtin.strategy import Errors, Strategy

_UNSET = "needs to be unset"


def _validate(reporter: str, regarding: str, note: str) -> Callable[[Object, Errors], None]:
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
        errors += [field_errors.invalid("namespace", namespace, error) for error in name_validation.dns_subdomain(namespace)]

    return check


def _check_new_style(obj: Object, reporter: str, note: str, errors: Errors) -> None:
    controller = obj.get(reporter) or ""
    if not controller:
        errors.append(field_errors.required(reporter))
    errors += [field_errors.invalid(reporter, controller, error) for error in name_validation.qualified_name(controller)]
    for field in ("reportingInstance", "action", "reason"):
        value = obj.get(field) or ""
        if not value:
            errors.append(field_errors.required(field))
        if len(value.encode()) > 128:
            errors.append(field_errors.invalid(field, "", "can have at most 128 characters"))
    if len((obj.get(note) or "").encode()) > 1024:
        errors.append(field_errors.invalid("message", "", "can have at most 1024 characters"))


def _validate_newer(obj: Object, errors: Errors) -> None:
    if not obj.get("eventTime"):
        errors.append(field_errors.required("eventTime"))
    if obj.get("type") not in ("Normal", "Warning"):
        errors.append(field_errors.invalid("type", "", f"has invalid value: {obj.get('type') or ''}"))
    for field, old_name in (("deprecatedFirstTimestamp", "firstTimestamp"), ("deprecatedLastTimestamp", "lastTimestamp")):
        if obj.get(field):
            errors.append(field_errors.invalid(old_name, "", _UNSET))
    if obj.get("deprecatedCount"):
        errors.append(field_errors.invalid("count", "", _UNSET))
    if any((obj.get("deprecatedSource") or {}).values()):
        errors.append(field_errors.invalid("source", "", _UNSET))


_KEPT = {
    "regarding": "involvedObject", "reason": "reason", "note": "message", "type": "type", "eventTime": "eventTime",
    "action": "action", "related": "related", "reportingController": "reportingController",
    "reportingInstance": "reportingInstance",
}  # fmt: skip


def _validate_update_newer(new: Object, old: Object, errors: Errors) -> None:
    for field, old_name in _KEPT.items():
        if (new.get(field) or None) != (old.get(field) or None):
            errors.append(field_errors.invalid(old_name, new.get(field) or "", IMMUTABLE))


_check_core = _validate("reportingComponent", "involvedObject", "message")
_check_legacy = _validate("reportingController", "regarding", "note")


def _check_events(obj: Object, errors: Errors) -> None:
    _check_legacy(obj, errors)
    _validate_newer(obj, errors)


EVENT = Strategy(
    kind="Event",
    allow_create_on_update=True,
    naming=name_validation.path_segment,
    validation=_check_core,
    metadata_first=False,
    standard_finalizers=False,
    update_validation_steps=("spec",),
)
NEWER_EVENT = Strategy(
    kind="Event",
    allow_create_on_update=True,
    validation=_check_events,
    update_validation=_validate_update_newer,
    metadata_first=False,
    update_validation_steps=("meta", "compare"),
)
