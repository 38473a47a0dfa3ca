"""The mirror pod of the operator: `kubectl logs` shows the log of the operator as on any cluster."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import platform
from collections.abc import AsyncIterator, Sequence

import msgspec

from traincrew import errors
from traincrew.apimachinery.unstructured import Object
from traincrew.client import clock, interfaces
from traincrew.embedded.bootstrap import ensure
from traincrew.model import resources
from traincrew.model.resources import NODES, Resource
from traincrew.serving import background_tasks

log = logging.getLogger(__name__)

NAMESPACE, POD, CONTAINER = "kubeflow", "traincrew-operator", "operator"
NODE = "traincrew"
RETRY = 1.0
"""Seconds."""


async def register_node(client: interfaces.Client, kubelet_port: int, version: str) -> None:
    """Registers a node for the mirror pod, where no kubelet runs."""
    await ensure(client, NODES, {"metadata": {"name": NODE, "labels": {"kubernetes.io/hostname": NODE}}})
    await _patch_status(client, None, NODE, _node_status(kubelet_port, version, clock.timestamp()))


class MirrorPod:
    """The pod object of this process. It is created again if it, or its namespace, is deleted."""

    def __init__(self, client: interfaces.Client, version: str, beside: Sequence[tuple[Resource, Object]] = ()) -> None:
        """beside: other objects of its namespace."""
        self._client, self._version, self._beside = client, version, beside
        self._since = clock.timestamp()

    @contextlib.asynccontextmanager
    async def maintained(self) -> AsyncIterator[None]:
        """Creates the pod and maintains it inside the block."""
        with contextlib.suppress(errors.NotFound):
            await self._client.delete(resources.PODS, NAMESPACE, POD)
            await self._client.delete(resources.PODS, NAMESPACE, POD)
        async with background_tasks.running(self._maintain(await self._create())):
            yield

    async def _maintain(self, version: str) -> None:
        while True:
            try:
                if await self._is_deleted(version):
                    version = await self._create()
            except errors.ApiError as error:
                # For example, the namespace is terminating.
                log.debug("mirror pod not created", extra={"error": str(error)})
                await asyncio.sleep(RETRY)
                version = ""

    async def _is_deleted(self, version: str) -> bool:
        """Watches the pod from a version until it is deleted or the watch ends. Without a version the pod does not exist."""
        if not version:
            return True
        watch = self._client.watch(resources.PODS, NAMESPACE, fields=f"metadata.name={POD}", resource_version=version)
        async with contextlib.aclosing(watch) as changes:
            async for change in changes:
                if change.type == "DELETED":
                    return True
        await asyncio.sleep(RETRY)
        return True

    async def _create(self) -> str:
        """Returns the resourceVersion from which the pod must be watched."""
        await ensure(self._client, resources.NAMESPACES, {"metadata": {"name": NAMESPACE}})
        for resource, document in self._beside:
            await ensure(self._client, resource, document)
        await ensure(self._client, resources.PODS, _pod(self._version))
        pod = await _patch_status(self._client, NAMESPACE, POD, _pod_status(self._since))
        return str(msgspec.json.decode(pod)["metadata"]["resourceVersion"])


async def _patch_status(client: interfaces.Client, namespace: str | None, name: str, status: Object) -> bytes:
    resource = resources.PODS if namespace else NODES
    body = msgspec.json.encode({"status": status})
    return await client.patch(resource, namespace, name, body, subresource="status")


def _pod(version: str) -> Object:
    labels = {"name": "tf-job-operator", "app": "traincrew", "control-plane": "kubeflow-training-operator"}
    labels["app.kubernetes.io/name"] = "traincrew"  # otherwise it would be mistaken for a Go operator
    container = {"name": CONTAINER, "image": f"traincrew:{version}"}
    spec = {
        "nodeName": NODE,
        "containers": [container],
        "terminationGracePeriodSeconds": 0,
        "automountServiceAccountToken": False,
        "tolerations": [{"operator": "Exists"}],
    }
    # No kubelet may run it: like a static pod's mirror pod, it represents a process that runs already.
    annotations = {"kubernetes.io/config.mirror": version}
    return {"metadata": {"name": POD, "namespace": NAMESPACE, "labels": labels, "annotations": annotations}, "spec": spec}


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
