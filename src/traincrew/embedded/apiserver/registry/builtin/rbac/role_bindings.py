"""Role bindings and cluster role bindings."""

from __future__ import annotations

from traincrew.apimachinery import field_errors, go_format, name_validation
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.registry.builtin.strategy import Errors, Strategy

GROUP = "rbac.authorization.k8s.io"
_SUBJECTS = ("ServiceAccount", "User", "Group")


def _default(obj: Object) -> None:
    if not obj["roleRef"].get("apiGroup"):
        obj["roleRef"]["apiGroup"] = GROUP
    for subject in obj.get("subjects") or ():
        if subject.get("kind") in ("User", "Group") and not subject.get("apiGroup"):
            subject["apiGroup"] = GROUP


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


def _validate_update(new: Object, old: Object, errors: Errors) -> None:
    if new["roleRef"] != old["roleRef"]:
        reference = new["roleRef"]
        quoted = (f"{field}:{go_format.quote(reference.get(key) or '')}" for field, key in _REFERENCE)
        errors.append(field_errors.invalid_formatted("roleRef", f"rbac.RoleRef{{{', '.join(quoted)}}}", "cannot change roleRef"))


_REFERENCE = (("APIGroup", "apiGroup"), ("Kind", "kind"), ("Name", "name"))
ROLE_BINDING = Strategy(
    kind="RoleBinding",
    allow_create_on_update=True,
    naming=name_validation.path_segment,
    defaults=_default,
    validation=_validate_binding,
    update_validation=_validate_update,
    update_validation_steps=("whole", "whole", "meta", "compare"),
)
CLUSTER_ROLE_BINDING = Strategy(
    kind="ClusterRoleBinding",
    allow_create_on_update=True,
    namespaced=False,
    naming=name_validation.path_segment,
    defaults=_default,
    validation=_validate_cluster_binding,
    update_validation=_validate_update,
    update_validation_steps=("whole", "whole", "meta", "compare"),
)
