"""A job of each kind with Services, with all roles of the kind."""

from __future__ import annotations

from typing import Any

import pytest
from tests.cluster import manifests
from tests.cluster.manifests import Object

REPLICAS: dict[str, dict[str, int]] = {
    "TFJob": {"Chief": 1, "Evaluator": 1, "PS": 2, "Worker": 3},
    "PyTorchJob": {"Master": 1, "Worker": 2},
    "XGBoostJob": {"Master": 1, "Worker": 2},
    "PaddleJob": {"Master": 2, "Worker": 2},
    "JAXJob": {"Worker": 3},
}
PORTS = {
    "TFJob": ("tfjob-port", 2222),
    "PyTorchJob": ("pytorchjob-port", 23456),
    "XGBoostJob": ("xgboostjob-port", 9999),
    "PaddleJob": ("master", 36543),
    "JAXJob": ("jaxjob-port", 6666),
}

every_kind = pytest.mark.parametrize("kind", REPLICAS)


def replicas(kind: str) -> list[tuple[str, int]]:
    """Role in lower case and index of every replica."""
    return [(role.lower(), index) for role, count in REPLICAS[kind].items() for index in range(count)]


def names(kind: str, job: str = "j") -> set[str]:
    return {f"{job}-{role}-{index}" for role, index in replicas(kind)}


def job(kind: str, policy: str | None = None, run: Object | None = None, name: str = "j", **container: Any) -> Object:
    """A job with all roles of the kind. Keywords are further fields of every training container."""
    roles: Object = {role: manifests.replicas(kind, count, policy, **container) for role, count in REPLICAS[kind].items()}
    return manifests.job(kind, name, run=run, **roles)


def workers(kind: str, count: int, policy: str | None = None, name: str = "j", **container: Any) -> Object:
    """A job with this number of workers, and a master if the kind requires one."""
    roles: Object = {"Worker": manifests.replicas(kind, count, policy, **container)}
    if kind == "XGBoostJob":
        roles["Master"] = manifests.replicas(kind, 1, policy, **container)
    return manifests.job(kind, name, **roles)
