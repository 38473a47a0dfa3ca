"""Namespaces, nodes, service accounts, events and leases."""

from __future__ import annotations

from traincrew.apimachinery import field_errors, go_format, name_validation, object_metadata, resource_lists
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.registry.builtin import ip_addresses
from traincrew.embedded.apiserver.registry.builtin.pods.scheduling import EFFECTS
from traincrew.embedded.apiserver.registry.builtin.strategy import Errors, Strategy
from traincrew.embedded.apiserver.registry.builtin.write_context import EMPTY, WriteContext

NAME_LABEL = "kubernetes.io/metadata.name"
_ENFORCED = "kubernetes.io/enforce-mountable-secrets"


def _default_namespace(obj: Object) -> None:
    if name := obj["metadata"].get("name"):
        obj["metadata"].setdefault("labels", {})[NAME_LABEL] = name
    obj["status"].setdefault("phase", "Active")


def _prepare_create_namespace(obj: Object, _context: WriteContext) -> None:
    obj["status"] = {"phase": "Active"}
    finalizers = obj["spec"].get("finalizers") or []
    if "kubernetes" not in finalizers:
        obj["spec"]["finalizers"] = [*finalizers, "kubernetes"]
    _default_namespace(obj)


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
    object_metadata.validate_standard_finalizers([finalizer], unprefixed)
    errors += [field_errors.FieldError(each.reason, path, each.message) for each in unprefixed]


def _validate_namespace(obj: Object, errors: Errors) -> None:
    for finalizer in obj["spec"].get("finalizers") or ():
        errors += [
            field_errors.invalid("spec.finalizers", finalizer, error) for error in name_validation.qualified_name(finalizer)
        ]
        _check_standard(finalizer, "spec.finalizers", errors)


def _validate_update_namespace_status(new: Object, _old: Object, errors: Errors) -> None:
    expected, state = ("Terminating", "not empty") if new["metadata"].get("deletionTimestamp") else ("Active", "empty")
    phase = new["status"].get("phase") or ""
    if phase != expected:
        detail = f"may only be '{expected}' if `deletionTimestamp` is {state}"
        errors.append(field_errors.invalid("status.Phase", phase, detail))


def _default_node(obj: Object) -> None:
    spec, status = obj["spec"], obj["status"]
    if first := spec.get("podCIDR"):
        if (spec.get("podCIDRs") or [""])[0] != first:
            spec["podCIDRs"] = [first]
    elif spec.get("podCIDRs"):
        spec["podCIDR"] = spec["podCIDRs"][0]
    if not status.get("allocatable") and status.get("capacity"):
        status["allocatable"] = dict(status["capacity"])


def _prepare_create_node(obj: Object, _context: WriteContext) -> None:
    obj["spec"].pop("configSource", None)
    obj["status"].pop("config", None)


def _prepare_update_node(new: Object, old: Object) -> None:
    new["status"] = old.get("status") or {}
    new["spec"].pop("configSource", None)


def _validate_node(obj: Object, errors: Errors) -> None:
    _check_taints(obj["spec"].get("taints") or (), errors)
    _check_node_resources(obj, errors)
    ranges = obj["spec"].get("podCIDRs") or []
    for index, each in enumerate(ranges):
        ip_addresses.check_range(each, f"spec.podCIDRs[{index}]", errors)


def _check_taints(taints: list[Object] | tuple[Object, ...], errors: Errors) -> None:
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(taints):
        at, key, effect, value = (
            f"metadata.taints[{index}]",
            taint.get("key") or "",
            taint.get("effect") or "",
            taint.get("value") or "",
        )
        errors += [field_errors.invalid(f"{at}.key", key, error) for error in name_validation.qualified_name(key)]
        if messages := name_validation.label_value(value):
            errors.append(field_errors.invalid(f"{at}.value", value, ";".join(messages)))
        if not effect:
            errors.append(field_errors.required(f"{at}.effect"))
        elif effect not in EFFECTS:
            errors.append(field_errors.not_supported(f"{at}.effect", effect, EFFECTS))
        if (key, effect) in seen:
            quoted = go_format.quote
            shown = f"Key:{quoted(key)}, Value:{quoted(value)}, Effect:{quoted(effect)}, TimeAdded:<nil>"
            errors.append(
                field_errors.duplicate_formatted(at, f"core.Taint{{{shown}}}", "taints must be unique by key and effect pair")
            )
        seen.add((key, effect))


def _check_node_resources(obj: Object, errors: Errors) -> None:
    for side in ("capacity", "allocatable"):
        for name, value in (obj["status"].get(side) or {}).items():
            resource_lists.validate_value(name, value, f"status.{side}.{name}", errors)


def _validate_update_node(new: Object, old: Object, errors: Errors) -> None:
    _check_node_resources(new, errors)
    seen: list[Object] = []
    for index, address in enumerate(new["status"].get("addresses") or ()):
        if address in seen:
            errors.append(field_errors.duplicate(f"status.addresses[{index}]", address))
        seen.append(address)
    for field, label in (("podCIDRs", "podCIDR"), ("providerID", "providerID")):
        before = old["spec"].get(field)
        if before and new["spec"].get(field) != before:
            detail = f'node updates may not change {label} except from "" to valid'
            errors.append(field_errors.forbidden(f"spec.{field}", detail))
    _check_taints(new["spec"].get("taints") or (), errors)


def _clean_secrets(obj: Object, _other: object) -> None:
    if obj.get("secrets"):
        obj["secrets"] = [{"name": each["name"]} if each.get("name") else {} for each in obj["secrets"]]


def _warnings_account(obj: Object) -> list[str]:
    if _ENFORCED not in (obj["metadata"].get("annotations") or {}):
        return []
    detail = "deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
    return [f"metadata.annotations[{_ENFORCED}]: {detail}"]


def _validate_lease(obj: Object, errors: Errors) -> None:
    spec = obj["spec"]
    seconds, count = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    if seconds is not None and seconds <= 0:
        errors.append(field_errors.invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0"))
    if count is not None and count < 0:
        errors.append(field_errors.invalid("spec.leaseTransitions", count, "must be greater than or equal to 0"))


def _prepare_create_lease(obj: Object, _context: object) -> None:
    for field in ("strategy", "preferredHolder"):
        obj["spec"].pop(field, None)


NAMESPACE = NamespaceStrategy(
    kind="Namespace",
    namespaced=False,
    naming=name_validation.dns_label,
    has_status=True,
    defaults=_default_namespace,
    create_preparation=_prepare_create_namespace,
    validation=_validate_namespace,
    status_validation=_validate_update_namespace_status,
    update_validation_steps=("whole", "meta"),
)
NODE = Strategy(
    kind="Node",
    namespaced=False,
    defaults=_default_node,
    create_preparation=_prepare_create_node,
    update_preparation=_prepare_update_node,
    validation=_validate_node,
    update_validation=_validate_update_node,
    status_validation=_validate_update_node,
    update_validation_steps=("whole", "meta", "compare"),
)
SERVICE_ACCOUNT = Strategy(
    kind="ServiceAccount",
    create_preparation=_clean_secrets,
    update_preparation=_clean_secrets,
    update_validation_steps=("meta", "whole"),
    warning_rules=_warnings_account,
)
LEASE = Strategy(
    kind="Lease",
    create_preparation=_prepare_create_lease,
    update_preparation=_prepare_create_lease,
    validation=_validate_lease,
    update_validation_steps=("meta", "spec"),
    standard_finalizers=False,
    allow_create_on_update=True,
    allow_unconditional_update=False,
)
