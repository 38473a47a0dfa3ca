"""Validation rules (x-kubernetes-validations): compiled once, evaluated against a value and its old value.

The library is Google's CEL. It is imported with the first rule.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Iterator
from typing import Any

from traincrew.apimachinery import field_errors, json_equality
from traincrew.apimachinery.field_errors import FieldError
from traincrew.apimachinery.structural.schemas import NOTHING, VALIDATIONS, Structure
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.schema import cel_library, floats

_OPTIONAL_OLD = "cel.bind(oldSelf, size(oldSelves) > 0 ? optional.of(oldSelves[0]) : optional.none(), {})"
_NO_MATCH = "No matching overloads found"
_TIMES = {"date-time": "timestamp", "datetime": "timestamp", "duration": "duration", "byte": "base64.decode"}
"""Formats whose values are not strings in CEL, and the function that converts them."""
_RESERVED = {
    "true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop",
    "package", "namespace", "return", "var", "void", "while",
}  # fmt: skip
MAX_MESSAGE = 5120


@dataclasses.dataclass(frozen=True)
class Rule:
    text: str
    program: Any
    uses_old: bool
    optional_old: bool = False
    message: str = ""
    message_program: Any = None
    reason: str = ""
    field_path: str = ""
    parts: frozenset[str] | None = None
    """The fields that the rule reads; None if it may read any."""
    inner_parts: frozenset[str] | None = None
    """The fields that the rule reads of the values of a map, for a rule that iterates over keys."""

    @property
    def named(self) -> str:
        return self.message or self.text


class CompileError(ValueError):
    """The library cannot compile a rule."""


@functools.cache
def _environment() -> Any:
    from cel_expr_python import cel
    from cel_expr_python.ext import ext_bindings, ext_encoders, ext_math, ext_optional, ext_strings

    extensions = [
        ext_strings.ExtStrings(),
        ext_optional.ExtOptional(),
        ext_bindings.ExtBindings(),
        ext_math.ExtMath(),
        ext_encoders.ExtEncoders(),
    ]
    variables = dict.fromkeys(("self", "oldSelf", "oldSelves"), cel.Type.DYN)
    return cel.NewEnv(variables=variables, extensions=extensions, functions=cel_library.declarations(cel))


def compile_rule(entry: Object, node: Structure) -> Rule:
    """Raises CompileError."""
    text = entry["rule"].strip()
    optional, uses_old = bool(entry.get("optionalOldSelf")), re.search(r"\boldSelf\b", text) is not None
    typed = _with_times(text, node)
    program = _program(_OPTIONAL_OLD.format(typed) if optional and uses_old else typed)
    if program.return_type().name() not in ("BOOL", "DYN"):
        raise CompileError("must evaluate to a bool")
    expression = entry.get("messageExpression", "")
    return Rule(
        text=text,
        program=program,
        uses_old=uses_old,
        optional_old=optional,
        message=entry.get("message", "").strip(),
        message_program=_program(_with_times(expression, node)) if expression else None,
        reason=entry.get("reason", ""),
        field_path=entry.get("fieldPath", ""),
        parts=_parts(f"{text} {expression}"),
        inner_parts=_inner_parts(f"{text} {expression}") if node.extra is not None else None,
    )


def _program(text: str) -> Any:
    environment = _environment()
    try:
        return environment.compile(text)
    except RuntimeError as error:
        raise CompileError(str(error).removeprefix("INVALID_ARGUMENT: ").partition(" [INVALID_ARGUMENT]")[0]) from None


def _parts(text: str) -> frozenset[str] | None:
    used = re.findall(r"\b(?:self|oldSelf)\b(\.[a-zA-Z_]\w*(?!\w|\())?", text)
    return frozenset(part[1:] for part in used) if all(used) else None


_OVER_KEYS = re.compile(r"\b(?:self|oldSelf)(?:\.(?:all|exists|exists_one|filter)\(\s*\w+\s*,|\[\w+\]\.([a-zA-Z_]\w*)(?![\w(]))")


def _inner_parts(text: str) -> frozenset[str] | None:
    used = _OVER_KEYS.findall(text)
    return frozenset(part for part in used if part) if len(used) == len(re.findall(r"\b(?:self|oldSelf)\b", text)) else None


def _with_times(text: str, node: Structure) -> str:
    """The library accepts no times as input: the rule converts such a field where it reads it."""
    for path, function in _timed(node, "self"):
        for name in (path, re.sub(r"^self", "oldSelf", path)):
            pattern = rf"(?<![\w.])(?<!has\(){re.escape(name)}(?![\w(]|\.matches|\.size)"
            text = re.sub(pattern, f"{function}({name})", text)
    return text


def _timed(node: Structure, path: str, depth: int = 0) -> Iterator[tuple[str, str]]:
    if function := _TIMES.get(node.schema.get("format", "")):
        yield path, function
    if depth < 8:
        for key, inner in node.properties.items():
            yield from _timed(inner, f"{path}.{escaped(key)}", depth + 1)


def rules(node: Structure) -> list[Rule | str]:
    """The compiled rules of a node; for a rule that cannot be compiled, the reason."""
    if node.rules is None:
        node.rules = [_compiled(entry, node) for entry in node.schema.get(VALIDATIONS, ()) if entry.get("rule", "").strip()]
    compiled: list[Rule | str] = node.rules
    return compiled


def _compiled(entry: Object, node: Structure) -> Rule | str:
    try:
        return compile_rule(entry, node)
    except CompileError as error:
        return f"{entry['rule'].strip()}: {error}"


def compile_errors(node: Structure) -> Iterator[str]:
    """The errors of rules of a schema that cannot be compiled. Such rules are not enforced."""
    yield from (each for each in rules(node) if isinstance(each, str))
    for part in (*node.properties.values(), node.extra, node.items, *node.all_of):
        if part is not None and part.has_rules:
            yield from compile_errors(part)


def check(value: Any, node: Structure, path: str = "", old: Any = NOTHING) -> list[FieldError]:
    """The errors that the rules of a schema report. A transition rule runs only if there is an old value."""
    errors: list[FieldError] = []
    _walk(value, node, path, old, errors)
    return errors


def _walk(value: Any, node: Structure, path: str, old: Any, errors: list[FieldError]) -> None:
    if value is None or not node.has_rules:
        return
    if node.schema.get(VALIDATIONS):
        _evaluate(value, node, path, old, errors)
    for each in node.all_of:
        _walk(value, each, path, old, errors)
    if value.__class__ is list and node.items is not None:
        was = node.counterparts(old)
        for index, inner in enumerate(value):
            _walk(inner, node.items, f"{path}[{index}]", was(inner), errors)
    elif value.__class__ is dict:
        before = old if isinstance(old, dict) else {}
        for key, inner in value.items():
            child = node.child(key)
            if child is not None and child.has_rules:
                field_path = f"{path}.{key}" if path else key
                _walk(inner, child, field_path if key in node.properties else f"{path}[{key}]", before.get(key, NOTHING), errors)


def _evaluate(value: Any, node: Structure, path: str, old: Any, errors: list[FieldError]) -> None:
    known = old is not NOTHING and old is not None
    unchanged = known and json_equality.deep_equal(old, value)
    for rule in rules(node):
        if isinstance(rule, str) or (rule.uses_old and not known and not rule.optional_old):
            continue
        given = {"self": _to_cel(value, node, rule, root=not path)}
        if rule.uses_old:
            before = [_to_cel(old, node, rule, root=not path)] if known else []
            given |= {"oldSelves": before} if rule.optional_old else {"oldSelf": before[0]}
        error = _integral_float_error(given, node, rule, path) or _evaluate_rule(rule, given, node, path)
        if error is not None and (rule.uses_old or not unchanged):
            errors.append(error)


def _integral_float_error(given: Object, node: Structure, rule: Rule, path: str) -> FieldError | None:
    """A rule that reads 1.0 where the schema has an integer fails with invalid data. (The schema accepts 1.0.)

    The rule reads the value if its result depends on the value.
    """
    value = given["self"]
    if not floats.has_integral_floats(value, node):
        return None
    verdicts = {rule.program.eval(data={**given, "self": each}).value() is True for each in floats.variants(value, node)}
    if len(verdicts) == 1:
        return None
    message = f"invalid data, expected int, got float64 evaluating rule: {rule.named}"
    return field_errors.invalid(path or "<nil>", node.schema.get("type", ""), message)


def _evaluate_rule(rule: Rule, given: Object, node: Structure, path: str) -> FieldError | None:
    kind, error_path = node.schema.get("type", ""), path or "<nil>"
    result = rule.program.eval(data=given)
    verdict = result.value()
    if verdict is True:
        return None
    if result.type().name() == "ERROR":
        return field_errors.invalid(error_path, kind, _error_message(str(verdict), rule))
    if rule.field_path:
        error_path = f"{path}{rule.field_path}" if path else rule.field_path.removeprefix(".")
    return _field_error(rule, error_path, kind, _message(rule, given))


def _field_error(rule: Rule, path: str, kind: str, message: str) -> FieldError:
    match rule.reason:
        case field_errors.FORBIDDEN:
            return field_errors.forbidden(path, message)
        case field_errors.REQUIRED:
            return field_errors.required(path, message)
        case field_errors.DUPLICATE:
            return field_errors.duplicate(path, kind)
    return field_errors.invalid(path, kind, message)


def _message(rule: Rule, given: Object) -> str:
    if rule.message_program is not None:
        message = rule.message_program.eval(data=given).value()
        if isinstance(message, str) and 0 < len(message.strip()) <= MAX_MESSAGE and "\n" not in message.strip():
            return message.strip()
    return rule.message or f"failed rule: {rule.text}"


def _error_message(error: str, rule: Rule) -> str:
    if match := re.search(r'Key not found in map : "?(.*?)"?$', error):
        return f"no such key: {match[1]} evaluating rule: {rule.named}"
    if match := re.search(r"Index error: index=(-?\d+)", error):
        return f"index out of bounds: {match[1]} evaluating rule: {rule.named}"
    if _NO_MATCH in error:
        message = "call arguments did not match a supported operator, function or macro signature for rule"
        return f"'no such overload': {message}: {rule.named}"
    words = re.sub(r"^[A-Z_]+: ", "", error).replace("divide by zero", "division by zero")
    return f"{words} evaluating rule: {rule.named}"


def _to_cel(value: Any, node: Structure, rule: Rule, root: bool) -> Any:
    """The value as CEL sees it: of the metadata only the names, and only the fields that the rule reads."""
    if value.__class__ is not dict:
        return _converted(value, node)
    if root:
        meta = value.get("metadata")
        named = {key: meta[key] for key in ("name", "generateName") if key in meta} if isinstance(meta, dict) else {}
        value = {**value, "metadata": named}
    if rule.parts is not None:
        value = {key: inner for key, inner in value.items() if escaped(key) in rule.parts}
    elif rule.inner_parts is not None:
        value = {key: _selected_fields(inner, rule.inner_parts) for key, inner in value.items()}
    return _converted(value, node)


def _selected_fields(value: Any, parts: frozenset[str]) -> Any:
    return {key: inner for key, inner in value.items() if escaped(key) in parts} if isinstance(value, dict) else value


def _is_plain(node: Structure) -> bool:
    """Whether values need no conversion: all names are valid in CEL, and no integer is a float."""
    if node.as_is is None:
        parts = [*node.properties.values(), *(part for part in (node.extra, node.items) if part is not None)]
        own = node.types != ("number",) and all(escaped(key) == key for key in node.properties)
        node.as_is = own and all(map(_is_plain, parts))
    return node.as_is


def _converted(value: Any, node: Structure | None) -> Any:
    if node is None or _is_plain(node):
        return value
    if value.__class__ is dict:
        declared = node.properties
        return {escaped(key) if key in declared else key: _converted(inner, node.child(key)) for key, inner in value.items()}
    if value.__class__ is list:
        return [_converted(inner, node.items) for inner in value]
    return float(value) if value.__class__ is int and node.types == ("number",) else value


@functools.lru_cache(maxsize=4096)
def escaped(name: str) -> str:
    """The escaped name of a property in CEL."""
    if name in _RESERVED:
        return f"__{name}__"
    if re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_]*", name) and "__" not in name:
        return name
    for character, word in (("__", "underscores"), (".", "dot"), ("-", "dash"), ("/", "slash")):
        name = name.replace(character, f"\0{word}\0")
    return name.replace("\0", "__")
