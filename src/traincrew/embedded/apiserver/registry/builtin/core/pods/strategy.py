"""The strategy of pods."""

from __future__ import annotations

from traincrew.apimachinery import field_errors, name_validation, pod_resources
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.registry.builtin import go_diff
from traincrew.embedded.apiserver.registry.builtin.core.pods import defaults, disabled_fields, specs, updates, warnings
from traincrew.embedded.apiserver.registry.builtin.strategy import Errors, Strategy
from traincrew.embedded.apiserver.registry.builtin.write_context import EMPTY, WriteContext


def _default(obj: Object) -> None:
    defaults.pod(obj)
    status = obj["status"]
    if address := status.get("podIP"):
        if (status.get("podIPs") or [{}])[0].get("ip") != address:
            status["podIPs"] = [{"ip": address}]
    elif status.get("podIPs"):
        status["podIP"] = status["podIPs"][0].get("ip", "")


def _prepare_create(obj: Object, context: WriteContext) -> None:
    disabled_fields.drop(obj["spec"])
    obj["status"] = {"phase": "Pending", "qosClass": pod_resources.qos_class(obj["spec"])}
    if obj["spec"].get("schedulingGates"):
        obj["status"]["conditions"] = [_gated(context.now or None)]
    _match_labels(obj)
    _apparmor(obj)


def _gated(now: str | None) -> Object:
    return {
        "type": "PodScheduled",
        "status": "False",
        "reason": "SchedulingGated",
        "message": "Scheduling is blocked due to non-empty scheduling gates",
        "lastProbeTime": None,
        "lastTransitionTime": now,
    }


def _apparmor(obj: Object) -> None:
    """Kubelets before 1.30 read the annotation."""
    for_pod = (obj["spec"].get("securityContext") or {}).get("appArmorProfile")
    for container in (*(obj["spec"].get("initContainers") or ()), *(obj["spec"].get("containers") or ())):
        profile = (container.get("securityContext") or {}).get("appArmorProfile") or for_pod
        if profile and (annotation := _PROFILES.get(profile.get("type"), "")):
            annotations = obj["metadata"].setdefault("annotations", {})
            annotations.setdefault(f"{_APPARMOR}{container.get('name')}", annotation + (profile.get("localhostProfile") or ""))


_APPARMOR = "container.apparmor.security.beta.kubernetes.io/"
_PROFILES = {"Unconfined": "unconfined", "RuntimeDefault": "runtime/default", "Localhost": "localhost/"}


def _match_labels(obj: Object) -> None:
    """matchLabelKeys of an affinity become part of its selector, with the new pod's own values."""
    affinity, labels = obj["spec"].get("affinity"), obj["metadata"].get("labels") or {}
    for kind in ("podAffinity", "podAntiAffinity") if affinity else ():
        terms = affinity.get(kind) or {}
        required = terms.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
        preferred = terms.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        for term in (*required, *(each["podAffinityTerm"] for each in preferred)):
            _match_term(term, labels)


def _match_term(term: Object, labels: dict[str, str]) -> None:
    if term.get("labelSelector") is None:
        return
    for field, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")):
        for key in term.get(field) or ():
            if key in labels:
                expression = {"key": key, "operator": operator, "values": [labels[key]]}
                term["labelSelector"].setdefault("matchExpressions", []).append(expression)


def _prepare_update(new: Object, _old: Object) -> None:
    disabled_fields.drop(new["spec"])


def _validate(obj: Object, errors: Errors) -> None:
    specs.check_new_pod(obj, errors)


def _validate_update(new: Object, old: Object, errors: Errors) -> None:
    specs.check_pod(new, errors)
    updates.compare(new, old, errors)


def _prepare_status_update(new: Object, old: Object, _context: WriteContext) -> None:
    if not new["status"].get("qosClass") and (kept := (old.get("status") or {}).get("qosClass")):
        new["status"]["qosClass"] = kept


class PodStrategy(Strategy):
    """Pods have two more subresources that change the spec. Binding is not among them: no rules of the spec apply to it."""

    def prepare_for_update(self, new: Object, old: Object, subresource: str = "", context: WriteContext = EMPTY) -> None:
        if subresource == "ephemeralcontainers":
            added = new["spec"].get("ephemeralContainers")
            kept = {key: new["metadata"].get(key) for key in ("resourceVersion", "managedFields") if key in new["metadata"]}
            new.update({**old, "metadata": {**old["metadata"], **kept}, "spec": {**old["spec"]}})
            if added:
                disabled_fields.drop_from_containers(added)
                new["spec"]["ephemeralContainers"] = added
            return
        super().prepare_for_update(new, old, subresource, context)

    def validate_update(self, new: Object, old: Object, subresource: str = "") -> Errors:
        if subresource != "ephemeralcontainers":
            return super().validate_update(new, old, subresource)
        errors = field_errors.FieldErrors(self.validate_common(new, old))
        errors += self._check_changed_metadata(new, old) + self._check_metadata(new)
        specs.check_pod(new, errors)
        after = {each.get("name"): each for each in new["spec"].get("ephemeralContainers") or ()}
        at = "spec.ephemeralContainers"
        for former in old["spec"].get("ephemeralContainers") or ():
            name = former.get("name")
            if name not in after:
                errors.append(field_errors.forbidden(at, f'existing ephemeral containers "{name}" may not be removed\n'))
            elif after[name] != former:
                detail = f'existing ephemeral containers "{name}" may not be changed\n{go_diff.between(former, after[name])}'
                errors.append(field_errors.forbidden(at, detail))
        return errors


POD = PodStrategy(
    kind="Pod",
    naming=name_validation.dns_subdomain,
    has_status=True,
    status_keeps=("ownerReferences",),
    defaults=_default,
    create_preparation=_prepare_create,
    update_preparation=_prepare_update,
    status_preparation=_prepare_status_update,
    validation=_validate,
    update_validation=_validate_update,
    status_validation=updates.compare_status,
    update_validation_steps=("meta", "named", "compare"),
    warning_rules=warnings.pod,
)
