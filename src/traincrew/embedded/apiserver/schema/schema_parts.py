"""All parts of the schema of a CRD, with their paths."""

from __future__ import annotations

from collections.abc import Iterator

from traincrew.apimachinery.resource_info import Schema


def parts(schema: Schema, path: str) -> Iterator[tuple[Schema, str]]:
    yield schema, path
    for keyword in ("items", "additionalProperties", "not"):
        if isinstance(schema.get(keyword), dict):
            yield from parts(schema[keyword], f"{path}.{keyword}")
    for key, inner in (schema.get("properties") or {}).items():
        yield from parts(inner, f"{path}.properties[{key}]")
    for keyword in ("anyOf", "allOf", "oneOf"):
        for index, inner in enumerate(schema.get(keyword) or ()):
            yield from parts(inner, f"{path}.{keyword}[{index}]")
