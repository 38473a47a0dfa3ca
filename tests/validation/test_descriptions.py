"""`kubectl explain` describes every field of a job, but those that Kubernetes itself describes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from traincrew.kinds import KINDS
from traincrew.validation import crds

STANDARD = ("apiVersion", "kind", "metadata")
"""The API server describes them."""
OF_KUBERNETES = ("template", "metrics")
"""The description of these fields names the kind whose fields they have."""


def undescribed(schema: dict[str, Any], path: str) -> Iterator[str]:
    if not schema.get("description"):
        yield path
    if path.rpartition(".")[2] in OF_KUBERNETES:
        return
    inner = schema.get("items") or schema.get("additionalProperties") or schema
    for name, child in inner.get("properties", {}).items():
        if name not in STANDARD or "." in path:
            yield from undescribed(child, f"{path}.{name}")


@pytest.mark.parametrize(("plural", "version"), [(kind.plural, version) for kind in KINDS for version in crds.versions(kind)])
def test_every_field_of_a_job_has_a_description(plural: str, version: str) -> None:
    schema = crds.openapi(plural, version)
    assert not list(undescribed(schema, "job"))
