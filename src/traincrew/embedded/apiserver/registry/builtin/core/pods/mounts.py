"""Volume mounts and volume devices of containers."""

from __future__ import annotations

from traincrew.apimachinery import field_errors
from traincrew.apimachinery.field_errors import FieldError
from traincrew.apimachinery.unstructured import Object

Volumes = dict[str, Object]
"""The valid volumes of the pod, by name."""

_USUAL = {"name", "mountPath", "readOnly"}
_PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")
_RECURSIONS = ("Disabled", "Enabled", "IfPossible")


def check(container: Object, volumes: Volumes, path: str, errors: list[FieldError]) -> None:
    mounts, devices = container.get("volumeMounts") or (), container.get("volumeDevices") or ()
    if mounts:
        taken = {each.get("name"): each.get("devicePath") for each in devices}
        _check_mounts(container, taken, volumes, f"{path}.volumeMounts", errors)
    if devices:
        taken = {each.get("name"): each.get("mountPath") for each in mounts}
        _check_devices(container, taken, volumes, f"{path}.volumeDevices", errors)


def _check_mounts(
    container: Object, devices: dict[str | None, str | None], volumes: Volumes, path: str, errors: list[FieldError]
) -> None:
    seen: set[str] = set()
    for index, mount in enumerate(container["volumeMounts"]):
        at, name, where = f"{path}[{index}]", mount.get("name") or "", mount.get("mountPath") or ""
        if not name:
            errors.append(field_errors.required(f"{at}.name"))
        if name not in volumes:
            errors.append(field_errors.not_found(f"{at}.name", name))
        if not where:
            errors.append(field_errors.required(f"{at}.mountPath"))
        if where in seen:
            errors.append(field_errors.invalid(f"{at}.mountPath", where, "must be unique"))
        seen.add(where)
        if name in devices:
            errors.append(field_errors.invalid(f"{at}.name", name, "must not already exist in volumeDevices"))
        if where in devices.values():
            errors.append(field_errors.invalid(f"{at}.mountPath", where, "must not already exist as a path in volumeDevices"))
        if not mount.keys() <= _USUAL:
            _check_paths(mount, path, at, errors)
            _check_modes(mount, container, path, errors)


def _check_paths(mount: Object, path: str, at: str, errors: list[FieldError]) -> None:
    inner, expanded = mount.get("subPath") or "", mount.get("subPathExpr") or ""
    if inner:
        check_descending(inner, f"{path}.subPath", errors)
    if expanded:
        if inner:
            errors.append(field_errors.invalid(f"{at}.subPathExpr", expanded, "subPathExpr and subPath are mutually exclusive"))
        check_descending(expanded, f"{path}.subPathExpr", errors)


def _check_modes(mount: Object, container: Object, path: str, errors: list[FieldError]) -> None:
    propagation, recursion = mount.get("mountPropagation"), mount.get("recursiveReadOnly")
    if propagation is not None:
        if propagation not in _PROPAGATIONS:
            errors.append(field_errors.not_supported(f"{path}.mountPropagation", propagation, _PROPAGATIONS))
        elif propagation == "Bidirectional" and not (container.get("securityContext") or {}).get("privileged"):
            message = "Bidirectional mount propagation is available only to privileged containers"
            errors.append(field_errors.forbidden(f"{path}.mountPropagation", message))
    if recursion not in (None, *_RECURSIONS):
        errors.append(field_errors.not_supported(f"{path}.recursiveReadOnly", recursion, _RECURSIONS))
    elif recursion in ("Enabled", "IfPossible"):
        if not mount.get("readOnly"):
            errors.append(field_errors.forbidden(f"{path}.recursiveReadOnly", "may only be specified when readOnly is true"))
        if propagation not in (None, "None"):
            message = "may only be specified when mountPropagation is None or not specified"
            errors.append(field_errors.forbidden(f"{path}.recursiveReadOnly", message))


def _check_devices(
    container: Object, mounts: dict[str | None, str | None], volumes: Volumes, path: str, errors: list[FieldError]
) -> None:
    names: set[str] = set()
    paths: set[str] = set()
    for index, device in enumerate(container["volumeDevices"]):
        at, name, where = f"{path}[{index}]", device.get("name") or "", device.get("devicePath") or ""
        _check_device_name(name, names, volumes, f"{at}.name", errors)
        if not where:
            errors.append(field_errors.required(f"{at}.devicePath"))
        if where in paths:
            errors.append(field_errors.invalid(f"{at}.devicePath", where, "must be unique"))
        if ".." in where.split("/"):
            errors.append(field_errors.invalid(f"{at}.devicePath", where, "can not contain backsteps ('..')"))
        else:
            paths.add(where)
        if name in mounts:
            errors.append(field_errors.invalid(f"{at}.name", name, "must not already exist in volumeMounts"))
        if where in mounts.values():
            errors.append(field_errors.invalid(f"{at}.devicePath", where, "must not already exist as a path in volumeMounts"))
        names.add(name)


def _check_device_name(name: str, seen: set[str], volumes: Volumes, path: str, errors: list[FieldError]) -> None:
    if not name:
        errors.append(field_errors.required(path))
    if name and name in seen:
        errors.append(field_errors.invalid(path, name, "must be unique"))
    if name not in volumes:
        errors.append(field_errors.not_found(path, name))
    elif not {"persistentVolumeClaim", "ephemeral"} & volumes[name].keys():
        message = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
        errors.append(field_errors.invalid(path, name, message))


def check_descending(inner: str, path: str, errors: list[FieldError]) -> None:
    if inner.startswith("/"):
        errors.append(field_errors.invalid(path, inner, "must be a relative path"))
    check_no_parent_references(inner, path, errors)


def check_no_parent_references(where: str, path: str, errors: list[FieldError]) -> None:
    if ".." in where and ".." in where.split("/"):
        errors.append(field_errors.invalid(path, where, "must not contain '..'"))


def check_not_reserved(where: str, path: str, errors: list[FieldError]) -> None:
    check_descending(where, path, errors)
    if where.startswith("..") and not where.startswith("../"):
        errors.append(field_errors.invalid(path, where, "must not start with '..'"))
