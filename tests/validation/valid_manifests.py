"""Valid jobs of every kind, rich in fields, for tests to take apart."""

from __future__ import annotations

import copy
from typing import Any

from traincrew.kinds import KINDS
from traincrew.kinds.kind import JobKind

Manifest = dict[str, Any]
BY_NAME = {kind.kind: kind for kind in KINDS}


def job(kind: JobKind, version: str = "") -> Manifest:
    """A job with every role of its kind that may stand together, and the kind's own fields."""
    roles = [role for role in kind.roles if not (kind.validation.open_roles and role.name == "Master")]
    specs = {role.name: {"replicas": 1, "restartPolicy": "Never", "template": template(kind)} for role in roles}
    return {
        "apiVersion": f"kubeflow.org/{version or kind.version}",
        "kind": kind.kind,
        "metadata": {
            "name": f"my-{kind.singular}",
            "labels": {"app": "train", "example.com/team": "vision"},
            "annotations": {"example.com/note": "any text at all"},
        },
        "spec": {kind.replicas_field: specs, "runPolicy": run_policy(), **copy.deepcopy(OWN.get(kind.kind, {}))},
    }


def jobs() -> list[Manifest]:
    """One job for each kind and each of its versions."""
    return [job(kind, version) for kind in KINDS for version in (kind.version, *kind.variants)]


OWN: dict[str, Manifest] = {
    "TFJob": {"successPolicy": "AllWorkers", "enableDynamicWorker": True, "cleanPodPolicy": "None"},
    "PyTorchJob": {
        "nprocPerNode": "auto",
        "elasticPolicy": {
            "minReplicas": 1,
            "maxReplicas": 3,
            "rdzvBackend": "c10d",
            "rdzvConf": [{"key": "a", "value": "1"}],
            "metrics": [
                {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}},
            ],
        },
    },
    "MPIJob": {"slotsPerWorker": 2, "cleanPodPolicy": "Running", "mainContainer": "mpi", "mpiImplementation": "Intel"},
    "PaddleJob": {"elasticPolicy": {"minReplicas": 1, "maxReplicas": 2, "maxRestarts": 3}},
}


def run_policy() -> Manifest:
    return {
        "cleanPodPolicy": "Running",
        "ttlSecondsAfterFinished": 60,
        "activeDeadlineSeconds": 3600,
        "backoffLimit": 3,
        "suspend": False,
        "managedBy": "kubeflow.org/training-operator",
        "schedulingPolicy": {"minAvailable": 2, "queue": "q", "minResources": {"cpu": 2, "memory": "4Gi"}},
    }


def template(kind: JobKind) -> Manifest:
    return {
        "metadata": {"labels": {"a": "b"}, "annotations": {"sidecar.istio.io/inject": "false"}},
        "spec": {
            "containers": [
                container(kind.pods.container or "main"),
                {"name": "sidecar", "image": "busybox", "args": ["-c", "true"]},
            ],
            "initContainers": [{"name": "fetch", "image": "busybox", "command": ["true"]}],
            "imagePullSecrets": [{"name": "default-secret"}],
            "nodeSelector": {"disk": "ssd"},
            "tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule", "tolerationSeconds": 5}],
            "terminationGracePeriodSeconds": 30,
            "securityContext": {"runAsUser": 1000, "fsGroup": 1000, "supplementalGroups": [1, 2]},
            "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}]},
            ]}}},
            "volumes": [
                {"name": "data", "persistentVolumeClaim": {"claimName": "data"}},
                {"name": "cfg", "configMap": {"name": "cfg", "items": [{"key": "a", "path": "b", "mode": 420}]}},
                {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}},
            ],
        },
    }  # fmt: skip


def container(name: str) -> Manifest:
    return {
        "name": name,
        "image": "registry.example.com/train:1.0",
        "imagePullPolicy": "IfNotPresent",
        "command": ["python", "train.py"],
        "args": ["--epochs", "3"],
        "env": [
            {"name": "A", "value": "1"},
            {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        ],
        "ports": [{"containerPort": 8080, "name": "http"}, {"containerPort": 8080, "protocol": "UDP"}],
        "resources": {
            "limits": {"cpu": "2", "memory": "4Gi", "nvidia.com/gpu": 1},
            "requests": {"cpu": "500m", "memory": 1073741824},
        },
        "volumeMounts": [{"name": "data", "mountPath": "/data"}, {"name": "cfg", "mountPath": "/cfg", "readOnly": True}],
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": "http"}, "periodSeconds": 10},
        "securityContext": {"capabilities": {"add": ["SYS_PTRACE"]}, "runAsNonRoot": True},
    }


def minimal(name: str, **roles: Any) -> Manifest:
    """A job with one container for each role; a number stands for so many replicas, None for none given."""
    kind = BY_NAME[name]
    specs = {role: entry(kind, given) for role, given in (roles or {kind.roles[-1].name: 1}).items()}
    return {"apiVersion": "kubeflow.org/v1", "kind": name, "metadata": {"name": "j"}, "spec": {kind.replicas_field: specs}}


def entry(kind: JobKind, given: Any) -> Any:
    if isinstance(given, dict):
        return given
    template = {"spec": {"containers": [{"name": kind.pods.container or "main", "image": "i"}]}}
    return {"template": template} if given is None else {"replicas": given, "template": template}
