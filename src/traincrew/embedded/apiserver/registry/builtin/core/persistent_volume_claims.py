"""Persistent volume claims and volume claim templates."""

from __future__ import annotations

from traincrew.apimachinery import (
    field_errors,
    label_selectors,
    name_validation,
    object_meta_validation,
    quantities,
    resource_lists,
)
from traincrew.apimachinery.field_errors import FieldError
from traincrew.apimachinery.object_meta_validation import IMMUTABLE
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.registry.builtin import go_diff
from traincrew.embedded.apiserver.registry.builtin.strategy import Errors, Strategy
from traincrew.embedded.apiserver.registry.builtin.write_context import WriteContext

ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES = ("Block", "Filesystem")
_CLASS = "volume.beta.kubernetes.io/storage-class"
_TEMPLATE_METADATA = ("labels", "annotations", "creationTimestamp")


def default(obj: Object) -> None:
    obj["spec"].setdefault("volumeMode", "Filesystem")
    obj["status"].setdefault("phase", "Pending")


def _prepare_create(obj: Object, _context: WriteContext) -> None:
    obj["status"] = {"phase": "Pending"}
    _drop_unknown_source(obj["spec"])
    _sources(obj["spec"])


def _drop_unknown_source(spec: Object) -> None:
    """Without a dataSourceRef, data sources other than claims and snapshots are dropped, as before the field existed."""
    source = spec.get("dataSource") or {}
    known = (source.get("kind"), source.get("apiGroup") or "") in _KNOWN_SOURCES
    if "dataSourceRef" not in spec and not known:
        spec.pop("dataSource", None)


_KNOWN_SOURCES = (("PersistentVolumeClaim", ""), ("VolumeSnapshot", "snapshot.storage.k8s.io"))


def _prepare_update(new: Object, old: Object) -> None:
    if "dataSource" not in old["spec"]:
        _drop_unknown_source(new["spec"])
    _sources(new["spec"])


def _sources(spec: Object) -> None:
    spec.pop("volumeAttributesClassName", None)
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None and reference is None:
        spec["dataSourceRef"] = dict(source)
    elif reference is not None and source is None and not reference.get("namespace"):
        spec["dataSource"] = {key: value for key, value in reference.items() if key != "namespace"}


def check_template(template: Object, path: str, errors: list[FieldError]) -> None:
    meta = template.get("metadata") or {}
    object_meta_validation.validate_annotations(meta.get("annotations") or {}, f"{path}.metadata.annotations", errors)
    object_meta_validation.validate_labels(meta.get("labels") or {}, f"{path}.metadata.labels", errors)
    for field, value in meta.items():
        if value and field not in _TEMPLATE_METADATA:
            errors.append(field_errors.forbidden(f"{path}.metadata.{field}", "cannot be set"))
    check_spec(template.get("spec") or {}, f"{path}.spec", errors)


def check_modes(modes: list[str], path: str, errors: list[FieldError]) -> None:
    for mode in modes:
        if mode not in ACCESS_MODES:
            errors.append(field_errors.not_supported(path, mode, ACCESS_MODES))
    if "ReadWriteOncePod" in modes and any(mode in ACCESS_MODES[:3] for mode in modes):
        errors.append(field_errors.forbidden(path, "may not use ReadWriteOncePod with other access modes"))


def check_spec(spec: Object, path: str, errors: list[FieldError]) -> None:
    modes = spec.get("accessModes") or []
    if not modes:
        errors.append(field_errors.required(f"{path}.accessModes", "at least 1 access mode is required"))
    label_selectors.validate(spec.get("selector"), f"{path}.selector", errors)
    check_modes(modes, f"{path}.accessModes", errors)
    storage, at = ((spec.get("resources") or {}).get("requests") or {}).get("storage"), f"{path}.resources[storage]"
    if storage is None:
        errors.append(field_errors.required(at))
    elif quantities.nanos(storage) <= 0:
        errors.append(field_errors.invalid(at, storage, "must be greater than zero"))
    if name := spec.get("storageClassName"):
        errors += [field_errors.invalid(f"{path}.storageClassName", name, error) for error in name_validation.dns_subdomain(name)]
    mode = spec.get("volumeMode")
    if mode not in (None, *VOLUME_MODES):
        errors.append(field_errors.not_supported(f"{path}.volumeMode", mode, VOLUME_MODES))
    for field in ("dataSource", "dataSourceRef"):
        if field in spec:
            _check_source(spec[field], f"{path}.{field}", errors)
    _check_sources_agree(spec, path, errors)


