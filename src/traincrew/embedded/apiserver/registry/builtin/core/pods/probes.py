"""Probes and lifecycle handlers of containers."""

from __future__ import annotations

from typing import Any

from traincrew.apimachinery import field_errors, name_validation
from traincrew.apimachinery.field_errors import FieldError
from traincrew.apimachinery.object_meta_validation import MUST_NOT_BE_NEGATIVE
from traincrew.apimachinery.unstructured import Object

_COUNTS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")


def check_all(container: Object, grace: int, path: str, errors: list[FieldError]) -> None:
    if "lifecycle" in container:
        for hook in ("postStart", "preStop"):
            if hook in container["lifecycle"]:
                _check_handler(container["lifecycle"][hook], grace, f"{path}.lifecycle.{hook}", errors)
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        if name in container:
            _check_probe(name, container[name], grace, f"{path}.{name}", errors)


def _check_probe(name: str, probe: Object, grace: int, path: str, errors: list[FieldError]) -> None:
    _check_handler(probe, grace, path, errors)
    for field in _COUNTS:
        if (value := probe.get(field) or 0) < 0:
            errors.append(field_errors.invalid(f"{path}.{field}", value, MUST_NOT_BE_NEGATIVE))
    allowed = probe.get("terminationGracePeriodSeconds")
    if allowed is not None and allowed <= 0:
        errors.append(field_errors.invalid(f"{path}.terminationGracePeriodSeconds", allowed, "must be greater than 0"))
    if name != "readinessProbe":
        if probe.get("successThreshold") != 1:
            errors.append(field_errors.invalid(f"{path}.successThreshold", probe.get("successThreshold") or 0, "must be 1"))
    elif allowed is not None:
        errors.append(
            field_errors.invalid(f"{path}.terminationGracePeriodSeconds", allowed, "must not be set for readinessProbes")
        )


def _check_handler(handler: Object, grace: int, path: str, errors: list[FieldError]) -> None:
    kinds = [kind for kind in _HANDLERS if kind in handler]
    if not kinds:
        errors.append(field_errors.required(path, "must specify a handler type"))
        return
    _check_one(kinds[0], handler[kinds[0]], grace, f"{path}.{kinds[0]}", errors)
    for kind in kinds[1:]:
        errors.append(field_errors.forbidden(f"{path}.{kind}", "may not specify more than 1 handler type"))


def _check_one(kind: str, handler: Object, grace: int, path: str, errors: list[FieldError]) -> None:
    if kind == "exec":
        if not handler.get("command"):
            errors.append(field_errors.required(f"{path}.command"))
    elif kind == "httpGet":
        _check_http(handler, path, errors)
    elif kind == "sleep":
        seconds = handler.get("seconds") or 0
        if seconds <= 0 or seconds > grace:
            message = f"must be greater than 0 and less than terminationGracePeriodSeconds ({grace})."
            message += " Enable AllowPodLifecycleSleepActionZeroValue feature gate for zero sleep."
            errors.append(field_errors.invalid(path, seconds, message))
    else:
        check_port(handler.get("port", 0), f"{path}.port", errors)


def _check_http(handler: Object, path: str, errors: list[FieldError]) -> None:
    if not handler.get("path"):
        errors.append(field_errors.required(f"{path}.path"))
    check_port(handler.get("port", 0), f"{path}.port", errors)
    if handler.get("scheme") not in ("HTTP", "HTTPS"):
        errors.append(field_errors.not_supported(f"{path}.scheme", handler.get("scheme") or "", ("HTTP", "HTTPS")))
    for header in handler.get("httpHeaders") or ():
        name = header.get("name") or ""
        errors += [field_errors.invalid(f"{path}.httpHeaders", name, error) for error in name_validation.http_header_name(name)]


def check_port(port: Any, path: str, errors: list[FieldError]) -> None:
    """A number or a name."""
    messages = name_validation.port_name(port) if isinstance(port, str) else name_validation.port_number(int(port))
    errors += [field_errors.invalid(path, port, error) for error in messages]
