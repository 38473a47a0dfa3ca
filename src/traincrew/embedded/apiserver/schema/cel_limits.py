"""Limits of the validation rules in one schema."""

from __future__ import annotations

import re

from traincrew.apimachinery.resource_info import Schema
from traincrew.apimachinery.structural.schemas import VALIDATIONS
from traincrew.embedded.apiserver.schema import schema_parts

MAX_TOKENS = 50_000
"""Of all rules and message expressions. Each takes four microseconds to compile."""
_RULE = 10
"""Tokens that every rule counts as, in addition."""
_TOKEN = re.compile(r"'[^']*'|\"[^\"]*\"|\w+|[^\w\s]")


def count_tokens(schema: Schema) -> int:
    entries = [entry for part, _ in schema_parts.parts(schema, "") for entry in part.get(VALIDATIONS) or ()]
    texts = (text for entry in entries for text in (entry.get("rule"), entry.get("messageExpression")) if text)
    return sum(_RULE + len(_TOKEN.findall(text)) for text in texts)