def _check_source(source: Object, path: str, errors: list[FieldError]) -> None:
    for field in ("name", "kind"):
        if not source.get(field):
            errors.append(field_errors.required(f"{path}.{field}"))
    group, kind, namespace = source.get("apiGroup") or "", source.get("kind") or "", source.get("namespace") or ""
    if not group and kind != "PersistentVolumeClaim":
        errors.append(field_errors.invalid(path, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup"))
    if group:
        errors += [field_errors.invalid(f"{path}.apiGroup", group, error) for error in name_validation.dns_subdomain(group)]
    if namespace:
        errors += [field_errors.invalid(f"{path}.namespace", namespace, error) for error in name_validation.dns_label(namespace)]


def _check_sources_agree(spec: Object, path: str, errors: list[FieldError]) -> None:
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is None or reference is None:
        return
    if reference.get("namespace"):
        message = "may not be specified when dataSourceRef.namespace is specified"
        errors.append(FieldError(field_errors.INVALID, path, f"Invalid value: {path}.dataSource: {message}"))
    elif any(source.get(field) != reference.get(field) for field in ("apiGroup", "kind", "name")):
        errors.append(FieldError(field_errors.INVALID, path, f"Invalid value: {path}.dataSource: must match dataSourceRef"))


def _validate(obj: Object, errors: Errors) -> None:
    check_spec(obj["spec"], "spec", errors)


def _validate_update(new: Object, old: Object, errors: Errors) -> None:
    spec, before = new["spec"], old["spec"]
    _compare_class(new, old, errors)
    munged = dict(spec)
    if not before.get("volumeName"):
        before = {**before, "volumeName": spec["volumeName"]} if spec.get("volumeName") else before
    if before.get("storageClassName") is None and spec.get("storageClassName") is not None:
        munged.pop("storageClassName")
    size, former = _size(spec), _size(before)
    if (new.get("status") or {}).get("phase") == "Bound" and (munged.get("resources") or {}).get("requests"):
        munged["resources"] = {**munged["resources"], "requests": {**munged["resources"]["requests"], "storage": former}}
    if munged != before:
        message = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
        errors.append(field_errors.forbidden("spec", f"{message}\n{go_diff.between(before, munged)}"))
    if quantities.nanos(size) < quantities.nanos(former):
        held = ((old.get("status") or {}).get("capacity") or {}).get("storage", "0")
        if quantities.nanos(size) <= quantities.nanos(held):
            errors.append(field_errors.forbidden("spec.resources.requests.storage", "field can not be less than status.capacity"))
    if spec.get("volumeMode") != old["spec"].get("volumeMode"):
        errors.append(field_errors.invalid("volumeMode", spec.get("volumeMode"), IMMUTABLE))


def _size(spec: Object) -> str:
    return str(((spec.get("resources") or {}).get("requests") or {}).get("storage", "0"))


def _compare_class(new: Object, old: Object, errors: Errors) -> None:
    after, before = new["metadata"].get("annotations") or {}, old["metadata"].get("annotations") or {}
    if after.get(_CLASS, "") != before.get(_CLASS, ""):
        errors.append(field_errors.invalid(f"metadata.annotations.{_CLASS}", after.get(_CLASS, ""), IMMUTABLE))


def _validate_status_update(new: Object, _old: Object, errors: Errors) -> None:
    if not new["spec"].get("accessModes"):
        errors.append(field_errors.required("Spec.accessModes"))
    for name, value in (new["status"].get("capacity") or {}).items():
        check_capacity(value, f"status.capacity[{name}]", errors)
    for name, value in (new["status"].get("allocatedResources") or {}).items():
        resource_lists.validate_value("storage", value, f"status.allocatedResources[{name}]", errors)


def check_capacity(value: str, path: str, errors: Errors) -> None:
    if quantities.value(value) < 0:
        errors.append(field_errors.invalid(path, quantities.value(value), "must be a valid resource quantity"))


CLAIM = Strategy(
    kind="PersistentVolumeClaim",
    has_status=True,
    defaults=default,
    create_preparation=_prepare_create,
    update_preparation=_prepare_update,
    validation=_validate,
    update_validation=_validate_update,
    status_validation=_validate_status_update,
    update_validation_steps=("whole", "meta", "whole", "compare"),
)
