"""Limits of the validation rules in one definition."""

from __future__ import annotations

import re
from collections.abc import Iterable

from traincrew.apimachinery.resource_info import Schema
from traincrew.apimachinery.structural.schemas import VALIDATIONS
from traincrew.embedded.apiserver.schema import schema_parts

MAX_TOKENS = 16_000
"""Of all rules and message expressions in all versions. Each takes up to 25 microseconds to compile.

The two versions of HTTPRoute (gateway.networking.k8s.io), which has more rules than most definitions, have 8,600.
"""
_RULE = 10
"""Tokens that every rule counts as, in addition."""
_TOKEN = re.compile(r"'[^']*'|\"[^\"]*\"|\w+|[^\w\s]")


def exceeded(schemas: Iterable[Schema]) -> bool:
    """schemas: of all versions of a definition."""
    return sum(map(count_tokens, schemas)) > MAX_TOKENS


def count_tokens(schema: Schema) -> int:
    entries = [entry for part, _ in schema_parts.parts(schema, "") for entry in part.get(VALIDATIONS) or ()]
    texts = (text for entry in entries for text in (entry.get("rule"), entry.get("messageExpression")) if text)
    return sum(_RULE + len(_TOKEN.findall(text)) for text in texts)
