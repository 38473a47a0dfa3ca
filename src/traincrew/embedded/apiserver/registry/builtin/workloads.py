"""Deployments, replica sets, stateful sets, daemon sets and replication controllers."""

from __future__ import annotations

from typing import Any

from traincrew.apimachinery import field_errors, go_format, label_selectors, name_validation
from traincrew.apimachinery.object_metadata import IMMUTABLE, MUST_NOT_BE_NEGATIVE
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.registry.builtin import persistent_volume_claims
from traincrew.embedded.apiserver.registry.builtin.pods import defaults, disabled_fields, specs, warnings
from traincrew.embedded.apiserver.registry.builtin.strategy import Errors, Strategy
from traincrew.embedded.apiserver.registry.builtin.write_context import WriteContext

_HISTORY = 10
_TEMPLATE = "spec.template"


def _rolling(spec: Object, field: str, unavailable: Any, surge: Any) -> None:
    strategy = spec[field]
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", unavailable)
        rolling.setdefault("maxSurge", surge)


def _default_deployment(obj: Object) -> None:
    spec = obj["spec"]
    defaults.template(spec["template"])
    spec.setdefault("replicas", 1)
    _rolling(spec, "strategy", "25%", "25%")
    spec.setdefault("revisionHistoryLimit", _HISTORY)
    spec.setdefault("progressDeadlineSeconds", 600)


def _default_replica_set(obj: Object) -> None:
    defaults.template(obj["spec"]["template"])
    obj["spec"].setdefault("replicas", 1)


def _default_daemon_set(obj: Object) -> None:
    defaults.template(obj["spec"]["template"])
    _rolling(obj["spec"], "updateStrategy", 1, 0)
    obj["spec"].setdefault("revisionHistoryLimit", _HISTORY)


def _default_stateful_set(obj: Object) -> None:
    spec = obj["spec"]
    defaults.template(spec["template"])
    spec.setdefault("podManagementPolicy", "OrderedReady")
    strategy = spec["updateStrategy"]
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
        strategy.setdefault("rollingUpdate", {})
    if strategy["type"] == "RollingUpdate" and "rollingUpdate" in strategy:
        strategy["rollingUpdate"].setdefault("partition", 0)
        strategy["rollingUpdate"].pop("maxUnavailable", None)
    policy = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    policy.setdefault("whenDeleted", "Retain")
    policy.setdefault("whenScaled", "Retain")
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", _HISTORY)
    for claim in spec.get("volumeClaimTemplates") or ():
        claim.update({"apiVersion": "v1", "kind": "PersistentVolumeClaim"})
        persistent_volume_claims.default(claim)


def _prepare_create(status: Object) -> Any:
    def create(obj: Object, _context: WriteContext) -> None:
        disabled_fields.drop(obj["spec"]["template"]["spec"])
        obj["status"] = dict(status)

    return create


def _prepare_create_daemon_set(obj: Object, _context: WriteContext) -> None:
    obj["status"] = dict.fromkeys(("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady"), 0)
    annotations = obj["metadata"].setdefault("annotations", {})
    annotations[_GENERATION] = "1"


_GENERATION = "deprecated.daemonset.template.generation"


def _prepare_update_daemon_set(new: Object, old: Object) -> None:
    """The template's generation is kept in an annotation since apps/v1."""
    former = (old["metadata"].get("annotations") or {}).get(_GENERATION, "0")
    changed = new["spec"]["template"] != old["spec"]["template"]
    new["metadata"].setdefault("annotations", {})[_GENERATION] = str(int(former) + changed)


def not_negative(spec: Object, names_: tuple[str, ...], path: str, errors: Errors) -> None:
    for field in names_:
        if (value := spec.get(field) or 0) < 0:
            errors.append(field_errors.invalid(f"{path}.{field}", value, MUST_NOT_BE_NEGATIVE))


def _check_template(obj: Object, kind: str, errors: Errors) -> None:
    template, selector = obj["spec"]["template"], obj["spec"].get("selector")
    if selector is not None and not label_selectors.is_valid(selector):
        errors.append(field_errors.invalid("spec.selector", selector, "invalid label selector"))
        return
    check_selected(selector, template, errors)
    specs.check_template(template, _TEMPLATE, errors)
    _check_policies(template["spec"], kind, errors)


