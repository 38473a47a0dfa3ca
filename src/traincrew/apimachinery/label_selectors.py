"""metav1.LabelSelector: validation of the selectors within objects, matching of labels, and text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from traincrew.apimachinery import field_errors, name_validation, object_meta_validation, selectors
from traincrew.apimachinery.field_errors import FieldError
from traincrew.apimachinery.unstructured import Object

_WITH_VALUES = ("In", "NotIn")
_WITHOUT_VALUES = ("Exists", "DoesNotExist")
_OPERATORS = {
    "In": selectors.IN, "NotIn": selectors.NOT_IN, "Exists": selectors.EXISTS, "DoesNotExist": selectors.DOES_NOT_EXIST,
    "Gt": selectors.GREATER_THAN, "Lt": selectors.LESS_THAN,
}  # fmt: skip


def validate(selector: Object | None, path: str, errors: list[FieldError]) -> None:
    if not selector:
        return
    object_meta_validation.validate_labels(selector.get("matchLabels") or {}, f"{path}.matchLabels", errors)
    for index, requirement in enumerate(selector.get("matchExpressions") or ()):
        validate_requirement(requirement, f"{path}.matchExpressions[{index}]", errors)


def validate_requirement(requirement: Object, path: str, errors: list[FieldError], *, any_operator: bool = False) -> None:
    operator, values = requirement.get("operator") or "", requirement.get("values") or ()
    if operator in _WITH_VALUES:
        if not values:
            errors.append(field_errors.required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
    elif operator in _WITHOUT_VALUES:
        if values:
            errors.append(
                field_errors.forbidden(f"{path}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
            )
    elif not any_operator:
        errors.append(field_errors.invalid(f"{path}.operator", operator, "not a valid selector operator"))
    key = requirement.get("key") or ""
    errors += [field_errors.invalid(f"{path}.key", key, error) for error in name_validation.qualified_name(key)]
    for index, value in enumerate(values):
        errors += [field_errors.invalid(f"{path}.values[{index}]", value, error) for error in name_validation.label_value(value)]


def is_valid(selector: Object) -> bool:
    errors: list[FieldError] = []
    validate(selector, "", errors)
    return not errors


def is_empty(selector: Object | None) -> bool:
    return not selector or not (selector.get("matchLabels") or selector.get("matchExpressions"))


def matches(selector: Object | None, labels: Mapping[str, str]) -> bool:
    """LabelSelectorAsSelector: a selector that is absent matches nothing, an empty one everything."""
    if selector is None:
        return False
    if any(labels.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    return all(meets(each, labels) for each in selector.get("matchExpressions") or ())


def meets(requirement: Object, labels: Mapping[str, str]) -> bool:
    """One of matchExpressions. Node selectors have Gt and Lt beside the others."""
    operator = _OPERATORS.get(requirement.get("operator") or "", "")
    return selectors.evaluate(operator, labels.get(requirement.get("key") or ""), requirement.get("values") or ())


def to_text(labels: Mapping[str, str], requirements: Iterable[tuple[str, str, Sequence[str]]]) -> str:
    """FormatLabelSelector: sorted by key. requirements: key, operator and values of matchExpressions."""
    parts = [(key, selectors.format_labels({key: value})) for key, value in labels.items()]
    parts += [(key, _requirement_text(key, operator, values)) for key, operator, values in requirements]
    return ",".join(text for _, text in sorted(parts, key=lambda part: part[0]))


def _requirement_text(key: str, operator: str, values: Sequence[str]) -> str:
    match operator:
        case "In" | "NotIn":
            return f"{key} {_OPERATORS[operator]} ({','.join(sorted(values))})"
        case "DoesNotExist":
            return f"!{key}"
    return key


def go_string(selector: Object | None) -> str:
    """LabelSelector.String of Go, which some events have."""
    if selector is None:
        return "nil"
    labels = "".join(f"{key}: {value}," for key, value in sorted((selector.get("matchLabels") or {}).items()))
    requirements = "".join(_requirement_go_string(each) for each in selector.get("matchExpressions") or ())
    expressions = f"MatchExpressions:[]LabelSelectorRequirement{{{requirements}}}"
    return f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},{expressions},}}"


def _requirement_go_string(requirement: Object) -> str:
    values = " ".join(requirement.get("values") or ())
    return f"LabelSelectorRequirement{{Key:{requirement['key']},Operator:{requirement['operator']},Values:[{values}],}},"
