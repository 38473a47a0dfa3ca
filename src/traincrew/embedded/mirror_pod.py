"""The operator, shown as the pod that it would be on a cluster, so that its log is where people look for it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import platform
from collections.abc import AsyncIterator, Sequence

import msgspec

from traincrew import errors
from traincrew.apimachinery.resource_info import Object
from traincrew.client import clock, port
from traincrew.embedded.bootstrap import NODES, ensure
from traincrew.model import resources
from traincrew.model.resources import Resource

log = logging.getLogger(__name__)

NAMESPACE, POD, CONTAINER = "kubeflow", "traincrew-operator", "operator"
NODE = "traincrew"
PATIENCE = 1.0
"""Seconds before another try."""


async def show_node(client: port.Client, kubelet_port: int, version: str) -> None:
    """The node that this machine would be, if an agent ran its pods."""
    await ensure(client, NODES, {"metadata": {"name": NODE, "labels": {"kubernetes.io/hostname": NODE}}})
    await _status(client, None, NODE, _node_status(kubelet_port, version, clock.timestamp()))


class Shown:
    """The pod of this very process. Whoever deletes it, or its namespace, deletes an image: it comes back."""

    def __init__(self, client: port.Client, version: str, around: Sequence[tuple[Resource, Object]] = ()) -> None:
        """around: what belongs into its namespace beside it."""
        self._client, self._version, self._around = client, version, around
        self._since = clock.timestamp()

    @contextlib.asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        """It is there when this is entered, and as long as it is."""
        with contextlib.suppress(errors.NotFound):
            await self._client.delete(resources.PODS, NAMESPACE, POD)
            await self._client.delete(resources.PODS, NAMESPACE, POD)
        keeping = asyncio.create_task(self._keep(await self._show()))
        try:
            yield
        finally:
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)

    async def _keep(self, version: str) -> None:
        while True:
            try:
                if await self._gone(version):
                    version = await self._show()
            except errors.ApiError as error:
                # Such as that its namespace is going, and not yet gone.
                log.debug("the operator's pod cannot be shown", extra={"error": str(error)})
                await asyncio.sleep(PATIENCE)
                version = ""

    async def _gone(self, version: str) -> bool:
        """Whether it has been deleted; else the watch has ended. No version: it was not there when it was last tried."""
        if not version:
            return True
        watch = self._client.watch(resources.PODS, NAMESPACE, fields=f"metadata.name={POD}", resource_version=version)
        async with contextlib.aclosing(watch) as changes:
            async for change in changes:
                if change.type == "DELETED":
                    return True
        await asyncio.sleep(PATIENCE)
        return True

    async def _show(self) -> str:
        """Returns the version from which on it must be watched."""
        await ensure(self._client, resources.NAMESPACES, {"metadata": {"name": NAMESPACE}})
        for resource, document in self._around:
            await ensure(self._client, resource, document)
        await ensure(self._client, resources.PODS, _pod(self._version))
        shown = await _status(self._client, NAMESPACE, POD, _pod_status(self._since))
        return str(msgspec.json.decode(shown)["metadata"]["resourceVersion"])


async def _status(client: port.Client, namespace: str | None, name: str, status: Object) -> bytes:
    resource = resources.PODS if namespace else NODES
    body = msgspec.json.encode({"status": status})
    return await client.patch(resource, namespace, name, body, subresource="status")


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
