"""The operator, shown as the pod that it would be on a cluster, so that its log is where people look for it."""

from __future__ import annotations

import datetime as dt
import os
import platform

import msgspec

from traincrew import errors
from traincrew.client import port
from traincrew.embedded.furnishing import NODES, ensure
from traincrew.embedded.served import Object
from traincrew.model import resources

NAMESPACE, POD, CONTAINER = "kubeflow", "traincrew-operator", "operator"
NODE = "traincrew"


async def show_node(client: port.Client, kubelet_port: int, version: str) -> None:
    """The node that this machine would be, if an agent ran its pods."""
    await ensure(client, NODES, {"metadata": {"name": NODE, "labels": {"kubernetes.io/hostname": NODE}}})
    await _status(client, None, NODE, _node_status(kubelet_port, version, _now()))


def _now() -> str:
    return dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


async def show(client: port.Client, version: str) -> None:
    """The pod of this very process, started now."""
    try:
        await client.delete(resources.PODS, NAMESPACE, POD)
        await client.delete(resources.PODS, NAMESPACE, POD)
    except errors.NotFound:
        pass
    await ensure(client, resources.PODS, _pod(version))
    await _status(client, NAMESPACE, POD, _pod_status(_now()))


async def _status(client: port.Client, namespace: str | None, name: str, status: Object) -> None:
    resource = resources.PODS if namespace else NODES
    body = msgspec.json.encode({"status": status})
    await client.patch(resource, namespace, name, body, subresource="status")


def _pod(version: str) -> Object:
    labels = {"name": "tf-job-operator", "app": "traincrew", "control-plane": "kubeflow-training-operator"}
    container = {"name": CONTAINER, "image": f"traincrew:{version}"}
    spec = {
        "nodeName": NODE,
        "containers": [container],
        "terminationGracePeriodSeconds": 0,
        "automountServiceAccountToken": False,
        "tolerations": [{"operator": "Exists"}],
    }
    # No agent may run it: it stands for what runs already, as the pods do that a kubelet makes from files.
    marks = {"kubernetes.io/config.mirror": version}
    return {"metadata": {"name": POD, "namespace": NAMESPACE, "labels": labels, "annotations": marks}, "spec": spec}


def _pod_status(now: str) -> Object:
    conditions = [
        {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": now}
        for kind in ("Initialized", "Ready", "ContainersReady", "PodScheduled")
    ]
    container = {
        "name": CONTAINER, "image": "traincrew", "imageID": "", "containerID": f"process://{os.getpid()}", "ready": True,
        "started": True, "restartCount": 0, "state": {"running": {"startedAt": now}},
    }  # fmt: skip
    return {
        "phase": "Running", "startTime": now, "hostIP": "127.0.0.1", "podIP": "127.0.0.1", "conditions": conditions,
        "containerStatuses": [container],
    }  # fmt: skip


def _node_status(kubelet_port: int, version: str, now: str) -> Object:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 1024
    capacity = {"cpu": str(os.cpu_count() or 1), "memory": f"{memory}Ki", "pods": "1000"}
    ready = {
        "type": "Ready", "status": "True", "reason": "TraincrewReady", "message": "traincrew is up",
        "lastHeartbeatTime": now, "lastTransitionTime": now,
    }  # fmt: skip
    return {
        "capacity": capacity,
        "allocatable": capacity,
        "conditions": [ready],
        "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}, {"type": "Hostname", "address": NODE}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": kubelet_port}},
        "nodeInfo": {
            "machineID": "", "systemUUID": "", "bootID": "", "kernelVersion": platform.release(), "osImage": platform.platform(),
            "containerRuntimeVersion": f"process://{version}", "kubeletVersion": f"traincrew-{version}", "kubeProxyVersion": "",
            "operatingSystem": "linux", "architecture": {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), ""),
        },
    }  # fmt: skip
