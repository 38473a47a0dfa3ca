"""Containers of pods."""

from __future__ import annotations

from traincrew.apimachinery import field_errors, name_validation, resource_lists
from traincrew.apimachinery.field_errors import FieldError
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.registry.builtin.core.pods import env_vars, mounts, probes, security

PROTOCOLS = ("SCTP", "TCP", "UDP")
_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
_NOT_EPHEMERAL = ("ports", "resources", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle")
_NOT_INIT = ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")


def check(spec: Object, volumes: mounts.Volumes, path: str, errors: list[FieldError]) -> None:
    grace = spec.get("terminationGracePeriodSeconds", 30)
    containers, at = spec.get("containers") or (), f"{path}.containers"
    seen: set[str] = set()
    if not containers:
        errors.append(field_errors.required(at))
    for index, container in enumerate(containers):
        where = f"{at}[{index}]"
        _check_any(container, volumes, where, errors)
        name = container.get("name") or ""
        if name in seen:
            errors.append(field_errors.duplicate(f"{where}.name", name))
        seen.add(name)
        if not container.keys().isdisjoint(_NOT_INIT):
            probes.check_all(container, grace, where, errors)
        if "restartPolicy" in container:
            errors.append(field_errors.forbidden(f"{where}.restartPolicy", "may not be set for non-init containers"))
    _check_host_ports(containers, at, errors)
    for index, container in enumerate(spec.get("initContainers") or ()):
        _check_init(container, seen, volumes, f"{path}.initContainers[{index}]", errors)
        _check_init_probes(container, grace, f"{path}.initContainers[{index}]", errors)
    if spec.get("ephemeralContainers"):
        _check_ephemeral(spec, seen, volumes, f"{path}.ephemeralContainers", errors)


def _check_any(container: Object, volumes: mounts.Volumes, path: str, errors: list[FieldError]) -> None:
    name, policy = container.get("name"), container.get("terminationMessagePolicy")
    if not name:
        errors.append(field_errors.required(f"{path}.name"))
    elif messages := name_validation.dns_label(name):
        errors += [field_errors.invalid(f"{path}.name", name, error) for error in messages]
    if not container.get("image"):
        errors.append(field_errors.required(f"{path}.image"))
    if policy not in _MESSAGE_POLICIES:
        errors.append(field_errors.not_supported(f"{path}.terminationMessagePolicy", policy, _MESSAGE_POLICIES))
    if ports := container.get("ports"):
        _check_ports(ports, f"{path}.ports", errors)
    if variables := container.get("env"):
        env_vars.check(variables, f"{path}.env", errors)
    if sources := container.get("envFrom"):
        env_vars.check_from(sources, f"{path}.envFrom", errors)
    if "volumeMounts" in container or "volumeDevices" in container:
        mounts.check(container, volumes, path, errors)
    if (pulled := container.get("imagePullPolicy")) not in _PULL_POLICIES:
        errors.append(field_errors.not_supported(f"{path}.imagePullPolicy", pulled, _PULL_POLICIES))
    if requirements := container.get("resources"):
        resource_lists.validate_requirements(requirements, f"{path}.resources", errors)
    if context := container.get("securityContext"):
        security.check_container(context, f"{path}.securityContext", errors)


def _check_ports(ports: list[Object], path: str, errors: list[FieldError]) -> None:
    seen: set[str] = set()
    for index, port in enumerate(ports):
        at, name, number = f"{path}[{index}]", port.get("name"), port.get("containerPort") or 0
        if name:
            if messages := name_validation.port_name(name):
                errors += [field_errors.invalid(f"{at}.name", name, error) for error in messages]
            elif name in seen:
                errors.append(field_errors.duplicate(f"{at}.name", name))
            seen.add(name)
        if not number:
            errors.append(field_errors.required(f"{at}.containerPort"))
        else:
            errors += [
                field_errors.invalid(f"{at}.containerPort", number, error) for error in name_validation.port_number(number)
            ]
        if on_host := port.get("hostPort"):
            errors += [field_errors.invalid(f"{at}.hostPort", on_host, error) for error in name_validation.port_number(on_host)]
        if port.get("protocol") not in PROTOCOLS:
            errors.append(field_errors.not_supported(f"{at}.protocol", port.get("protocol") or "", PROTOCOLS))


def _check_host_ports(containers: tuple[Object, ...] | list[Object], path: str, errors: list[FieldError]) -> None:
    seen: set[str] = set()
    for index, container in enumerate(containers):
        for which, port in enumerate(container.get("ports") or ()):
            if on_host := port.get("hostPort"):
                message = f"{port.get('protocol')}/{port.get('hostIP') or ''}/{on_host}"
                if message in seen:
                    errors.append(field_errors.duplicate(f"{path}[{index}].ports[{which}].hostPort", message))
                seen.add(message)


def _check_init(container: Object, seen: set[str], volumes: mounts.Volumes, path: str, errors: list[FieldError]) -> None:
    _check_any(container, volumes, path, errors)
    policy, name = container.get("restartPolicy"), container.get("name") or ""
    if policy not in (None, "Always"):
        errors.append(field_errors.not_supported(f"{path}.restartPolicy", policy, ("Always",)))
    if name in seen:
        errors.append(field_errors.duplicate(f"{path}.name", name))
    elif name:
        seen.add(name)
    _check_host_ports([container], path.rpartition("[")[0], errors)


def _check_init_probes(container: Object, grace: int, path: str, errors: list[FieldError]) -> None:
    if container.get("restartPolicy") == "Always":
        probes.check_all(container, grace, path, errors)
        return
    for field in _NOT_INIT:
        if field in container:
            detail = "may not be set for init containers without restartPolicy=Always"
            errors.append(field_errors.forbidden(f"{path}.{field}", detail))


def _check_ephemeral(spec: Object, seen: set[str], volumes: mounts.Volumes, path: str, errors: list[FieldError]) -> None:
    others = set(seen)
    for index, container in enumerate(spec["ephemeralContainers"]):
        at, name, target = f"{path}[{index}]", container.get("name") or "", container.get("targetContainerName")
        _check_any(container, volumes, at, errors)
        check_image(container, at, errors)
        if name in seen:
            errors.append(field_errors.duplicate(f"{at}.name", name))
        seen.add(name)
        if target and target not in others:
            errors.append(field_errors.not_found(f"{at}.targetContainerName", target))
        for field in _NOT_EPHEMERAL:
            if container.get(field):
                errors.append(field_errors.forbidden(f"{at}.{field}", "cannot be set for an Ephemeral Container"))
        for which, mount in enumerate(container.get("volumeMounts") or ()):
            for field in ("subPath", "subPathExpr"):
                if mount.get(field):
                    where = f"{at}.volumeMounts[{which}].{field}"
                    errors.append(field_errors.forbidden(where, "cannot be set for an Ephemeral Container"))


def check_image(container: Object, path: str, errors: list[FieldError]) -> None:
    """Templates may have such an image, pods may not."""
    image = container.get("image") or ""
    if image.strip() != image:
        errors.append(field_errors.invalid(f"{path}.image", image, "must not have leading or trailing whitespace"))
