"""The specs of pods and pod templates as a whole."""

from __future__ import annotations

from traincrew.apimachinery import field_errors, go_format, name_validation, object_meta_validation, resource_lists
from traincrew.apimachinery.field_errors import FieldError
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.registry.builtin.core import ip_addresses
from traincrew.embedded.apiserver.registry.builtin.core.pods import containers, scheduling, security, volumes

_RESTART = ("Always", "OnFailure", "Never")
_DNS = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_WORDS = (("restartPolicy", _RESTART), ("dnsPolicy", _DNS))
_RARE = ("affinity", "dnsConfig", "readinessGates", "schedulingGates", "topologySpreadConstraints")
_PREEMPTION = ("PreemptLowerPriority", "Never")
_COST = "controller.kubernetes.io/pod-deletion-cost"
_MIRROR = "kubernetes.io/config.mirror"
_LONGEST = 2147483647


def check_pod(obj: Object, errors: list[FieldError]) -> None:
    """Validation of new and of updated pods."""
    spec, meta = obj["spec"], obj["metadata"]
    if annotations := meta.get("annotations"):
        check_annotations(annotations, spec, "metadata.annotations", errors)
    check(spec, "spec", errors, pod=meta.get("name") or "")
    if not spec.get("serviceAccountName"):
        _check_no_tokens(spec, errors)
    for kind in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(kind) or ()):
            containers.check_image(container, f"spec.{kind}[{index}]", errors)


