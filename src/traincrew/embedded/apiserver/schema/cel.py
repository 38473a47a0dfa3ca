"""Evaluation of validation rules (x-kubernetes-validations) against a value and its old value, within a budget."""

from __future__ import annotations

import re
from typing import Any

from traincrew.apimachinery import field_errors, json_equality
from traincrew.apimachinery.field_errors import FieldError, FieldErrors
from traincrew.apimachinery.structural.schemas import NOTHING, VALIDATIONS, Structure
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.schema import cel_cost, cel_rules, cel_values, floats
from traincrew.embedded.apiserver.schema.cel_rules import Program, ValidationRule, compile_errors

__all__ = ["check", "compile_errors"]

MAX_MESSAGE = 5120
_NO_MATCH = "No matching overloads found"
_OUT_OF_BUDGET = "validation failed due to running out of cost budget, no further validation rules will be run"


def check(value: Any, node: Structure, path: str = "", old: Any = NOTHING) -> list[FieldError]:
    """The errors that the rules of a schema report. A transition rule runs only if there is an old value."""
    validation = _Validation()
    try:
        validation.walk(value, node, path, old)
    except _OutOfBudget as exceeded:
        validation.errors.append(field_errors.invalid(exceeded.path, exceeded.type, _OUT_OF_BUDGET))
    return validation.errors


class _OutOfBudget(Exception):
    def __init__(self, path: str, type: str) -> None:
        super().__init__(path)
        self.path, self.type = path, type


class _BudgetExceeded(Exception):
    """The rules of the object cost more than one object may."""


class _Validation:
    """The rules of one object."""

    def __init__(self) -> None:
        self.errors = FieldErrors()
        self._budget: float = cel_cost.BUDGET

    def walk(self, value: Any, node: Structure, path: str, old: Any) -> None:
        if value is None or not node.has_rules:
            return
        if node.schema.get(VALIDATIONS):
            self._evaluate(value, node, path, old)
        for each in node.all_of:
            self.walk(value, each, path, old)
        if value.__class__ is list and node.items is not None:
            old_item_of = node.counterparts(old)
            for index, inner in enumerate(value):
                self.walk(inner, node.items, f"{path}[{index}]", old_item_of(inner))
        elif value.__class__ is dict:
            old_fields = old if isinstance(old, dict) else {}
            for key, inner in value.items():
                child = node.child(key)
                if child is not None and child.has_rules:
                    field_path = f"{path}.{key}" if path else key
                    self.walk(
                        inner, child, field_path if key in node.properties else f"{path}[{key}]", old_fields.get(key, NOTHING)
                    )

    def _evaluate(self, value: Any, node: Structure, path: str, old: Any) -> None:
        known = old is not NOTHING and old is not None
        unchanged = known and json_equality.deep_equal(old, value)
        has_floats = floats.has_integral_floats(value, node)
        for rule in cel_rules.rules(node):
            if isinstance(rule, str) or (rule.uses_old and not known and not rule.optional_old):
                continue
            given = {"self": cel_values.to_cel(value, node, rule, root=not path)}
            if rule.uses_old:
                before = [cel_values.to_cel(old, node, rule, root=not path)] if known else []
                given |= {"oldSelves": before} if rule.optional_old else {"oldSelf": before[0]}
            try:
                error = self._integral_float_error(given, node, rule, path) if has_floats else None
                error = error or self._evaluate_rule(rule, given, node, path)
            except _BudgetExceeded:
                raise _OutOfBudget(path or "<nil>", node.schema.get("type", "")) from None
            if error is not None and (rule.uses_old or not unchanged):
                self.errors.append(error)

    def _integral_float_error(self, given: Object, node: Structure, rule: ValidationRule, path: str) -> FieldError | None:
        """A rule that reads 1.0 where the schema has an integer fails with invalid data. (The schema accepts 1.0.)

        The rule reads the value if its result depends on the value.
        """
        value = given["self"]
        if not floats.has_integral_floats(value, node):
            return None
        verdicts = {self._eval(rule.program, {**given, "self": each}).value() is True for each in floats.variants(value, node)}
        if len(verdicts) == 1:
            return None
        message = f"invalid data, expected int, got float64 evaluating rule: {rule.named}"
        return field_errors.invalid(path or "<nil>", node.schema.get("type", ""), message)

    def _evaluate_rule(self, rule: ValidationRule, given: Object, node: Structure, path: str) -> FieldError | None:
        kind, error_path = node.schema.get("type", ""), path or "<nil>"
        result = self._eval(rule.program, given)
        verdict = result.value()
        if verdict is True:
            return None
        if result.type().name() == "ERROR":
            return field_errors.invalid(error_path, kind, _error_message(str(verdict), rule))
        if rule.field_path:
            error_path = f"{path}{rule.field_path}" if path else rule.field_path.removeprefix(".")
        return _field_error(rule, error_path, kind, self._message(rule, given))

    def _eval(self, program: Program, given: Object) -> Any:
        self._budget -= program.cost.cost(given)
        if self._budget < 0:
            raise _BudgetExceeded
        try:
            return program.compiled.eval(data=given)
        except RuntimeError as error:  # the library has no type for this error
            if "budget exceeded" not in str(error):
                raise
            raise _BudgetExceeded from None

    def _message(self, rule: ValidationRule, given: Object) -> str:
        if rule.message_program is not None:
            message = self._eval(rule.message_program, given).value()
            if isinstance(message, str) and 0 < len(message.strip()) <= MAX_MESSAGE and "\n" not in message.strip():
                return message.strip()
        return rule.message or f"failed rule: {rule.text}"


def _field_error(rule: ValidationRule, path: str, kind: str, message: str) -> FieldError:
    match rule.reason:
        case field_errors.FORBIDDEN:
            return field_errors.forbidden(path, message)
        case field_errors.REQUIRED:
            return field_errors.required(path, message)
        case field_errors.DUPLICATE:
            return field_errors.duplicate(path, kind)
    return field_errors.invalid(path, kind, message)


def _error_message(error: str, rule: ValidationRule) -> str:
    if match := re.search(r'Key not found in map : "?(.*?)"?$', error):
        return f"no such key: {match[1]} evaluating rule: {rule.named}"
    if match := re.search(r"Index error: index=(-?\d+)", error):
        return f"index out of bounds: {match[1]} evaluating rule: {rule.named}"
    if _NO_MATCH in error:
        message = "call arguments did not match a supported operator, function or macro signature for rule"
        return f"'no such overload': {message}: {rule.named}"
    words = re.sub(r"^[A-Z_]+: ", "", error).replace("divide by zero", "division by zero")
    return f"{words} evaluating rule: {rule.named}"
