"""Validation of updates of pods."""

from __future__ import annotations

from collections.abc import Sequence

from traincrew.apimachinery import field_errors, go_format, name_validation
from traincrew.apimachinery.field_errors import FieldError
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.registry.builtin import go_diff
from traincrew.embedded.apiserver.registry.builtin.core import ip_addresses
from traincrew.embedded.apiserver.registry.builtin.core.pods import scheduling, specs

_MIRROR = "kubernetes.io/config.mirror"
_APPARMOR = "container.apparmor.security.beta.kubernetes.io/"
_CHANGEABLE = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_LONGEST = 2147483647
_CONDITIONS = ("PodScheduled", "Ready", "Initialized")


def compare(new: Object, old: Object, errors: list[FieldError]) -> None:
    _compare_annotations(new, old, errors)
    if annotations := new["metadata"].get("annotations"):
        specs.check_annotations(annotations, new["spec"], "metadata.annotations", errors)
    spec, before = new["spec"], old["spec"]
    for kind in ("containers", "initContainers"):
        if not _compare_containers(spec.get(kind) or (), before.get(kind) or (), f"spec.{kind}", errors):
            return
    _compare_deadline(spec.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds"), errors)
    _compare_tolerations(spec.get("tolerations") or [], before.get("tolerations") or [], errors)
    _compare_gates(spec.get("schedulingGates") or [], before.get("schedulingGates") or [], errors)
    if spec != before and not _same_but_for_allowed(spec, before, errors):
        message = f"pod updates may not change fields other than {_CHANGEABLE}\n{go_diff.between(before, spec)}"
        errors.append(field_errors.forbidden("spec", message))


def _compare_annotations(new: Object, old: Object, errors: list[FieldError]) -> None:
    after, before = new["metadata"].get("annotations") or {}, old["metadata"].get("annotations") or {}
    for key in before:
        if after.get(key) != before[key]:
            _report(key, "may not remove or update", errors)
    for key in after.keys() - before.keys():
        _report(key, "may not add", errors)


def _report(key: str, message: str, errors: list[FieldError]) -> None:
    at = f"metadata.annotations[{key}]"
    if key.startswith(_APPARMOR):
        errors.append(field_errors.forbidden(at, f"{message} AppArmor annotations"))
    if key == _MIRROR:
        errors.append(field_errors.forbidden(at, f"{message} mirror pod annotation"))


def _compare_containers(new: Sequence[Object], old: Sequence[Object], path: str, errors: list[FieldError]) -> bool:
    if len(new) != len(old):
        errors.append(field_errors.forbidden(path, "pod updates may not add or remove containers"))
        return False
    for index, container in enumerate(new):
        image = container.get("image") or ""
        if not image:
            errors.append(field_errors.required(f"{path}[{index}].image"))
        if image.strip() != image:
            errors.append(field_errors.invalid(f"{path}[{index}].image", image, "must not have leading or trailing whitespace"))
    return True


def _compare_deadline(new: int | None, old: int | None, errors: list[FieldError]) -> None:
    at = "spec.activeDeadlineSeconds"
    if new is not None:
        if not 0 <= new <= _LONGEST:
            errors.append(field_errors.invalid(at, new, name_validation.out_of_range(0, _LONGEST)))
        if old is not None and old < new:
            errors.append(field_errors.invalid(at, new, "must be less than or equal to previous value"))
    elif old is not None:
        errors.append(field_errors.invalid_formatted(at, '"null"', "must not update from a positive integer to nil value"))


def _compare_tolerations(new: list[Object], old: list[Object], errors: list[FieldError]) -> None:
    kept = [_without_seconds(toleration) for toleration in new]
    for toleration in old:
        if _without_seconds(toleration) not in kept:
            message = "existing toleration can not be modified except its tolerationSeconds"
            errors.append(field_errors.forbidden("spec.tolerations", message))
    scheduling.check_tolerations(new, "spec.tolerations", errors)


def _without_seconds(toleration: Object) -> Object:
    return {key: value for key, value in toleration.items() if key != "tolerationSeconds"}


def _compare_gates(new: list[Object], old: list[Object], errors: list[FieldError]) -> None:
    before = {gate.get("name") for gate in old}
    for index, gate in enumerate(new):
        if gate.get("name") not in before:
            message = f"only deletion is allowed, but found new scheduling gate '{gate.get('name')}'"
            errors.append(field_errors.forbidden(f"spec.schedulingGates[{index}].name", message))


def _same_but_for_allowed(new: Object, old: Object, errors: list[FieldError]) -> bool:
    munged = {**new}
    for kind in ("containers", "initContainers"):
        if munged.get(kind):
            munged[kind] = [_with_image(mine, other) for mine, other in zip(munged[kind], old[kind], strict=True)]
    for field in ("activeDeadlineSeconds", "schedulingGates", "tolerations"):
        _restore(munged, old, field)
    if old.get("terminationGracePeriodSeconds", 0) < 0 and munged.get("terminationGracePeriodSeconds") == 1:
        _restore(munged, old, "terminationGracePeriodSeconds")
    if old.get("schedulingGates"):
        _release(munged, old, errors)
    return munged == old


def _with_image(container: Object, other: Object) -> Object:
    munged = {**container}
    _restore(munged, other, "image")
    return munged


def _restore(munged: Object, old: Object, field: str) -> None:
    if field in old:
        munged[field] = old[field]
    else:
        munged.pop(field, None)


def _release(munged: Object, old: Object, errors: list[FieldError]) -> None:
    """While a pod is gated, its scheduling directives may become tighter."""
    after, before = munged.get("nodeSelector") or {}, old.get("nodeSelector") or {}
    if after != before:
        for key, value in before.items():
            if after.get(key) != value:
                message = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
                errors.append(field_errors.invalid_formatted("spec.nodeSelector", go_format.string_map(after), message))
        _restore(munged, old, "nodeSelector")
    after, before = (munged.get("affinity") or {}).get("nodeAffinity"), (old.get("affinity") or {}).get("nodeAffinity")
    if after != before:
        _compare_node_affinity(after or {}, before or {}, errors)
        affinity = {key: value for key, value in (munged.get("affinity") or {}).items() if key != "nodeAffinity"}
        if before is not None:
            affinity["nodeAffinity"] = before
        if affinity or "affinity" in old:
            munged["affinity"] = affinity
        else:
            munged.pop("affinity", None)


def _compare_node_affinity(new: Object, old: Object, errors: list[FieldError]) -> None:
    at = f"spec.affinity.nodeAffinity.{scheduling.REQUIRED}.nodeSelectorTerms"
    after = (new.get(scheduling.REQUIRED) or {}).get("nodeSelectorTerms") or []
    before = (old.get(scheduling.REQUIRED) or {}).get("nodeSelectorTerms") or []
    if before and len(before) != len(after):
        errors.append(field_errors.invalid(at, after, "no additions/deletions to non-empty NodeSelectorTerms list are allowed"))
        return
    for index, (term, former) in enumerate(zip(after, before, strict=False)):
        if not _only_added(term, former):
            errors.append(field_errors.invalid(f"{at}[{index}]", term, "only additions are allowed (no mutations or deletions)"))


def _only_added(new: Object, old: Object) -> bool:
    if not any(old.values()):
        return not any(new.values())
    return all((new.get(field) or [])[: len(value)] == value for field, value in old.items())


def compare_status(new: Object, old: Object, errors: list[FieldError]) -> None:
    _compare_annotations(new, old, errors)
    if annotations := new["metadata"].get("annotations"):
        specs.check_annotations(annotations, new["spec"], "metadata.annotations", errors)
    status, before = new["status"], old.get("status") or {}
    for index, condition in enumerate(status.get("conditions") or ()):
        if (kind := condition.get("type") or "") not in _CONDITIONS:
            at = f"metadata.conditions[{index}].Type"
            errors += [field_errors.invalid(at, kind, error) for error in name_validation.qualified_name(kind)]
    nominated = status.get("nominatedNodeName")
    if nominated and nominated != before.get("nominatedNodeName"):
        errors += [
            field_errors.invalid("status.nominatedNodeName", nominated, error)
            for error in name_validation.dns_subdomain(nominated)
        ]
    if status.get("qosClass") != before.get("qosClass"):
        errors.append(field_errors.invalid("status.qosClass", status.get("qosClass") or "", "field is immutable"))
    _compare_states(status, before, old["spec"], errors)
    _check_addresses(status, errors)


def _compare_states(status: Object, before: Object, spec: Object, errors: list[FieldError]) -> None:
    policy = spec.get("restartPolicy")
    sidecars = {
        container.get("name") for container in spec.get("initContainers") or () if container.get("restartPolicy") == "Always"
    }
    groups: tuple[tuple[str, str | None, set[str | None]], ...] = (
        ("containerStatuses", policy, set()),
        ("initContainerStatuses", policy, sidecars),
    )
    for field, restarts, free in (*groups, ("ephemeralContainerStatuses", "Never", set[str | None]())):
        now = {container.get("name"): container.get("state") or {} for container in status.get(field) or ()}
        for index, former in enumerate(before.get(field) or () if restarts != "Always" else ()):
            ended, name = (former.get("state") or {}).get("terminated"), former.get("name")
            if ended is None or name in free or (ended.get("exitCode") and restarts == "OnFailure"):
                continue
            if name in now and "terminated" not in now[name]:
                message = "may not be transitioned to non-terminated state"
                errors.append(field_errors.forbidden(f"status.{field}[{index}].state", message))


def _check_addresses(status: Object, errors: list[FieldError]) -> None:
    pods = [entry.get("ip") or "" for entry in status.get("podIPs") or ()]
    for index, address in enumerate(pods):
        ip_addresses.check(address, f"status.podIPs[{index}]", errors)
    if len(pods) > 1 and (len(pods) > 2 or not ip_addresses.is_dual_stack(pods)):
        message = "may specify no more than one IP for each IP family"
        shown = ", ".join(f"core.PodIP{{IP:{go_format.quote(entry)}}}" for entry in pods)
        errors.append(field_errors.invalid_formatted("status.podIPs", f"[]core.PodIP{{{shown}}}", message))
    hosts = [entry.get("ip") or "" for entry in status.get("hostIPs") or ()]
    if hosts and status.get("hostIP") != hosts[0]:
        errors.append(field_errors.invalid("status.hostIPs[0].ip", hosts[0], "must be equal to `hostIP`"))
    for index, address in enumerate(hosts):
        ip_addresses.check(address, f"status.hostIPs[{index}]", errors)