def check_selected(selector: Object | None, template: Object, errors: Errors) -> None:
    """The selector must match the labels of the template."""
    labels = (template.get("metadata") or {}).get("labels")
    if not label_selectors.matches(selector, labels or {}):
        detail = "`selector` does not match template `labels`"
        errors.append(field_errors.invalid_formatted(f"{_TEMPLATE}.metadata.labels", go_format.string_map(labels), detail))


def _check_policies(spec: Object, kind: str, errors: Errors) -> None:
    if spec.get("restartPolicy") != "Always":
        errors.append(field_errors.not_supported(f"{_TEMPLATE}.spec.restartPolicy", spec.get("restartPolicy"), ("Always",)))
    if spec.get("activeDeadlineSeconds") is not None:
        detail = f"activeDeadlineSeconds in {kind} is not Supported"
        errors.append(field_errors.forbidden(f"{_TEMPLATE}.spec.activeDeadlineSeconds", detail))


def _check_selector(selector: Object | None, kind: str, errors: Errors) -> None:
    if selector is None:
        errors.append(field_errors.required("spec.selector"))
        return
    label_selectors.validate(selector, "spec.selector", errors)
    if label_selectors.is_empty(selector):
        shown = "v1.LabelSelector{MatchLabels:map[string]string(nil), MatchExpressions:[]v1.LabelSelectorRequirement(nil)}"
        errors.append(field_errors.invalid_formatted("spec.selector", shown, f"empty selector is invalid for {kind}"))


def check_number_or_percent(value: Any, path: str, errors: Errors) -> None:
    if isinstance(value, str):
        shown = f'intstr.IntOrString{{Type:1, IntVal:0, StrVal:"{value}"}}'
        errors += [field_errors.invalid_formatted(path, shown, error) for error in name_validation.percent(value)]
    elif value < 0:
        errors.append(field_errors.invalid(path, value, MUST_NOT_BE_NEGATIVE))


def amount(value: Any) -> int:
    if isinstance(value, int):
        return value
    return int(value[:-1]) if not name_validation.percent(value) else 0


def check_at_most_all(value: Any, path: str, errors: Errors) -> None:
    if isinstance(value, str) and amount(value) > 100:
        shown = f'intstr.IntOrString{{Type:1, IntVal:0, StrVal:"{value}"}}'
        errors.append(field_errors.invalid_formatted(path, shown, "must not be greater than 100%"))


