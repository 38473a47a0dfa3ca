"""Bodies of requests: small valid objects, which scenarios send unchanged or modified."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]


def manifest(api_version: str, kind: str, name: str, rest: Object, metadata: Object | None = None) -> Object:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, **(metadata or {})}, **rest}


def config_map(name: str, data: Object | None = None, **metadata: Any) -> Object:
    return manifest("v1", "ConfigMap", name, {"data": data or {"a": "1"}}, metadata)


def generated(prefix: str, **metadata: Any) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": prefix, **metadata}, "data": {"a": "1"}}


def secret(name: str, **rest: Any) -> Object:
    return manifest("v1", "Secret", name, rest or {"stringData": {"password": "x"}})


def container(name: str = "main", **rest: Any) -> Object:
    return {"name": name, "image": "train:1", **rest}


def pod(name: str, *containers: Object, metadata: Object | None = None, **spec: Any) -> Object:
    return manifest("v1", "Pod", name, {"spec": {"containers": list(containers) or [container()], **spec}}, metadata)


def service(name: str, **spec: Any) -> Object:
    return manifest("v1", "Service", name, {"spec": {"selector": {"app": name}, "ports": [{"port": 80}], **spec}})


def job(name: str, **spec: Any) -> Object:
    template = {"spec": {"containers": [container()], "restartPolicy": "Never"}}
    return manifest("batch/v1", "Job", name, {"spec": {"template": template, **spec}})


def node(name: str, **rest: Any) -> Object:
    return manifest("v1", "Node", name, rest)


def lease(name: str, **spec: Any) -> Object:
    return manifest(
        "coordination.k8s.io/v1", "Lease", name, {"spec": spec or {"holderIdentity": "me", "leaseDurationSeconds": 15}}
    )


def claim(name: str, **spec: Any) -> Object:
    fields = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec}
    return manifest("v1", "PersistentVolumeClaim", name, {"spec": fields})


def volume(name: str, **spec: Any) -> Object:
    offered = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/data"}, **spec}
    return manifest("v1", "PersistentVolume", name, {"spec": offered})


def autoscaler(name: str, **spec: Any) -> Object:
    target = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "j"}
    fields = {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 3, **spec}
    return manifest("autoscaling/v2", "HorizontalPodAutoscaler", name, {"spec": fields})


def event(name: str, namespace: str, **rest: Any) -> Object:
    involved = {"kind": "Pod", "namespace": namespace, "name": "p", "apiVersion": "v1"}
    fields = {"involvedObject": involved, "reason": "Started", "message": "it has started", "type": "Normal", **rest}
    return manifest("v1", "Event", name, fields)


def definition(group: str, schema: Object, plural: str = "widgets", **version: Any) -> Object:
    """A CRD with one version, v1, with status and scale if `version` has them."""
    kind = plural[:-1].capitalize()
    names = {"plural": plural, "singular": plural[:-1], "kind": kind, "listKind": f"{kind}List"}
    served = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, **version}
    spec = {"group": group, "names": names, "scope": "Namespaced", "versions": [served]}
    return manifest("apiextensions.k8s.io/v1", "CustomResourceDefinition", f"{plural}.{group}", {"spec": spec})


def structural(spec: Object | None = None, **rest: Any) -> Object:
    """The schema of an object with a spec and a status."""
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {"type": "object", "properties": {"spec": spec or free, "status": free}, **rest}


def training_job(kind: str, name: str, replicas: int = 1, **policy: Any) -> Object:
    """A training job that no operator handles: its managedBy names another controller."""
    field, container_name, roles = TRAINING[kind]
    single = ("Master", "Launcher", "Chief")
    specs = {
        role: {
            "replicas": 1 if role in single else replicas,
            "template": {"spec": {"containers": [{"name": container_name, "image": "train:1"}]}},
        }
        for role in roles
    }
    run_policy = {"managedBy": "kueue.x-k8s.io/multikueue", **policy}
    return manifest("kubeflow.org/v1", kind, name, {"spec": {"runPolicy": run_policy, field: specs}})


TRAINING = {
    "TFJob": ("tfReplicaSpecs", "tensorflow", ("Chief", "PS", "Worker")),
    "PyTorchJob": ("pytorchReplicaSpecs", "pytorch", ("Master", "Worker")),
    "MPIJob": ("mpiReplicaSpecs", "mpi", ("Launcher", "Worker")),
    "XGBoostJob": ("xgbReplicaSpecs", "xgboost", ("Master", "Worker")),
    "PaddleJob": ("paddleReplicaSpecs", "paddle", ("Master", "Worker")),
    "JAXJob": ("jaxReplicaSpecs", "jax", ("Worker",)),
}
PLURALS = {kind: f"{kind.lower()}s" for kind in TRAINING}
