"""Namespaces."""

from __future__ import annotations

from traincrew.apimachinery import field_errors, name_validation, object_meta_validation
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.registry.builtin.strategy import Errors, Strategy
from traincrew.embedded.apiserver.registry.builtin.write_context import EMPTY, WriteContext

NAME_LABEL = "kubernetes.io/metadata.name"


def _default(obj: Object) -> None:
    if name := obj["metadata"].get("name"):
        obj["metadata"].setdefault("labels", {})[NAME_LABEL] = name
    obj["status"].setdefault("phase", "Active")


def _prepare_create(obj: Object, _context: WriteContext) -> None:
    obj["status"] = {"phase": "Active"}
    finalizers = obj["spec"].get("finalizers") or []
    if "kubernetes" not in finalizers:
        obj["spec"]["finalizers"] = [*finalizers, "kubernetes"]
    _default(obj)


class NamespaceStrategy(Strategy):
    def prepare_for_update(self, new: Object, old: Object, subresource: str = "", context: WriteContext = EMPTY) -> None:
        super().prepare_for_update(new, old, subresource, context)
        if subresource == "":
            new["spec"] = dict(old["spec"])

    def validate_update(self, new: Object, old: Object, subresource: str = "") -> Errors:
        if subresource != "finalize":
            return super().validate_update(new, old, subresource)
        errors = self.validate_common(new, old) + self._check_changed_metadata(new, old)
        for index, finalizer in enumerate(new["spec"].get("finalizers") or ()):
            at = f"spec.finalizers[{index}]"
            errors += [field_errors.invalid(at, finalizer, error) for error in name_validation.qualified_name(finalizer)]
            _check_standard(finalizer, at, errors)
        return errors


def _check_standard(finalizer: str, path: str, errors: Errors) -> None:
    unprefixed: Errors = []
    object_meta_validation.validate_standard_finalizers([finalizer], unprefixed)
    errors += [field_errors.FieldError(each.reason, path, each.message) for each in unprefixed]


def _validate(obj: Object, errors: Errors) -> None:
    for finalizer in obj["spec"].get("finalizers") or ():
        errors += [
            field_errors.invalid("spec.finalizers", finalizer, error) for error in name_validation.qualified_name(finalizer)
        ]
        _check_standard(finalizer, "spec.finalizers", errors)


def _validate_status(new: Object, _old: Object, errors: Errors) -> None:
    expected, state = ("Terminating", "not empty") if new["metadata"].get("deletionTimestamp") else ("Active", "empty")
    phase = new["status"].get("phase") or ""
    if phase != expected:
        detail = f"may only be '{expected}' if `deletionTimestamp` is {state}"
        errors.append(field_errors.invalid("status.Phase", phase, detail))


NAMESPACE = NamespaceStrategy(
    kind="Namespace",
    namespaced=False,
    naming=name_validation.dns_label,
    has_status=True,
    defaults=_default,
    create_preparation=_prepare_create,
    validation=_validate,
    status_validation=_validate_status,
    update_validation_steps=("whole", "meta"),
)