def check_new_pod(obj: Object, errors: list[FieldError]) -> None:
    check_pod(obj, errors)
    if obj["spec"].get("ephemeralContainers"):
        errors.append(field_errors.forbidden("spec.ephemeralContainers", "cannot be set on create"))
    if obj["spec"].get("nodeName") and obj["spec"].get("schedulingGates"):
        errors.append(field_errors.forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared"))


def check_template(template: Object, path: str, errors: list[FieldError]) -> None:
    meta, spec = template.get("metadata") or {}, template["spec"]
    object_meta_validation.validate_labels(meta.get("labels") or {}, f"{path}.labels", errors)
    if annotations := meta.get("annotations"):
        object_meta_validation.validate_annotations(annotations, f"{path}.annotations", errors)
        check_annotations(annotations, spec, f"{path}.annotations", errors)
    check(spec, f"{path}.spec", errors)
    if spec.get("ephemeralContainers"):
        errors.append(
            field_errors.forbidden(f"{path}.spec.ephemeralContainers", "ephemeral containers not allowed in pod template")
        )


def check_annotations(annotations: dict[str, str], spec: Object, path: str, errors: list[FieldError]) -> None:
    if _MIRROR in annotations and not spec.get("nodeName"):
        message = "must set spec.nodeName if mirror pod annotation is set"
        errors.append(field_errors.invalid(f"{path}[{_MIRROR}]", annotations[_MIRROR], message))
    if (cost := annotations.get(_COST)) is not None and not _is_cost(cost):
        errors.append(field_errors.invalid(f"{path}[{_COST}]", cost, "must be a 32bit integer"))


def _is_cost(text: str) -> bool:
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdigit() and -(2**31) <= int(text) < 2**31 and (digits == "0" or digits[0] != "0")


def _check_no_tokens(spec: Object, errors: list[FieldError]) -> None:
    for index, volume in enumerate(spec.get("volumes") or ()):
        for which, source in enumerate((volume.get("projected") or {}).get("sources") or ()):
            if "serviceAccountToken" in source:
                at = f"spec.volumes[{index}].projected.sources[{which}].serviceAccountToken"
                errors.append(field_errors.forbidden(at, "must not be specified when serviceAccountName is not set"))


def check(spec: Object, path: str, errors: list[FieldError], pod: str = "") -> None:
    listed = spec.get("volumes")
    right = volumes.check(listed, pod, f"{path}.volumes", errors) if listed else {}
    containers.check(spec, right, path, errors)
    if spec.get("hostNetwork"):
        _check_host_network(spec, f"{path}.containers", errors, is_pod=path == "spec")
    for field, known in _WORDS:
        if spec.get(field) not in known:
            _check_enum(spec.get(field), known, f"{path}.{field}", errors)
    if selector := spec.get("nodeSelector"):
        object_meta_validation.validate_labels(selector, f"{path}.nodeSelector", errors)
    if spec.get("securityContext"):
        security.check_pod(spec, path, errors)
    security.check_sharing(spec, path, errors)
    for field in _RARE:
        if field in spec:
            _check_rare(spec, path, errors)
            break
    else:
        if spec.get("dnsPolicy") == "None":
            _check_dns(spec, f"{path}.dnsConfig", errors)
    _check_names(spec, path, errors)
    _check_rest(spec, path, errors)


def _check_rare(spec: Object, path: str, errors: list[FieldError]) -> None:
    if affinity := spec.get("affinity"):
        scheduling.check_affinity(affinity, f"{path}.affinity", errors)
    if "dnsConfig" in spec or spec.get("dnsPolicy") == "None":
        _check_dns(spec, f"{path}.dnsConfig", errors)
    for index, gate in enumerate(spec.get("readinessGates") or ()):
        name, at = gate.get("conditionType") or "", f"{path}.readinessGates[{index}].conditionType"
        errors += [field_errors.invalid(at, name, error) for error in name_validation.qualified_name(name)]
    if gates := spec.get("schedulingGates"):
        scheduling.check_gates(gates, f"{path}.schedulingGates", errors)
    if constraints := spec.get("topologySpreadConstraints"):
        scheduling.check_spread(constraints, f"{path}.topologySpreadConstraints", errors)


def _check_enum(word: str | None, known: tuple[str, ...], path: str, errors: list[FieldError]) -> None:
    if word not in known:
        errors.append(field_errors.not_supported(path, word, known) if word else field_errors.required(path))


def _check_host_network(spec: Object, path: str, errors: list[FieldError], *, is_pod: bool) -> None:
    for index, container in enumerate(spec.get("containers") or ()):
        for which, port in enumerate(container.get("ports") or ()):
            on_host = port.get("hostPort") or 0
            if (is_pod or on_host) and on_host != (port.get("containerPort") or 0):
                message = "must match `containerPort` when `hostNetwork` is true"
                errors.append(field_errors.invalid(f"{path}[{index}].ports[{which}].hostPort", on_host, message))


def _check_names(spec: Object, path: str, errors: list[FieldError]) -> None:
    for field in ("serviceAccountName", "nodeName"):
        if (name := spec.get(field)) and (messages := name_validation.dns_subdomain(name)):
            errors += [field_errors.invalid(f"{path}.{field}", name, error) for error in messages]
    seconds = spec.get("activeDeadlineSeconds")
    if seconds is not None and not 1 <= seconds <= _LONGEST:
        errors.append(field_errors.invalid(f"{path}.activeDeadlineSeconds", seconds, name_validation.out_of_range(1, _LONGEST)))
    for field in ("hostname", "subdomain"):
        if name := spec.get(field):
            errors += [field_errors.invalid(f"{path}.{field}", name, error) for error in name_validation.dns_label(name)]
    if tolerations := spec.get("tolerations"):
        scheduling.check_tolerations(tolerations, f"{path}.tolerations", errors)
    for index, alias in enumerate(spec.get("hostAliases") or ()):
        at = f"{path}.hostAliases[{index}]"
        ip_addresses.check(alias.get("ip") or "", f"{at}.ip", errors)
        for which, name in enumerate(alias.get("hostnames") or ()):
            errors += [
                field_errors.invalid(f"{at}.hostnames[{which}]", name, error) for error in name_validation.dns_subdomain(name)
            ]


def _check_rest(spec: Object, path: str, errors: list[FieldError]) -> None:
    if name := spec.get("priorityClassName"):
        errors += [
            field_errors.invalid(f"{path}.priorityClassName", name, error) for error in name_validation.dns_subdomain(name)
        ]
    if (name := spec.get("runtimeClassName")) is not None:
        errors += [field_errors.invalid(f"{path}.runtimeClassName", name, error) for error in name_validation.dns_subdomain(name)]
    if spec.get("preemptionPolicy", "Never") not in _PREEMPTION:
        _check_enum(spec["preemptionPolicy"], _PREEMPTION, f"{path}.preemptionPolicy", errors)
    if overhead := spec.get("overhead"):
        resource_lists.validate_requirements({"limits": overhead}, f"{path}.overhead", errors)
    if "os" in spec:
        name = spec["os"].get("name")
        if not name:
            errors.append(field_errors.required(f"{path}.os.name", "cannot be empty"))
        elif name not in ("linux", "windows"):
            errors.append(field_errors.not_supported(f"{path}.os", name, ("linux", "windows")))


def _check_dns(spec: Object, path: str, errors: list[FieldError]) -> None:
    config = spec.get("dnsConfig")
    servers, searches = (config or {}).get("nameservers") or [], (config or {}).get("searches") or []
    if spec.get("dnsPolicy") == "None":
        if config is None:
            errors.append(field_errors.required(path, "must provide `dnsConfig` when `dnsPolicy` is None"))
            return
        if not servers:
            message = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            errors.append(field_errors.required(f"{path}.nameservers", message))
            return
    if len(servers) > 3:
        message = "must not have more than 3 nameservers"
        errors.append(field_errors.invalid_formatted(f"{path}.nameservers", go_format.string_slice(servers), message))
    for index, server in enumerate(servers):
        ip_addresses.check(server, f"{path}.nameservers[{index}]", errors)
    _check_searches(searches, f"{path}.searches", errors)
    for index, option in enumerate((config or {}).get("options") or ()):
        if not option.get("name"):
            errors.append(field_errors.required(f"{path}.options[{index}]", "must not be empty"))


def _check_searches(searches: list[str], path: str, errors: list[FieldError]) -> None:
    if len(searches) > 32:
        errors.append(
            field_errors.invalid_formatted(path, go_format.string_slice(searches), "must not have more than 32 search paths")
        )
    if len(" ".join(searches)) > 2048:
        message = "must not have more than 2048 characters (including spaces) in the search list"
        errors.append(field_errors.invalid_formatted(path, go_format.string_slice(searches), message))
    for index, search in enumerate(searches):
        name = search.removesuffix(".")
        errors += [field_errors.invalid(f"{path}[{index}]", name, error) for error in name_validation.dns_subdomain(name)]
