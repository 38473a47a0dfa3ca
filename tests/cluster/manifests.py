"""Jobs for tests: the smallest valid one of each kind, and ways to vary it."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]

CONTAINERS = {
    "TFJob": "tensorflow", "PyTorchJob": "pytorch", "XGBoostJob": "xgboost", "PaddleJob": "paddle", "JAXJob": "jax",
    "MPIJob": "mpi",
}  # fmt: skip
FIELDS = {
    "TFJob": "tfReplicaSpecs", "PyTorchJob": "pytorchReplicaSpecs", "XGBoostJob": "xgbReplicaSpecs",
    "PaddleJob": "paddleReplicaSpecs", "JAXJob": "jaxReplicaSpecs", "MPIJob": "mpiReplicaSpecs",
}  # fmt: skip


def template(kind: str, **container: Any) -> Object:
    """A pod template with the kind's training container; keywords are further fields of that container."""
    return {"spec": {"containers": [{"name": CONTAINERS[kind], "image": "train:1", **container}]}}


def replicas(kind: str, count: int | None = 1, policy: str | None = None, **container: Any) -> Object:
    spec: Object = {"template": template(kind, **container)}
    if count is not None:
        spec["replicas"] = count
    if policy is not None:
        spec["restartPolicy"] = policy
    return spec


def job(
    kind: str, name: str = "j", version: str = "v1", run: Object | None = None, spec: Object | None = None, **roles: Any
) -> Object:
    """`job("PyTorchJob", Master=1, Worker=2)`: a number is a count, a dictionary a whole replica spec.

    `run` becomes spec.runPolicy, `spec` further fields of spec.
    """
    specs = {role: replicas(kind, value) if isinstance(value, int) else value for role, value in roles.items()}
    body: Object = {
        "apiVersion": f"kubeflow.org/{version}",
        "kind": kind,
        "metadata": {"name": name},
        "spec": {FIELDS[kind]: specs, **(spec or {})},
    }
    if run is not None:
        body["spec"]["runPolicy"] = run
    return body
