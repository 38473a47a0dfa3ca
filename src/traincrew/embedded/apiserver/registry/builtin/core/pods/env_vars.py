"""Environment variables of containers, and the fields of the pod that they and volumes may show."""

from __future__ import annotations

import re

from traincrew.apimachinery import field_errors, name_validation, quantities
from traincrew.apimachinery.field_errors import FieldError
from traincrew.apimachinery.unstructured import Object

_ENV_FIELDS = (
    "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP",
    "status.hostIPs", "status.podIP", "status.podIPs",
)  # fmt: skip
VOLUME_FIELDS = ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")
_CONVERTIBLE = {*_ENV_FIELDS, *VOLUME_FIELDS, "spec.restartPolicy", "spec.schedulerName", "status.phase", "spec.host"}
_RESOURCES = (
    "limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu", "requests.ephemeral-storage", "requests.memory",
)  # fmt: skip
_SUBSCRIPTED = re.compile(r"([^\[]+)\['(.*)'\]", re.DOTALL)
_BYTES = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")
_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef")


def check(variables: list[Object], path: str, errors: list[FieldError]) -> None:
    for index, variable in enumerate(variables):
        name = variable.get("name")
        if name and not name_validation.env_var_name(name) and "valueFrom" not in variable:
            continue
        if not name:
            errors.append(field_errors.required(f"{path}[{index}].name"))
        elif messages := name_validation.env_var_name(name):
            errors += [field_errors.invalid(f"{path}[{index}].name", name, error) for error in messages]
        if "valueFrom" in variable:
            _check_source(variable, f"{path}[{index}].valueFrom", errors)


def _check_source(variable: Object, path: str, errors: list[FieldError]) -> None:
    source = variable["valueFrom"]
    if "fieldRef" in source:
        check_field(source["fieldRef"], _ENV_FIELDS, f"{path}.fieldRef", errors)
    if "resourceFieldRef" in source:
        check_resource(source["resourceFieldRef"], f"{path}.resourceFieldRef", errors, in_volume=False)
    for kind in ("configMapKeyRef", "secretKeyRef"):
        if kind in source:
            _check_key(source[kind], f"{path}.{kind}", errors)
    count = sum(kind in source for kind in _SOURCES)
    if not count:
        detail = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`"
        errors.append(field_errors.invalid(path, "", detail))
    elif variable.get("value"):
        errors.append(field_errors.invalid(path, "", "may not be specified when `value` is not empty"))
    elif count > 1:
        errors.append(field_errors.invalid(path, "", "may not have more than one field specified at a time"))


def check_field(reference: Object, allowed: tuple[str, ...], path: str, errors: list[FieldError]) -> None:
    shown, version = reference.get("fieldPath") or "", reference.get("apiVersion") or ""
    if not shown:
        errors.append(field_errors.required(f"{path}.fieldPath"))
        return
    subscripted = _SUBSCRIPTED.fullmatch(shown)
    if error := _unconvertible(shown, version, subscripted):
        errors.append(field_errors.invalid(f"{path}.fieldPath", shown, f"error converting fieldPath: {error}"))
    elif subscripted:
        key = subscripted[2].lower() if subscripted[1] == "metadata.annotations" else subscripted[2]
        errors += [field_errors.invalid(path, key, error) for error in name_validation.qualified_name(key)]
    elif shown not in allowed:
        errors.append(field_errors.not_supported(f"{path}.fieldPath", shown, allowed))


def _unconvertible(shown: str, version: str, subscripted: re.Match[str] | None) -> str:
    if version != "v1":
        return f"unsupported pod version: {version}"
    if subscripted:
        known = subscripted[1] in ("metadata.annotations", "metadata.labels")
        return "" if known else f"field label does not support subscript: {shown}"
    return "" if shown in _CONVERTIBLE else f"field label not supported: {shown}"


def check_resource(reference: Object, path: str, errors: list[FieldError], *, in_volume: bool) -> None:
    name = reference.get("resource") or ""
    if in_volume and not reference.get("containerName"):
        errors.append(field_errors.required(f"{path}.containerName"))
    elif not name:
        errors.append(field_errors.required(f"{path}.resource"))
    elif name not in _RESOURCES and not name.startswith(("requests.hugepages-", "limits.hugepages-")):
        errors.append(field_errors.not_supported(f"{path}.resource", name, _RESOURCES))
    divisor = quantities.canonical(reference.get("divisor") or "0")
    if divisor != "0":
        _check_divisor(name, divisor, f"{path}.divisor", errors)


def _check_divisor(name: str, divisor: str, path: str, errors: list[FieldError]) -> None:
    what = name.partition(".")[2]
    if what == "cpu":
        if divisor not in ("1m", "1"):
            errors.append(field_errors.invalid(path, name, "only divisor's values 1m and 1 are supported with the cpu resource"))
        return
    resource = {"memory": "memory", "ephemeral-storage": "local ephemeral storage"}.get(what, "hugepages")
    if divisor not in _BYTES and (resource != "hugepages" or what.startswith("hugepages-")):
        errors.append(
            field_errors.invalid(
                path, name, f"only divisor's values {', '.join(_BYTES)} are supported with the {resource} resource"
            )
        )


def _check_key(selector: Object, path: str, errors: list[FieldError]) -> None:
    name, key = selector.get("name") or "", selector.get("key") or ""
    errors += [field_errors.invalid(f"{path}.name", name, error) for error in name_validation.dns_subdomain(name)]
    if not key:
        errors.append(field_errors.required(f"{path}.key"))
    else:
        errors += [field_errors.invalid(f"{path}.key", key, error) for error in name_validation.config_key(key)]


def check_from(sources: list[Object], path: str, errors: list[FieldError]) -> None:
    for index, source in enumerate(sources):
        at, prefix = f"{path}[{index}]", source.get("prefix")
        if prefix:
            errors += [field_errors.invalid(f"{at}.prefix", prefix, error) for error in name_validation.env_var_name(prefix)]
        kinds = [kind for kind in ("configMapRef", "secretRef") if kind in source]
        for kind in kinds:
            _check_reference_name(source[kind].get("name") or "", f"{at}.{kind}.name", errors)
        if not kinds:
            errors.append(field_errors.invalid(path, "", "must specify one of: `configMapRef` or `secretRef`"))
        elif len(kinds) > 1:
            errors.append(field_errors.invalid(path, "", "may not have more than one field specified at a time"))


def _check_reference_name(name: str, path: str, errors: list[FieldError]) -> None:
    if not name:
        errors.append(field_errors.required(path))
    else:
        errors += [
            field_errors.invalid(path, name, error)
            for error in name_validation.dns_subdomain(name_validation.mask_trailing_dash(name))
        ]
