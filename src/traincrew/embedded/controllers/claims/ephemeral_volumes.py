"""The ephemeral volume controller: creates the claims of `volumes[].ephemeral`, owned by their pod."""

from __future__ import annotations

import asyncio

import msgspec

from traincrew import errors
from traincrew.apimachinery.unstructured import Object
from traincrew.client import interfaces
from traincrew.client.lister import Unstructured
from traincrew.client.workqueue import WorkQueue
from traincrew.embedded.controllers import reconcile_loop
from traincrew.embedded.controllers.event_recorder import WARNING, ControllerEventRecorder
from traincrew.embedded.controllers.informers import SharedInformers
from traincrew.embedded.controllers.pods import Pod, Volume
from traincrew.embedded.controllers.reconcile_loop import NamespacedName
from traincrew.model.resources import PODS, VOLUME_CLAIMS

FAILED = "FailedBinding"


class EphemeralVolumeController:
    def __init__(self, client: interfaces.Client, informers: SharedInformers) -> None:
        self._client = client
        self._claims, self._pods = informers.lister(VOLUME_CLAIMS), informers.pods
        self._recorder = ControllerEventRecorder(client, "ephemeral_volume")
        self._queue: WorkQueue[NamespacedName] = WorkQueue()
        self._pods.listeners.append(self._pod_changed)
        self._claims.listeners.append(self._claim_changed)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._recorder.run())
            group.create_task(reconcile_loop.run("ephemeral-volume", self._queue, self._reconcile))

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        seen_before = old is not None and new is not None and old.metadata.uid == new.metadata.uid
        if new is not None and not seen_before and any(each.ephemeral is not None for each in new.spec.volumes):
            self._queue.add((new.metadata.namespace, new.metadata.name))

    def _claim_changed(self, old: Unstructured | None, new: Unstructured | None) -> None:
        """A deleted claim may have blocked the claim of another pod, or must be created again."""
        if old is None or new is not None:
            return
        for pod in self._pods.in_namespace(old.metadata.namespace):
            if old.metadata.name in pod.claims:
                self._queue.add((pod.metadata.namespace, pod.metadata.name))

    async def _reconcile(self, key: NamespacedName) -> float | None:
        pod = self._pods.get(*key)
        if pod is None or pod.deleted:
            return None
        for volume in pod.spec.volumes:
            if volume.ephemeral is not None:
                await self._create(pod, volume)
        return None

    async def _create(self, pod: Pod, volume: Volume) -> None:
        desired = claim(pod, volume)
        name, namespace = desired["metadata"]["name"], pod.metadata.namespace
        known = self._claims.get(namespace, name)
        if known is not None:
            owner = known.metadata.controller
            if owner is None or owner.uid != pod.metadata.uid:
                message = f"PVC {namespace}/{name} was not created for pod {namespace}/{pod.metadata.name} (pod is not owner)"
                self._warn(pod, volume, message)
            return
        try:
            self._claims.apply_response(await self._client.create(VOLUME_CLAIMS, namespace, msgspec.json.encode(desired)))
        except errors.AlreadyExists:
            raise  # the informer delivers the existing claim
        except errors.ApiError as error:
            self._warn(pod, volume, f"create PVC {name}: {error.message}")
            raise

    def _warn(self, pod: Pod, volume: Volume, why: str) -> None:
        meta = pod.metadata
        about = {"name": meta.name, "namespace": meta.namespace, "uid": meta.uid, "resourceVersion": meta.resource_version}
        self._recorder.event(PODS, {"metadata": about}, WARNING, FAILED, f"ephemeral volume {volume.name}: {why}")


def claim(pod: Pod, volume: Volume) -> Object:
    template = (volume.ephemeral or {}).get("volumeClaimTemplate") or {}
    metadata = {key: value for key, value in (template.get("metadata") or {}).items() if key in ("annotations", "labels")}
    owner = {
        "apiVersion": "v1", "kind": "Pod", "name": pod.metadata.name, "uid": pod.metadata.uid,
        "controller": True, "blockOwnerDeletion": True,
    }  # fmt: skip
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {**metadata, "name": f"{pod.metadata.name}-{volume.name}", "ownerReferences": [owner]},
        "spec": template.get("spec") or {},
    }
