"""Suggestions for unknown fields of pods. CRDs keep unknown fields of templates, because they may be newer than the schema."""

from __future__ import annotations

import re
from typing import Any

from traincrew.apimachinery import suggestions
from traincrew.validation import pod_template_schema

Schema = dict[str, Any]
_UNKNOWN = re.compile(r'unknown field "([^"]+)"')
_INDEX = re.compile(r"\[\d+\]")


def with_suggestions(message: str) -> str:
    """The message of an API server that rejects a pod, with the fields that were probably meant."""
    pod = pod_template_schema.pod()
    return _UNKNOWN.sub(lambda match: match[0] + _suggestion(match[1], pod), message)


def _suggestion(path: str, pod: Schema) -> str:
    *parents, name = _INDEX.sub("", path).split(".")
    node: Schema = pod
    for parent in parents:
        node = node.get("properties", {}).get(parent, {})
        node = node.get("items", node)
    nearest = suggestions.nearest(name, node.get("properties", ()))
    return f" (did you mean {nearest!r}?)" if nearest else ""
