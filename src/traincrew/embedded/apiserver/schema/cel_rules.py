"""Compilation of validation rules (x-kubernetes-validations). The library is Google's CEL; it is imported with the first rule."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Iterator
from typing import Any

from traincrew.apimachinery.structural.schemas import VALIDATIONS, Structure
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.schema import cel_cost, cel_library, cel_names, cel_syntax
from traincrew.embedded.apiserver.schema.cel_cost import CostModel

_OPTIONAL_OLD = "cel.bind(oldSelf, size(oldSelves) > 0 ? optional.of(oldSelves[0]) : optional.none(), {})"
_TIMES = {"date-time": "timestamp", "datetime": "timestamp", "duration": "duration", "byte": "base64.decode"}
"""Formats whose values are not strings in CEL, and the function that converts them."""
_READ = re.compile(r"(?<![\w.])(?<!has\()(?:self|oldSelf)\b(?:\.[a-zA-Z_]\w*)*")
"""A value that a rule reads, with the member functions that it calls."""


@dataclasses.dataclass(frozen=True)
class Program:
    compiled: Any
    cost: CostModel


@dataclasses.dataclass(frozen=True)
class ValidationRule:
    text: str
    program: Program
    uses_old: bool
    optional_old: bool = False
    message: str = ""
    message_program: Program | None = None
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
    """The library cannot compile a rule, or its cost cannot be estimated."""


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


def compile_rule(entry: Object, node: Structure) -> ValidationRule:
    """Raises CompileError."""
    text = entry["rule"].strip()
    optional, uses_old = bool(entry.get("optionalOldSelf")), re.search(r"\boldSelf\b", text) is not None
    typed = _with_times(text, node)
    program = _program(_OPTIONAL_OLD.format(typed) if optional and uses_old else typed)
    if program.compiled.return_type().name() not in ("BOOL", "DYN"):
        raise CompileError("must evaluate to a bool")
    expression = entry.get("messageExpression", "")
    return ValidationRule(
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


def _program(text: str) -> Program:
    environment = _environment()
    try:
        compiled = environment.compile(text)
    except RuntimeError as error:
        raise CompileError(str(error).removeprefix("INVALID_ARGUMENT: ").partition(" [INVALID_ARGUMENT]")[0]) from None
    cost = CostModel(cel_syntax.decode(compiled.serialize()))
    if cost.complexity > cel_cost.MAX_COMPLEXITY:
        raise CompileError("the rule is too complex")
    return Program(compiled, cost)


def _parts(text: str) -> frozenset[str] | None:
    used = re.findall(r"\b(?:self|oldSelf)\b(\.[a-zA-Z_]\w*(?!\w|\())?", text)
    return frozenset(part[1:] for part in used) if all(used) else None


_OVER_KEYS = re.compile(r"\b(?:self|oldSelf)(?:\.(?:all|exists|exists_one|filter)\(\s*\w+\s*,|\[\w+\]\.([a-zA-Z_]\w*)(?![\w(]))")


def _inner_parts(text: str) -> frozenset[str] | None:
    used = _OVER_KEYS.findall(text)
    return frozenset(part for part in used if part) if len(used) == len(re.findall(r"\b(?:self|oldSelf)\b", text)) else None


def _with_times(text: str, node: Structure) -> str:
    """The library accepts no times as input: the rule converts such a field where it reads it."""
    if node.timed is None:
        node.timed = dict(_timed(node, "self"))
    timed: dict[str, str] = node.timed
    return _READ.sub(lambda match: _converted(match, timed), text) if timed else text


def _converted(match: re.Match[str], timed: dict[str, str]) -> str:
    name, rest = match[0], ""
    while name and f"self{name.removeprefix('oldSelf').removeprefix('self')}" not in timed:
        name, _, last = name.rpartition(".")
        rest = f".{last}{rest}"
    called = not rest and match.string[match.end() : match.end() + 1] == "("
    if not name or called or rest.startswith((".matches", ".size")):
        return match[0]
    function = timed[f"self{name.removeprefix('oldSelf').removeprefix('self')}"]
    return f"{function}({name}){rest}"


def _timed(node: Structure, path: str, depth: int = 0) -> Iterator[tuple[str, str]]:
    if function := _TIMES.get(node.schema.get("format", "")):
        yield path, function
    if depth < 8:
        for key, inner in node.properties.items():
            yield from _timed(inner, f"{path}.{cel_names.escaped(key)}", depth + 1)


def rules(node: Structure) -> list[ValidationRule | str]:
    """The compiled rules of a node; for a rule that cannot be compiled, the reason."""
    if node.rules is None:
        node.rules = [_compiled(entry, node) for entry in node.schema.get(VALIDATIONS, ()) if entry.get("rule", "").strip()]
    compiled: list[ValidationRule | str] = node.rules
    return compiled


def _compiled(entry: Object, node: Structure) -> ValidationRule | str:
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
