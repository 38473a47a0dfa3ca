"""Ingresses."""

from __future__ import annotations

import re

from traincrew.apimachinery import field_errors, name_validation
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.registry.builtin.core import ip_addresses
from traincrew.embedded.apiserver.registry.builtin.strategy import Errors, Strategy
from traincrew.embedded.apiserver.registry.builtin.write_context import WriteContext

_CLASS = "kubernetes.io/ingress.class"
_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
_NOT_IN_PATHS = ("//", "/./", "/../", "%2f", "%2F")
_NOT_AT_THE_END = ("/..", "/.")
_SUBDOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_WILDCARD = re.compile(rf"\*\.{_SUBDOMAIN}")
_WILDCARD_RULE = (
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case "
    "alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', regex used for validation "
    rf"is '\*\.{_SUBDOMAIN}')"
)
_MAX_SUBDOMAIN = 253


def _prepare_create(obj: Object, _context: WriteContext) -> None:
    obj["status"] = {"loadBalancer": {}}


def _validate_create(obj: Object, errors: Errors) -> None:
    annotation = (obj["metadata"].get("annotations") or {}).get(_CLASS)
    name = (obj.get("spec") or {}).get("ingressClassName")
    if annotation is not None and name is not None and annotation != name:
        why = "must match `ingressClassName` when both are specified"
        errors.append(field_errors.invalid(f"annotations.{_CLASS}", annotation, why))


def _validate(obj: Object, errors: Errors) -> None:
    spec = obj.get("spec") or {}
    rules, backend = spec.get("rules") or (), spec.get("defaultBackend")
    if not rules and backend is None:
        why = "either `defaultBackend` or `rules` must be specified"
        errors.append(field_errors.invalid_formatted("spec", "[]networking.IngressRule(nil)", why))
    if backend is not None:
        _check_backend(backend, "spec.defaultBackend", errors)
    for index, rule in enumerate(rules):
        _check_rule(rule, f"spec.rules[{index}]", errors)
    for index, tls in enumerate(spec.get("tls") or ()):
        _check_tls(tls, f"spec.tls[{index}]", errors)
    if (name := spec.get("ingressClassName")) is not None:
        errors += [field_errors.invalid("spec.ingressClassName", name, error) for error in name_validation.dns_subdomain(name)]


def _check_rule(rule: Object, path: str, errors: Errors) -> None:
    if host := rule.get("host"):
        if ip_addresses.parse(host) is not None:
            errors.append(field_errors.invalid(f"{path}.host", host, "must be a DNS name, not an IP address"))
        errors += [field_errors.invalid(f"{path}.host", host, error) for error in _host_errors(host)]
    if (http := rule.get("http")) is None:
        return
    if not http.get("paths"):
        errors.append(field_errors.required(f"{path}.http.paths"))
    for index, each in enumerate(http.get("paths") or ()):
        _check_path(each, f"{path}.http.paths[{index}]", errors)


def _host_errors(host: str) -> list[str]:
    if "*" not in host:
        return list(name_validation.dns_subdomain(host))
    too_long = [name_validation.too_long(_MAX_SUBDOMAIN)] if len(host.encode()) > _MAX_SUBDOMAIN else []
    return too_long + ([] if _WILDCARD.fullmatch(host) else [_WILDCARD_RULE])


def _check_path(path: Object, at: str, errors: Errors) -> None:
    kind, text = path.get("pathType"), path.get("path") or ""
    if kind is None:
        errors.append(field_errors.required(f"{at}.pathType", "pathType must be specified"))
        return
    if kind not in _PATH_TYPES:
        errors.append(field_errors.not_supported(f"{at}.pathType", kind, _PATH_TYPES))
    else:
        errors += [field_errors.invalid(f"{at}.path", text, error) for error in _path_errors(kind, text)]
    _check_backend(path.get("backend") or {}, f"{at}.backend", errors)


