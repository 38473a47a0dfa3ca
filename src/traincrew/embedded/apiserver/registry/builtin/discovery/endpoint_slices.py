"""Endpoint slices."""

from __future__ import annotations

from traincrew.apimachinery import field_errors, go_format, name_validation
from traincrew.apimachinery.field_errors import FieldError
from traincrew.apimachinery.object_meta_validation import IMMUTABLE, validate_labels
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.registry.builtin.core import ip_addresses
from traincrew.embedded.apiserver.registry.builtin.core.endpoints import check_protocols
from traincrew.embedded.apiserver.registry.builtin.strategy import Errors, Strategy

_FAMILIES = {"IPv4": 4, "IPv6": 6}
_TYPES = ("FQDN", "IPv4", "IPv6")
_MAX_ENDPOINTS, _MAX_ADDRESSES, _MAX_ZONES = 1000, 100, 8


def _default(obj: Object) -> None:
    for port in obj.get("ports") or ():
        port.setdefault("name", "")
        port.setdefault("protocol", "TCP")


def _validate(obj: Object, errors: Errors) -> None:
    kind, endpoints = obj.get("addressType") or "", obj.get("endpoints") or ()
    if not kind:
        errors.append(field_errors.required("addressType"))
    elif kind not in _TYPES:
        errors.append(field_errors.not_supported("addressType", kind, _TYPES))
    _too_many("endpoints", len(endpoints), _MAX_ENDPOINTS, errors)
    for index, endpoint in enumerate(endpoints):
        _check_endpoint(endpoint, kind, f"endpoints[{index}]", errors)
    seen: set[str] = set()
    for index, port in enumerate(obj.get("ports") or ()):
        at, name = f"ports[{index}]", port.get("name") or ""
        if name:
            errors += [field_errors.invalid(f"{at}.name", name, error) for error in name_validation.dns_label(name)]
        if name in seen:
            errors.append(field_errors.duplicate(f"{at}.name", name))
        seen.add(name)
        check_protocols(port, at, errors)


def _too_many(path: str, count: int, most: int, errors: Errors) -> None:
    if count > most:
        errors.append(FieldError(field_errors.TOO_MANY, path, f"Too many: {count}: must have at most {most} items"))


def _check_endpoint(endpoint: Object, kind: str, path: str, errors: Errors) -> None:
    listed, at = endpoint.get("addresses") or (), f"{path}.addresses"
    if not listed:
        errors.append(field_errors.required(at, "must contain at least 1 address"))
    _too_many(at, len(listed), _MAX_ADDRESSES, errors)
    for index, text in enumerate(listed):
        if kind in _FAMILIES:
            ip_addresses.check_family(text, _FAMILIES[kind], f"{at}[{index}]", errors)
            ip_addresses.check_not_special(text, f"{at}[{index}]", errors)
        elif kind == "FQDN":
            errors += [
                field_errors.invalid(f"{at}[{index}]", text, error)
                for error in name_validation.dns_subdomain(text.removesuffix("."))
            ]
    node, host = endpoint.get("nodeName"), endpoint.get("hostname")
    if node is not None:
        errors += [field_errors.invalid(f"{path}.nodeName", node, error) for error in name_validation.dns_subdomain(node)]
    validate_labels(endpoint.get("deprecatedTopology") or {}, f"{path}.deprecatedTopology", errors)
    if host is not None:
        errors += [field_errors.invalid(f"{path}.hostname", host, error) for error in name_validation.dns_label(host)]
    zones = (endpoint.get("hints") or {}).get("forZones") or ()
    _too_many(f"{path}.hints.forZones", len(zones), _MAX_ZONES, errors)


def _validate_update(new: Object, old: Object, errors: Errors) -> None:
    if new.get("addressType") != old.get("addressType"):
        shown = go_format.quote(new.get("addressType") or "")
        errors.append(field_errors.invalid_formatted("addressType", shown, IMMUTABLE))


def _prepare_create(obj: Object, _context: object) -> None:
    obj["metadata"]["generation"] = 1


class SliceStrategy(Strategy):
    def _differs(self, new: Object, old: Object) -> bool:
        labels = new["metadata"].get("labels") != old["metadata"].get("labels")
        return labels or any(new.get(field) != old.get(field) for field in ("endpoints", "ports"))


ENDPOINT_SLICE = SliceStrategy(
    kind="EndpointSlice",
    has_generation=True,
    defaults=_default,
    create_preparation=_prepare_create,
    validation=_validate,
    update_validation=_validate_update,
    update_validation_steps=("whole", "compare"),
)
