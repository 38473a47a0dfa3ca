"""The strategy of a built-in kind: defaults, preparation and validation beyond its schema."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from traincrew.apimachinery import name_validation, object_meta_validation
from traincrew.apimachinery.field_errors import FieldError, FieldErrors
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.registry.builtin import go_encoding
from traincrew.embedded.apiserver.registry.builtin.write_context import EMPTY, WriteContext

Errors = list[FieldError]


def _nothing(_obj: Object) -> None:
    return None


def _no_preparation(_obj: Object, _other: object) -> None:
    return None


def _no_status(_new: Object, _old: Object, _context: WriteContext) -> None:
    return None


def _no_check(_obj: Object, _errors: Errors) -> None:
    return None


def _no_comparison(_new: Object, _old: Object, _errors: Errors) -> None:
    return None


def _no_warnings(_obj: Object) -> list[str]:
    return []


@dataclasses.dataclass(frozen=True)
class Strategy:
    kind: str = ""
    namespaced: bool = True
    naming: object_meta_validation.NameValidator = name_validation.dns_subdomain
    has_status: bool = False
    has_generation: bool = False
    status_keeps: tuple[str, ...] = ()
    """Metadata that a write of the status cannot change."""
    defaults: Callable[[Object], None] = _nothing
    create_preparation: Callable[[Object, WriteContext], None] = _no_preparation
    update_preparation: Callable[[Object, Object], None] = _no_preparation
    status_preparation: Callable[[Object, Object, WriteContext], None] = _no_status
    validation: Callable[[Object, Errors], None] = _no_check
    create_validation: Callable[[Object, Errors], None] = _no_check
    """On create, after `validation`."""
    update_validation: Callable[[Object, Object, Errors], None] = _no_comparison
    """On update, beside `validation`."""
    status_validation: Callable[[Object, Object, Errors], None] = _no_comparison
    update_validation_steps: tuple[str, ...] = ("meta", "whole", "compare")
    """The steps of the validation of an update, in order: `meta` validates the change of the metadata, `named` the metadata and
    `spec` the rest as in a new object, `whole` both, `compare` what may change. A kind with a step twice reports errors twice."""
    status_validation_steps: tuple[str, ...] = ("meta", "compare")
    metadata_first: bool = True
    standard_finalizers: bool = True
    warning_rules: Callable[[Object], list[str]] = _no_warnings
    warns_on_update: bool = False
    allow_create_on_update: bool = False
    """A PUT creates the object if it does not exist."""
    allow_unconditional_update: bool = True
    """An update need not name a resource version."""
    orphans_by_default: bool = False
    """Dependents are orphaned, unless the delete options override it."""

    def default(self, obj: Object) -> None:
        """In place: the encoding of the Go types, and every default. Idempotent."""
        go_encoding.normalize(obj)
        self.defaults(obj)

    def prepare_for_create(self, obj: Object, context: WriteContext) -> None:
        """In place, after `default`. May raise StatusError, as an allocation does."""
        meta = obj.setdefault("metadata", {})
        meta.pop("deletionTimestamp", None)
        meta.pop("deletionGracePeriodSeconds", None)
        if self.has_generation:
            meta["generation"] = 1
        if self.has_status:
            obj["status"] = {}
        self.create_preparation(obj, context)

    def prepare_for_update(self, new: Object, old: Object, subresource: str = "", context: WriteContext = EMPTY) -> None:
        """In place, after `default`: restores fields that the writer may not change. May raise StatusError (allocations)."""
        keep_metadata(new, old)
        if subresource == "status":
            self._keep_all_but_status(new, old)
            self.status_preparation(new, old, context)
            return
        if self.has_status and subresource in ("", "finalize", "ephemeralcontainers", "scale"):
            _take(new, old, "status")
        self.update_preparation(new, old)
        if self.has_generation and self._differs(new, old):
            new["metadata"]["generation"] = (old["metadata"].get("generation") or 0) + 1

    def _differs(self, new: Object, old: Object) -> bool:
        annotations = self.kind == "Deployment" and new["metadata"].get("annotations") != old["metadata"].get("annotations")
        return annotations or new.get("spec") != old.get("spec")

    def _keep_all_but_status(self, new: Object, old: Object) -> None:
        _take(new, old, "spec")
        for field in self.status_keeps:
            _take(new["metadata"], old["metadata"], field)

    def validate(self, obj: Object) -> Errors:
        """Of a new object, after `prepare_for_create`."""
        errors = FieldErrors()
        if self.metadata_first:
            errors += self._check_metadata(obj)
            self.validation(obj, errors)
            self.create_validation(obj, errors)
            return errors
        self.validation(obj, errors)
        return errors or self._check_metadata(obj)

    def _check_metadata(self, obj: Object) -> Errors:
        return object_meta_validation.validate(obj["metadata"], self.namespaced, self.naming, self.standard_finalizers)

    def validate_update(self, new: Object, old: Object, subresource: str = "") -> Errors:
        """Of an updated object, after `prepare_for_update`; errors in the order, and as often, as kube-apiserver reports them."""
        errors = FieldErrors(self.validate_common(new, old))
        in_status = subresource == "status"
        for step in self.status_validation_steps if in_status else self.update_validation_steps:
            if step == "meta":
                errors += self._check_changed_metadata(new, old)
            elif step == "compare":
                (self.status_validation if in_status else self.update_validation)(new, old, errors)
            else:
                errors += self._check_metadata(new) if step in ("whole", "named") else ()
                if step != "named":
                    self.validation(new, errors)
        return errors

    def validate_common(self, new: Object, old: Object) -> Errors:
        """Validation of updates of every kind, before the validation of the kind."""
        errors = object_meta_validation.validate(
            new["metadata"], self.namespaced, name_validation.path_segment, standard_finalizers=False
        )
        return errors + object_meta_validation.validate_update(new["metadata"], old["metadata"])

    def _check_changed_metadata(self, new: Object, old: Object) -> Errors:
        rule = object_meta_validation.validate_kind_update if self.standard_finalizers else object_meta_validation.validate_update
        return rule(new["metadata"], old["metadata"])

    def warnings(self, obj: Object, old: Object | None = None) -> list[str]:
        """The texts of the Warning headers for a new or, with `old`, a changed object."""
        if old is not None and not (self.warns_on_update or self.has_generation):
            return []
        if old is not None and self.has_generation and obj["metadata"].get("generation") == old["metadata"].get("generation"):
            return []
        return self.warning_rules(obj)


def _take(new: Object, old: Object, field: str) -> None:
    if field in old:
        new[field] = old[field]
    else:
        new.pop(field, None)


def keep_metadata(new: Object, old: Object) -> None:
    meta, before = new.setdefault("metadata", {}), old["metadata"]
    for field in ("creationTimestamp", "generation"):
        _take(meta, before, field)
    if not meta.get("uid"):
        _take(meta, before, "uid")
    if before.get("deletionTimestamp"):
        meta["deletionTimestamp"] = before["deletionTimestamp"]
        if meta.get("deletionGracePeriodSeconds") is None:
            _take(meta, before, "deletionGracePeriodSeconds")


DEFAULT_STRATEGY = Strategy()


@dataclasses.dataclass(frozen=True)
class CustomStrategy(Strategy):
    """Objects of a CustomResourceDefinition: everything but metadata and status counts as their spec."""

    def default(self, obj: Object) -> None:
        return None

    def prepare_for_create(self, obj: Object, context: WriteContext) -> None:
        super().prepare_for_create(obj, context)
        if self.has_status:
            obj.pop("status", None)

    def _differs(self, new: Object, old: Object) -> bool:
        return _but_metadata(new) != _but_metadata(old)

    def _keep_all_but_status(self, new: Object, old: Object) -> None:
        """A write of the status changes nothing else, not even labels."""
        status, managers, version = (
            new.get("status"),
            new["metadata"].get("managedFields"),
            new["metadata"].get("resourceVersion"),
        )
        new.clear()
        new.update(old)
        new["metadata"] = {**old["metadata"], "resourceVersion": version or old["metadata"].get("resourceVersion")}
        if managers:
            new["metadata"]["managedFields"] = managers
        if status is None:
            new.pop("status", None)
        else:
            new["status"] = status


def _but_metadata(obj: Object) -> Object:
    return {key: value for key, value in obj.items() if key != "metadata"}


def custom(namespaced: bool, has_status: bool) -> Strategy:
    return CustomStrategy(
        namespaced=namespaced,
        has_status=has_status,
        has_generation=True,
        update_validation_steps=(),
        status_validation_steps=(),
        standard_finalizers=False,
        allow_unconditional_update=False,
    )
