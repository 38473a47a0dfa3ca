"""TFJobs for tests."""

from __future__ import annotations

from typing import Any

from tests.cluster import manifests
from tests.cluster.manifests import Object


def tfjob(policy: str | None = None, spec: Object | None = None, run: Object | None = None, **counts: int) -> Object:
    roles: Object = {role: manifests.replicas("TFJob", count, policy) for role, count in counts.items()}
    return manifests.job("TFJob", spec=spec, run=run, **roles)


def dynamic(**counts: Any) -> Object:
    return tfjob(spec={"enableDynamicWorker": True}, policy="Never", **counts)


def one(role: str) -> Object:
    return {role: 1}
