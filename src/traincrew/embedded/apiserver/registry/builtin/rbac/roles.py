"""Roles and cluster roles."""

from __future__ import annotations

from traincrew.apimachinery import field_errors, go_format, label_selectors, name_validation
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.registry.builtin.strategy import Errors, Strategy


def _check_rules(obj: Object, errors: Errors, namespaced: bool) -> None:
    for index, rule in enumerate(obj.get("rules") or ()):
        at = f"rules[{index}]"
        if not rule.get("verbs"):
            errors.append(field_errors.required(f"{at}.verbs", "verbs must contain at least one value"))
        if urls := rule.get("nonResourceURLs"):
            _check_urls(rule, urls, f"{at}.nonResourceURLs", namespaced, errors)
            continue
        if not rule.get("apiGroups"):
            errors.append(field_errors.required(f"{at}.apiGroups", "resource rules must supply at least one api group"))
        if not rule.get("resources"):
            errors.append(field_errors.required(f"{at}.resources", "resource rules must supply at least one resource"))


def _check_urls(rule: Object, urls: list[str], path: str, namespaced: bool, errors: Errors) -> None:
    shown = go_format.string_slice(urls)
    if namespaced:
        errors.append(field_errors.invalid_formatted(path, shown, "namespaced rules cannot apply to non-resource URLs"))
    if any(rule.get(field) for field in ("apiGroups", "resources", "resourceNames")):
        message = "rules cannot apply to both regular resources and non-resource URLs"
        errors.append(field_errors.invalid_formatted(path, shown, message))


def _validate_role(obj: Object, errors: Errors) -> None:
    _check_rules(obj, errors, namespaced=True)


def _validate_cluster_role(obj: Object, errors: Errors) -> None:
    _check_rules(obj, errors, namespaced=False)
    aggregation = obj.get("aggregationRule")
    if aggregation is None:
        return
    chosen = aggregation.get("clusterRoleSelectors") or ()
    if not chosen:
        message = "at least one clusterRoleSelector required if aggregationRule is non-nil"
        errors.append(field_errors.required("aggregationRule.clusterRoleSelectors", message))
    for index, selector in enumerate(chosen):
        label_selectors.validate(selector, f"aggregationRule.clusterRoleSelectors[{index}]", errors)


ROLE = Strategy(
    kind="Role", allow_create_on_update=True, naming=name_validation.path_segment, validation=_validate_role,
    update_validation_steps=("whole", "whole", "meta"),
)  # fmt: skip
CLUSTER_ROLE = Strategy(
    kind="ClusterRole",
    allow_create_on_update=True,
    namespaced=False,
    naming=name_validation.path_segment,
    validation=_validate_cluster_role,
    update_validation_steps=("whole", "whole", "meta"),
)
