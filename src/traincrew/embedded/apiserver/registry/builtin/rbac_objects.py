"""Roles and their bindings."""

from __future__ import annotations

from traincrew.apimachinery import field_errors, go_format, label_selectors, name_validation
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.registry.builtin.strategy import Errors, Strategy

GROUP = "rbac.authorization.k8s.io"
_SUBJECTS = ("ServiceAccount", "User", "Group")


def _default_binding(obj: Object) -> None:
    if not obj["roleRef"].get("apiGroup"):
        obj["roleRef"]["apiGroup"] = GROUP
    for subject in obj.get("subjects") or ():
        if subject.get("kind") in ("User", "Group") and not subject.get("apiGroup"):
            subject["apiGroup"] = GROUP


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


def _check_binding(obj: Object, errors: Errors, kinds: tuple[str, ...]) -> None:
    reference = obj["roleRef"]
    group, kind, name = reference.get("apiGroup") or "", reference.get("kind") or "", reference.get("name") or ""
    if group != GROUP:
        errors.append(field_errors.not_supported("roleRef.apiGroup", group, (GROUP,)))
    if kind not in kinds:
        errors.append(field_errors.not_supported("roleRef.kind", kind, kinds))
    if not name:
        errors.append(field_errors.required("roleRef.name"))
    else:
        errors += [field_errors.invalid("roleRef.name", name, error) for error in name_validation.path_segment(name)]
    for index, subject in enumerate(obj.get("subjects") or ()):
        _check_subject(subject, len(kinds) > 1, f"subjects[{index}]", errors)


def _check_subject(subject: Object, namespaced: bool, path: str, errors: Errors) -> None:
    kind, name, group = subject.get("kind") or "", subject.get("name") or "", subject.get("apiGroup") or ""
    if not name:
        errors.append(field_errors.required(f"{path}.name"))
    if kind == "ServiceAccount":
        if name:
            errors += [field_errors.invalid(f"{path}.name", name, error) for error in name_validation.dns_subdomain(name)]
        if group:
            errors.append(field_errors.not_supported(f"{path}.apiGroup", group, ("",)))
        if not namespaced and not subject.get("namespace"):
            errors.append(field_errors.required(f"{path}.namespace"))
    elif kind in ("User", "Group"):
        if group != GROUP:
            errors.append(field_errors.not_supported(f"{path}.apiGroup", group, (GROUP,)))
    else:
        errors.append(field_errors.not_supported(f"{path}.kind", kind, _SUBJECTS))


def _validate_binding(obj: Object, errors: Errors) -> None:
    _check_binding(obj, errors, ("Role", "ClusterRole"))


def _validate_cluster_binding(obj: Object, errors: Errors) -> None:
    _check_binding(obj, errors, ("ClusterRole",))


def _validate_update_binding(new: Object, old: Object, errors: Errors) -> None:
    if new["roleRef"] != old["roleRef"]:
        reference = new["roleRef"]
        quoted = (f"{field}:{go_format.quote(reference.get(key) or '')}" for field, key in _REFERENCE)
        errors.append(field_errors.invalid_formatted("roleRef", f"rbac.RoleRef{{{', '.join(quoted)}}}", "cannot change roleRef"))


_REFERENCE = (("APIGroup", "apiGroup"), ("Kind", "kind"), ("Name", "name"))

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
ROLE_BINDING = Strategy(
    kind="RoleBinding",
    allow_create_on_update=True,
    naming=name_validation.path_segment,
    defaults=_default_binding,
    validation=_validate_binding,
    update_validation=_validate_update_binding,
    update_validation_steps=("whole", "whole", "meta", "compare"),
)
CLUSTER_ROLE_BINDING = Strategy(
    kind="ClusterRoleBinding",
    allow_create_on_update=True,
    namespaced=False,
    naming=name_validation.path_segment,
    defaults=_default_binding,
    validation=_validate_cluster_binding,
    update_validation=_validate_update_binding,
    update_validation_steps=("whole", "whole", "meta", "compare"),
)