def _validate_deployment(obj: Object, errors: Errors) -> None:
    spec = obj["spec"]
    not_negative(spec, ("replicas",), "spec", errors)
    _check_selector(spec.get("selector"), "deployment", errors)
    _check_template(obj, "ReplicaSet", errors)
    _check_strategy(spec["strategy"], errors)
    not_negative(spec, ("minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"), "spec", errors)
    deadline = spec["progressDeadlineSeconds"]
    if deadline <= (spec.get("minReadySeconds") or 0):
        errors.append(field_errors.invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds"))


def _check_strategy(strategy: Object, errors: Errors) -> None:
    kind, rolling = strategy.get("type") or "", strategy.get("rollingUpdate")
    if kind == "Recreate":
        if rolling is not None:
            detail = "may not be specified when strategy `type` is 'Recreate'"
            errors.append(field_errors.forbidden("spec.strategy.rollingUpdate", detail))
    elif kind == "RollingUpdate":
        _check_rolling(rolling or {}, errors)
    else:
        errors.append(field_errors.not_supported("spec.strategy", strategy, ("Recreate", "RollingUpdate")))


def _check_rolling(rolling: Object, errors: Errors) -> None:
    at, unavailable, surge = "spec.strategy.rollingUpdate", rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    check_number_or_percent(unavailable, f"{at}.maxUnavailable", errors)
    check_number_or_percent(surge, f"{at}.maxSurge", errors)
    if amount(unavailable) == 0 and amount(surge) == 0:
        shown = f"intstr.IntOrString{{Type:{int(isinstance(unavailable, str))}, IntVal:0, StrVal:" + (
            f'"{unavailable}"}}' if isinstance(unavailable, str) else '""}'
        )
        errors.append(field_errors.invalid_formatted(f"{at}.maxUnavailable", shown, "may not be 0 when `maxSurge` is 0"))
    check_at_most_all(unavailable, f"{at}.maxUnavailable", errors)


def _validate_replica_set(obj: Object, errors: Errors) -> None:
    not_negative(obj["spec"], ("replicas", "minReadySeconds"), "spec", errors)
    _check_selector(obj["spec"].get("selector"), "deployment", errors)
    _check_template(obj, "ReplicaSet", errors)


def _validate_daemon_set(obj: Object, errors: Errors) -> None:
    selector, template = obj["spec"].get("selector"), obj["spec"]["template"]
    label_selectors.validate(selector, "spec.selector", errors)
    check_selected(selector, template, errors)
    if selector is not None and label_selectors.is_empty(selector):
        errors.append(field_errors.invalid("spec.selector", selector, "empty selector is invalid for daemonset"))
    specs.check_template(template, _TEMPLATE, errors)
    _check_policies(template["spec"], "DaemonSet", errors)
    not_negative(obj["spec"], ("minReadySeconds", "revisionHistoryLimit"), "spec", errors)


def _validate_stateful_set(obj: Object, errors: Errors) -> None:
    spec = obj["spec"]
    if (policy := spec.get("podManagementPolicy")) not in ("OrderedReady", "Parallel"):
        errors.append(field_errors.invalid("spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'"))
    strategy = spec["updateStrategy"]
    if strategy.get("type") not in ("RollingUpdate", "OnDelete"):
        errors.append(field_errors.invalid("spec.updateStrategy", strategy, "must be 'RollingUpdate' or 'OnDelete'"))
    for field in ("whenDeleted", "whenScaled"):
        kept = spec["persistentVolumeClaimRetentionPolicy"].get(field)
        if kept not in ("Retain", "Delete"):
            at = f"spec.persistentVolumeClaimRetentionPolicy.{field}"
            errors.append(field_errors.not_supported(at, kept, ("Retain", "Delete")))
    not_negative(spec, ("replicas", "minReadySeconds"), "spec", errors)
    _check_selector(spec.get("selector"), "statefulset", errors)
    check_selected(spec.get("selector"), spec["template"], errors)
    _check_policies(spec["template"]["spec"], "StatefulSet", errors)


def _default_controller(obj: Object) -> None:
    template = obj["spec"].get("template")
    if template is not None:
        defaults.template(template)
        if labels := (template.get("metadata") or {}).get("labels"):
            obj["spec"]["selector"] = obj["spec"].get("selector") or labels
            obj["metadata"]["labels"] = obj["metadata"].get("labels") or labels
    obj["spec"].setdefault("replicas", 1)


def _prepare_create_controller(obj: Object, _context: WriteContext) -> None:
    if "template" in obj["spec"]:
        disabled_fields.drop(obj["spec"]["template"]["spec"])
    obj["status"] = {"replicas": 0}


def _validate_controller(obj: Object, errors: Errors) -> None:
    spec, selector = obj["spec"], obj["spec"].get("selector")
    not_negative(spec, ("minReadySeconds",), "spec", errors)
    if not selector:
        errors.append(field_errors.required("spec.selector"))
    not_negative(spec, ("replicas",), "spec", errors)
    if "template" not in spec:
        errors.append(field_errors.required(_TEMPLATE))
        return
    if selector:
        check_selected({"matchLabels": selector}, spec["template"], errors)
    specs.check_template(spec["template"], _TEMPLATE, errors)
    _check_policies(spec["template"]["spec"], "ReplicationController", errors)


def _validate_update_controller_status(new: Object, old: Object, errors: Errors) -> None:
    _counts("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration")(new, old, errors)
    available, ready = (new["status"].get(field) or 0 for field in ("availableReplicas", "readyReplicas"))
    if available > ready:
        errors.append(field_errors.invalid("status.availableReplicas", available, "cannot be greater than readyReplicas"))


def _warnings_controller(obj: Object) -> list[str]:
    return _warnings(obj) if "template" in obj["spec"] else []


def _same_selector(new: Object, old: Object, errors: Errors) -> None:
    if new["spec"].get("selector") != old["spec"].get("selector"):
        errors.append(
            field_errors.invalid_formatted("spec.selector", go_format.label_selector(new["spec"].get("selector")), IMMUTABLE)
        )


_STATEFUL_CHANGES = (
    "replicas", "ordinals", "template", "updateStrategy", "persistentVolumeClaimRetentionPolicy", "minReadySeconds",
)  # fmt: skip


def _validate_update_stateful_set(new: Object, old: Object, errors: Errors) -> None:
    after, before = new["spec"], old["spec"]
    if any(after.get(field) != before.get(field) for field in after.keys() | before.keys() if field not in _STATEFUL_CHANGES):
        listed = ", ".join(f"'{field}'" for field in _STATEFUL_CHANGES[:-1])
        detail = f"updates to statefulset spec for fields other than {listed} and 'minReadySeconds' are forbidden"
        errors.append(field_errors.forbidden("spec", detail))


def _counts(*names_: str) -> Any:
    def compare(new: Object, _old: Object, errors: Errors) -> None:
        status = new["status"]
        not_negative(status, names_, "status", errors)
        for field in names_[1:]:
            if (value := status.get(field) or 0) > (status.get("replicas") or 0) and field != "observedGeneration":
                errors.append(field_errors.invalid(f"status.{field}", value, "cannot be greater than status.replicas"))

    return compare


def _warnings(obj: Object) -> list[str]:
    messages = warnings.name_is_a_label(obj, "this is used in Pod names and hostnames") if obj["kind"] in _NAMED else []
    return [*messages, *warnings.template(obj["spec"]["template"], _TEMPLATE)]


_NAMED = ("Deployment", "ReplicaSet", "ReplicationController")

DEPLOYMENT = Strategy(
    kind="Deployment",
    has_status=True,
    has_generation=True,
    status_keeps=("labels",),
    defaults=_default_deployment,
    create_preparation=_prepare_create({}),
    validation=_validate_deployment,
    update_validation=_same_selector,
    status_validation=_counts("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"),
    update_validation_steps=("meta", "spec", "compare"),
    warning_rules=_warnings,
)
REPLICA_SET = Strategy(
    kind="ReplicaSet",
    has_status=True,
    has_generation=True,
    defaults=_default_replica_set,
    create_preparation=_prepare_create({"replicas": 0}),
    validation=_validate_replica_set,
    update_validation=_same_selector,
    status_validation=_counts("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas"),
    update_validation_steps=("whole", "meta", "spec", "compare"),
    warning_rules=_warnings,
)
STATEFUL_SET = Strategy(
    kind="StatefulSet",
    naming=name_validation.dns_label,
    has_status=True,
    has_generation=True,
    defaults=_default_stateful_set,
    create_preparation=_prepare_create({"replicas": 0, "availableReplicas": 0}),
    validation=_validate_stateful_set,
    update_validation=_validate_update_stateful_set,
    status_validation=_counts("replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"),
    update_validation_steps=("meta", "spec", "compare"),
    warning_rules=_warnings,
)
DAEMON_SET = Strategy(
    kind="DaemonSet",
    has_status=True,
    has_generation=True,
    defaults=_default_daemon_set,
    create_preparation=_prepare_create_daemon_set,
    update_preparation=_prepare_update_daemon_set,
    validation=_validate_daemon_set,
    update_validation=_same_selector,
    update_validation_steps=("whole", "meta", "spec", "compare"),
    warning_rules=_warnings,
)
REPLICATION_CONTROLLER = Strategy(
    kind="ReplicationController",
    has_status=True,
    has_generation=True,
    defaults=_default_controller,
    create_preparation=_prepare_create_controller,
    validation=_validate_controller,
    status_validation=_validate_update_controller_status,
    update_validation_steps=("whole", "meta", "spec", "compare"),
    warning_rules=_warnings_controller,
    orphans_by_default=True,
)
