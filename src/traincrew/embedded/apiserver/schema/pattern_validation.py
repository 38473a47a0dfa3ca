"""Validation of the patterns in a CRD's schema: each must be a regular expression that Go accepts."""

from __future__ import annotations

from collections.abc import Iterator

from traincrew.apimachinery import field_errors
from traincrew.apimachinery.field_errors import FieldError
from traincrew.apimachinery.resource_info import Schema
from traincrew.apimachinery.structural import regular_expressions
from traincrew.embedded.apiserver.schema import schema_parts

MAX_INSTRUCTIONS = 500_000
"""Of the programs of all patterns of a schema. Each instruction takes up to a microsecond to compile."""


def check(schema: Schema, path: str) -> Iterator[FieldError]:
    messages: dict[str, str] = {}
    size = 0
    for part, part_path in schema_parts.parts(schema, path):
        pattern = part.get("pattern")
        if not pattern:
            continue
        if size > MAX_INSTRUCTIONS:
            yield field_errors.forbidden(f"{part_path}.pattern", "the patterns of the schema are too large")
            return
        if pattern not in messages:
            messages[pattern], compiled = _compile(pattern)
            size += compiled + regular_expressions.parsing_cost(pattern)
        if messages[pattern]:
            message = f"must be a valid regular expression, but isn't: {messages[pattern]}"
            yield field_errors.invalid(f"{part_path}.pattern", pattern, message)


def _compile(pattern: str) -> tuple[str, int]:
    """The error of a pattern, and the size of its program."""
    try:
        return "", regular_expressions.compile_pattern(pattern).size
    except regular_expressions.PatternError as error:
        return str(error), error.size