def _path_errors(kind: str, text: str) -> list[str]:
    absolute = text.startswith("/") or (not text and kind == "ImplementationSpecific")
    found = [] if absolute else ["must be an absolute path"]
    if kind != "ImplementationSpecific":
        found += [f"must not contain '{part}'" for part in _NOT_IN_PATHS if part in text]
        found += [f"cannot end with '{part}'" for part in _NOT_AT_THE_END if text.endswith(part)]
    return found


def _check_backend(backend: Object, path: str, errors: Errors) -> None:
    resource, service = backend.get("resource"), backend.get("service")
    if resource is not None and service is not None:
        errors.append(field_errors.invalid(path, "", "cannot set both resource and service backends"))
    elif resource is not None:
        _check_resource(resource, f"{path}.resource", errors)
    elif service is not None:
        _check_service(service, path, errors)
    else:
        errors.append(field_errors.invalid(path, "", "resource or service backend is required"))


def _check_resource(resource: Object, path: str, errors: Errors) -> None:
    if (group := resource.get("apiGroup")) is not None:
        errors += [field_errors.invalid(f"{path}.apiGroup", group, error) for error in name_validation.dns_subdomain(group)]
    for field in ("kind", "name"):
        if not (value := resource.get(field)):
            errors.append(field_errors.required(f"{path}.{field}", f"{field} is required"))
        else:
            errors += [field_errors.invalid(f"{path}.{field}", value, error) for error in name_validation.path_segment(value)]


def _check_service(service: Object, path: str, errors: Errors) -> None:
    if not (name := service.get("name")):
        errors.append(field_errors.required(f"{path}.service.name"))
    else:
        problems = name_validation.dns_1035_label(name)
        errors += [field_errors.invalid(f"{path}.service.name", name, error) for error in problems]
    port = service.get("port") or {}
    word, number, at = port.get("name") or "", port.get("number") or 0, f"{path}.service.port"
    if word and number:
        errors.append(field_errors.invalid(path, "", "cannot set both port name & port number"))
    elif word:
        errors += [field_errors.invalid(f"{at}.name", word, error) for error in name_validation.port_name(word)]
    elif number:
        errors += [field_errors.invalid(f"{at}.number", number, error) for error in name_validation.port_number(number)]
    else:
        errors.append(field_errors.required(path, "port name or number is required"))


def _check_tls(tls: Object, path: str, errors: Errors) -> None:
    for index, host in enumerate(tls.get("hosts") or ()):
        errors += [field_errors.invalid(f"{path}.hosts[{index}]", host, error) for error in _host_errors(host)]
    if name := tls.get("secretName"):
        errors += [field_errors.invalid(f"{path}.secretName", name, error) for error in name_validation.dns_subdomain(name)]


def _validate_status(new: Object, _old: Object, errors: Errors) -> None:
    status = (new.get("status") or {}).get("loadBalancer") or {}
    for index, each in enumerate(status.get("ingress") or ()):
        path, host = f"status.loadBalancer.ingress[{index}]", each.get("hostname")
        if each.get("ip"):
            ip_addresses.check(each["ip"], f"{path}.ip", errors)
        if host:
            errors += [field_errors.invalid(f"{path}.hostname", host, error) for error in name_validation.dns_subdomain(host)]
            if ip_addresses.parse(host) is not None:
                errors.append(field_errors.invalid(f"{path}.hostname", host, "must be a DNS name, not an IP address"))


def _warnings(obj: Object) -> list[str]:
    annotated = _CLASS in (obj["metadata"].get("annotations") or {})
    if not annotated or (obj.get("spec") or {}).get("ingressClassName") is not None:
        return []
    return [f"annotation \"{_CLASS}\" is deprecated, please use 'spec.ingressClassName' instead"]


INGRESS = Strategy(
    kind="Ingress",
    has_status=True,
    has_generation=True,
    create_preparation=_prepare_create,
    validation=_validate,
    create_validation=_validate_create,
    status_validation=_validate_status,
    update_validation_steps=("meta", "whole"),
    warning_rules=_warnings,
)
