"""Scheduling fields of a pod: affinities, tolerations, topology spread constraints, scheduling gates."""

from __future__ import annotations

from traincrew.apimachinery import field_errors, label_selectors, name_validation
from traincrew.apimachinery.field_errors import FieldError
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.registry.builtin.core import node_selectors

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
DEFAULT_TOLERATIONS: tuple[Object, ...] = tuple(
    {"key": f"node.kubernetes.io/{state}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    for state in ("not-ready", "unreachable")
)
"""Tolerations that every pod gets."""
_POSITIVE = "must be greater than zero"
_POLICIES = ("Honor", "Ignore")


def check_affinity(affinity: Object, path: str, errors: list[FieldError]) -> None:
    if "nodeAffinity" in affinity:
        _check_node_affinity(affinity["nodeAffinity"], f"{path}.nodeAffinity", errors)
    for kind in ("podAffinity", "podAntiAffinity"):
        if kind in affinity:
            _check_pod_affinity(affinity[kind], f"{path}.{kind}", errors)


def _check_node_affinity(affinity: Object, path: str, errors: list[FieldError]) -> None:
    if REQUIRED in affinity:
        node_selectors.check(affinity[REQUIRED], f"{path}.{REQUIRED}", errors)
    for index, term in enumerate(affinity.get(PREFERRED) or ()):
        at = f"{path}.{PREFERRED}[{index}]"
        _check_weight(term.get("weight") or 0, at, errors)
        node_selectors.check_term(term.get("preference") or {}, f"{at}.preference", errors)


def _check_weight(weight: int, path: str, errors: list[FieldError]) -> None:
    if not 0 < weight <= 100:
        errors.append(field_errors.invalid(f"{path}.weight", weight, "must be in the range 1-100"))


def _check_pod_affinity(affinity: Object, path: str, errors: list[FieldError]) -> None:
    for index, term in enumerate(affinity.get(REQUIRED) or ()):
        _check_pod_term(term, f"{path}.{REQUIRED}[{index}]", errors)
    for index, weighted in enumerate(affinity.get(PREFERRED) or ()):
        at = f"{path}.{PREFERRED}[{index}]"
        _check_weight(weighted.get("weight") or 0, at, errors)
        _check_pod_term(weighted.get("podAffinityTerm") or {}, f"{at}.podAffinityTerm", errors)


def _check_pod_term(term: Object, path: str, errors: list[FieldError]) -> None:
    for field in ("labelSelector", "namespaceSelector"):
        label_selectors.validate(term.get(field), f"{path}.{field}", errors)
    for namespace in term.get("namespaces") or ():
        errors += [field_errors.invalid(f"{path}.namespace", namespace, error) for error in name_validation.dns_label(namespace)]
    _check_keys(term, path, errors)
    key = term.get("topologyKey") or ""
    if not key:
        errors.append(field_errors.required(f"{path}.topologyKey", "can not be empty"))
    errors += [field_errors.invalid(f"{path}.topologyKey", key, error) for error in name_validation.qualified_name(key)]


def _check_keys(term: Object, path: str, errors: list[FieldError]) -> None:
    for field in ("matchLabelKeys", "mismatchLabelKeys"):
        keys = term.get(field) or ()
        if keys and term.get("labelSelector") is None:
            errors.append(field_errors.forbidden(f"{path}.{field}", "must not be specified when labelSelector is not set"))
            continue
        for index, key in enumerate(keys):
            errors += [
                field_errors.invalid(f"{path}.{field}[{index}]", key, error) for error in name_validation.qualified_name(key)
            ]
    for index, key in enumerate(term.get("matchLabelKeys") or ()):
        if key in (term.get("mismatchLabelKeys") or ()):
            at = f"{path}.matchLabelKeys[{index}]"
            errors.append(field_errors.invalid(at, key, "exists in both matchLabelKeys and mismatchLabelKeys"))


def check_tolerations(tolerations: list[Object], path: str, errors: list[FieldError]) -> None:
    for index, toleration in enumerate(tolerations):
        if toleration in DEFAULT_TOLERATIONS:
            continue
        key, operator = toleration.get("key") or "", toleration.get("operator") or ""
        if key and (messages := name_validation.qualified_name(key)):
            errors += [field_errors.invalid(f"{path}[{index}].key", key, error) for error in messages]
        if not key and operator != "Exists":
            message = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            errors.append(field_errors.invalid(f"{path}[{index}].operator", operator, message))
        effect = toleration.get("effect") or ""
        if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
            message = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            errors.append(field_errors.invalid(f"{path}[{index}].effect", effect, message))
        _check_operator(operator, toleration.get("value") or "", f"{path}[{index}].operator", errors)
        if effect and effect not in EFFECTS:
            errors.append(field_errors.not_supported(f"{path}[{index}].effect", effect, EFFECTS))


def _check_operator(operator: str, value: str, path: str, errors: list[FieldError]) -> None:
    if operator in ("", "Equal"):
        if messages := name_validation.label_value(value):
            errors.append(field_errors.invalid(path, value, ";".join(messages)))
    elif operator == "Exists":
        if value:
            errors.append(field_errors.invalid(path, value, "value must be empty when `operator` is 'Exists'"))
    else:
        errors.append(field_errors.not_supported(path, operator, ("Equal", "Exists")))


def check_spread(constraints: list[Object], path: str, errors: list[FieldError]) -> None:
    for index, constraint in enumerate(constraints):
        at, key, action = f"{path}[{index}]", constraint.get("topologyKey") or "", constraint.get("whenUnsatisfiable") or ""
        if (skew := constraint.get("maxSkew") or 0) <= 0:
            errors.append(field_errors.invalid(f"{at}.maxSkew", skew, _POSITIVE))
        if not key:
            errors.append(field_errors.required(f"{at}.topologyKey", "can not be empty"))
        if action not in ("DoNotSchedule", "ScheduleAnyway"):
            errors.append(field_errors.not_supported(f"{at}.whenUnsatisfiable", action, ("DoNotSchedule", "ScheduleAnyway")))
        rest = ((each.get("topologyKey"), each.get("whenUnsatisfiable")) for each in constraints[index + 1 :])
        if (constraint.get("topologyKey"), constraint.get("whenUnsatisfiable")) in rest:
            errors.append(field_errors.duplicate(f"{at}.{{topologyKey, whenUnsatisfiable}}", f"{{{key}, {action}}}"))
        _check_domains(constraint.get("minDomains"), action, f"{at}.minDomains", errors)
        _check_inclusion(constraint, at, errors)
        label_selectors.validate(constraint.get("labelSelector"), f"{at}.labelSelector", errors)


def _check_domains(count: int | None, action: str, path: str, errors: list[FieldError]) -> None:
    if count is None:
        return
    if count <= 0:
        errors.append(field_errors.invalid(path, count, _POSITIVE))
    if action != "DoNotSchedule":
        message = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
        errors.append(field_errors.invalid(path, count, message))


def _check_inclusion(constraint: Object, path: str, errors: list[FieldError]) -> None:
    for field in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        if (policy := constraint.get(field)) not in (None, *_POLICIES):
            errors.append(field_errors.not_supported(f"{path}.{field}", policy, _POLICIES))
    keys, selector = constraint.get("matchLabelKeys") or (), constraint.get("labelSelector")
    if keys and selector is None:
        errors.append(field_errors.forbidden(f"{path}.matchLabelKeys", "must not be specified when labelSelector is not set"))
    selected = {*((selector or {}).get("matchLabels") or ())}
    selected |= {each.get("key") for each in (selector or {}).get("matchExpressions") or ()}
    for index, key in enumerate(keys):
        at = f"{path}.matchLabelKeys[{index}]"
        errors += [field_errors.invalid(at, key, error) for error in name_validation.qualified_name(key)]
        if key in selected:
            errors.append(field_errors.invalid(at, key, "exists in both matchLabelKeys and labelSelector"))


def check_gates(gates: list[Object], path: str, errors: list[FieldError]) -> None:
    seen: set[str] = set()
    for index, gate in enumerate(gates):
        name = gate.get("name") or ""
        errors += [field_errors.invalid(f"{path}[{index}]", name, error) for error in name_validation.qualified_name(name)]
        if name in seen:
            errors.append(field_errors.duplicate(f"{path}[{index}]", name))
        seen.add(name)
