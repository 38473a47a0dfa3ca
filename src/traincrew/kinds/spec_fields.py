"""Annotations of a kind's own spec fields, from which the schema of the CRD derives."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

Metric = Annotated[dict[str, Any], msgspec.Meta(extra_json_schema={"$ref": "MetricSpec"})]
"""A metric of a HorizontalPodAutoscaler. The CRD takes its schema from Kubernetes."""


def described(text: str) -> msgspec.Meta:
    """The description of a field, which `kubectl explain` shows."""
    return msgspec.Meta(description=text)
