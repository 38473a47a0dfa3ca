"""ValidateObjectMeta and ValidateObjectMetaUpdate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from traincrew.apimachinery import field_errors, go_format, name_validation
from traincrew.apimachinery.field_errors import FieldError, FieldErrors
from traincrew.apimachinery.unstructured import Object

NameValidator = Callable[[str], name_validation.Messages]

IMMUTABLE = "field is immutable"
MUST_NOT_BE_NEGATIVE = "must be greater than or equal to 0"

_ANNOTATION_BYTES = 256 * 1024
_STANDARD_FINALIZERS = frozenset(("kubernetes", "orphan", "foregroundDeletion"))
_IMMUTABLE_FIELDS = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")


def validate(meta: Object, namespaced: bool, validate_name: NameValidator, standard_finalizers: bool = True) -> list[FieldError]:
    errors = FieldErrors()
    _check_name(meta, validate_name, errors)
    _check_namespace(meta.get("namespace") or "", namespaced, errors)
    if (generation := meta.get("generation") or 0) < 0:
        errors.append(field_errors.invalid("metadata.generation", generation, MUST_NOT_BE_NEGATIVE))
    _check_maps(meta, errors)
    if finalizers := meta.get("finalizers"):
        _check_finalizers(finalizers, errors)
    _check_managers(meta.get("managedFields") or (), errors)
    if finalizers and standard_finalizers:
        validate_standard_finalizers(finalizers, errors)
    return errors


def validate_update(new: Object, old: Object) -> list[FieldError]:
    """The rules for updates of all kinds."""
    errors = FieldErrors()
    if old.get("deletionTimestamp"):
        _check_no_new_finalizers(new, old, errors)
    if not new.get("resourceVersion"):
        errors.append(field_errors.invalid("metadata.resourceVersion", "", "must be specified for an update"))
    if (new.get("generation") or 0) < (old.get("generation") or 0):
        errors.append(field_errors.invalid("metadata.generation", new.get("generation") or 0, "must not be decremented"))
    for field in _IMMUTABLE_FIELDS:
        if (new.get(field) or None) != (old.get(field) or None):
            errors.append(_changed(field, new.get(field)))
    _check_maps(new, errors)
    _check_managers(new.get("managedFields") or (), errors)
    return errors


def validate_kind_update(new: Object, old: Object) -> list[FieldError]:
    """validate_update with the finalizer rule of built-in kinds."""
    errors = validate_update(new, old)
    if finalizers := new.get("finalizers"):
        validate_standard_finalizers(finalizers, errors)
    return errors


def _changed(field: str, value: Any) -> FieldError:
    path = f"metadata.{field}"
    if field.endswith("Timestamp"):
        shown = f"{value[:10]} {value[11:19]} +0000 UTC" if value else "null"
        return field_errors.invalid_formatted(path, shown, IMMUTABLE)
    if field == "deletionGracePeriodSeconds":
        return field_errors.invalid(path, value, IMMUTABLE)
    return field_errors.invalid(path, value or "", IMMUTABLE)


def _check_name(meta: Object, validate_name: NameValidator, errors: list[FieldError]) -> None:
    if prefix := meta.get("generateName"):
        errors += [
            field_errors.invalid("metadata.generateName", prefix, error)
            for error in validate_name(name_validation.mask_trailing_dash(prefix))
        ]
    if name := meta.get("name"):
        errors += [field_errors.invalid("metadata.name", name, error) for error in validate_name(name)]
    else:
        errors.append(field_errors.required("metadata.name", "name or generateName is required"))


def _check_namespace(namespace: str, namespaced: bool, errors: list[FieldError]) -> None:
    if not namespaced:
        if namespace:
            errors.append(field_errors.forbidden("metadata.namespace", "not allowed on this type"))
    elif not namespace:
        errors.append(field_errors.required("metadata.namespace"))
    else:
        errors += [field_errors.invalid("metadata.namespace", namespace, error) for error in name_validation.dns_label(namespace)]


def _check_maps(meta: Object, errors: list[FieldError]) -> None:
    if labels := meta.get("labels"):
        validate_labels(labels, "metadata.labels", errors)
    if annotations := meta.get("annotations"):
        validate_annotations(annotations, "metadata.annotations", errors)
    if owners := meta.get("ownerReferences"):
        _check_owners(owners, errors)


def validate_labels(labels: Mapping[str, str], path: str, errors: list[FieldError]) -> None:
    for key, value in labels.items():
        if messages := name_validation.qualified_name(key):
            errors += [field_errors.invalid(path, key, error) for error in messages]
        if messages := name_validation.label_value(value):
            errors += [field_errors.invalid(path, value, error) for error in messages]


def validate_annotations(annotations: Mapping[str, str], path: str, errors: list[FieldError]) -> None:
    size = 0
    for key, value in annotations.items():
        if messages := name_validation.qualified_name(key.lower()):
            errors += [field_errors.invalid(path, key, error) for error in messages]
        size += len(key.encode()) + len(value.encode())
    if size > _ANNOTATION_BYTES:
        errors.append(field_errors.too_long(path, _ANNOTATION_BYTES))


def _check_owners(owners: Sequence[Object], errors: list[FieldError]) -> None:
    path, first = "metadata.ownerReferences", ""
    for owner in owners:
        _check_owner(owner, path, errors)
        if owner.get("controller"):
            named = f"{owner.get('kind')}/{owner.get('name')}"
            if first:
                words = f'Only one reference can have Controller set to true. Found "true" in references for {first} and {named}'
                errors.append(field_errors.invalid(path, owners, words))
            first = first or named


def _check_owner(owner: Object, path: str, errors: list[FieldError]) -> None:
    version = owner.get("apiVersion") or ""
    if version.count("/") > 1 or not version.rpartition("/")[2]:
        errors.append(field_errors.invalid(f"{path}.apiVersion", version, "version must not be empty"))
    for field in ("kind", "name", "uid"):
        if not owner.get(field):
            errors.append(field_errors.invalid(f"{path}.{field}", "", f"{field} must not be empty"))
    if version == "v1" and owner.get("kind") == "Event":
        errors.append(field_errors.invalid(path, owner, "/v1, Kind=Event is disallowed from being an owner"))


def _check_finalizers(finalizers: Sequence[str], errors: list[FieldError]) -> None:
    path = "metadata.finalizers"
    for finalizer in finalizers:
        errors += [field_errors.invalid(path, finalizer, error) for error in name_validation.qualified_name(finalizer)]
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        words = "finalizer orphan and foregroundDeletion cannot be both set"
        errors.append(field_errors.invalid_formatted(path, go_format.string_slice(finalizers), words))


def validate_standard_finalizers(finalizers: Sequence[str], errors: list[FieldError], path: str = "metadata.finalizers") -> None:
    """A finalizer without a domain must be one of Kubernetes' own."""
    for index, finalizer in enumerate(finalizers):
        if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS:
            words = "name is neither a standard finalizer name nor is it fully qualified"
            errors.append(field_errors.invalid(f"{path}[{index}]", finalizer, words))


def _check_no_new_finalizers(new: Object, old: Object, errors: list[FieldError]) -> None:
    extra = sorted({*(new.get("finalizers") or ())} - {*(old.get("finalizers") or ())})
    if extra:
        words = "no new finalizers can be added if the object is being deleted, found new finalizers"
        errors.append(field_errors.forbidden("metadata.finalizers", f"{words} {go_format.string_slice(extra)}"))


def _check_managers(managers: Sequence[Object], errors: list[FieldError]) -> None:
    for index, entry in enumerate(managers):
        path = f"metadata.managedFields[{index}]"
        if entry.get("operation") not in ("Apply", "Update"):
            errors.append(field_errors.invalid(f"{path}.operation", entry.get("operation") or "", "must be `Apply` or `Update`"))
        if entry.get("fieldsType") not in (None, "", "FieldsV1"):
            errors.append(field_errors.invalid(f"{path}.fieldsType", entry["fieldsType"], "must be `FieldsV1`"))
        if len((entry.get("manager") or "").encode()) > 128:
            errors.append(field_errors.too_long(f"{path}.manager", 128))
        if len((entry.get("subresource") or "").encode()) > 256:
            errors.append(field_errors.too_long(f"{path}.subresource", 256))
