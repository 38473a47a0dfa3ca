"""Request bodies: the pod of a worker as the operator creates it, and its status as a kubelet writes it."""

from __future__ import annotations

import msgspec

NOW = "2026-01-01T00:00:00Z"
ENVIRONMENT = {
    "PYTHONUNBUFFERED": "1", "MASTER_ADDR": "job-master-0", "MASTER_PORT": "23456", "PET_MASTER_ADDR": "job-master-0",
    "PET_MASTER_PORT": "23456", "PET_NNODES": "4", "WORLD_SIZE": "4", "RANK": "1", "PET_NODE_RANK": "1",
}  # fmt: skip


def pod(name: str, group: str, owned: bool = True) -> bytes:
    """Without `owned` neither the operator nor the garbage collector acts on the pod."""
    container = {
        "name": "pytorch", "image": "train:1", "command": ["python", "/train.py"], "imagePullPolicy": "IfNotPresent",
        "env": [{"name": each, "value": value} for each, value in ENVIRONMENT.items()],
        "ports": [{"name": "pytorchjob-port", "containerPort": 23456, "protocol": "TCP"}],
        "resources": {"limits": {"cpu": "2", "memory": "4Gi"}, "requests": {"cpu": "1", "memory": "2Gi"}},
    }  # fmt: skip
    owner = {
        "apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "job", "uid": "b6a4c2a0-64a5-4c0e-8d53-4b4be7a5a1c3",
        "controller": True, "blockOwnerDeletion": True,
    }  # fmt: skip
    labels = {"group": group}
    of_job = {
        "training.kubeflow.org/job-name": "job", "training.kubeflow.org/operator-name": "pytorchjob-controller",
        "training.kubeflow.org/replica-index": "1", "training.kubeflow.org/replica-type": "worker",
    }  # fmt: skip
    meta = {"name": name, "labels": labels | of_job, "ownerReferences": [owner]} if owned else {"name": name, "labels": labels}
    spec = {"restartPolicy": "Never", "containers": [container]}
    return msgspec.json.encode({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})


def status(turn: int) -> bytes:
    """Different each turn: a patch that changes nothing is not written."""
    state = {"running": {"startedAt": NOW}}
    container = {
        "name": "pytorch", "image": "train:1", "imageID": "x", "ready": True, "started": True, "restartCount": turn,
        "state": state,
    }  # fmt: skip
    ready = {"type": "Ready", "status": "True", "lastProbeTime": None, "lastTransitionTime": NOW}
    status = {"phase": "Running", "startTime": NOW, "podIP": "10.0.0.1", "conditions": [ready], "containerStatuses": [container]}
    return msgspec.json.encode({"status": status})
