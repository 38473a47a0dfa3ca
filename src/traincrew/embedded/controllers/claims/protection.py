"""The protection controllers: finalizers that keep claims used by pods, and volumes bound to claims."""

from __future__ import annotations

import asyncio

import msgspec

from traincrew.apimachinery.unstructured import Object
from traincrew.client import interfaces
from traincrew.client.lister import Lister, Unstructured
from traincrew.client.workqueue import WorkQueue
from traincrew.embedded.controllers import reconcile_loop
from traincrew.embedded.controllers.claims import storage_objects
from traincrew.embedded.controllers.informers import SharedInformers
from traincrew.embedded.controllers.pods import Pod
from traincrew.embedded.controllers.reconcile_loop import NamespacedName
from traincrew.model.resources import VOLUME_CLAIMS, VOLUMES

CLAIM, VOLUME = "kubernetes.io/pvc-protection", "kubernetes.io/pv-protection"


class ProtectionController:
    def __init__(self, client: interfaces.Client, informers: SharedInformers) -> None:
        self._client = client
        self._claims, self._volumes, self._pods = (
            informers.lister(VOLUME_CLAIMS),
            informers.lister(VOLUMES),
            informers.pods,
        )
        self._claim_queue: WorkQueue[NamespacedName] = WorkQueue()
        self._volume_queue: WorkQueue[NamespacedName] = WorkQueue()
        self._claims.listeners.append(lambda old, new: self._changed(self._claim_queue, new))
        self._volumes.listeners.append(lambda old, new: self._changed(self._volume_queue, new))
        self._pods.listeners.append(self._pod_changed)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(reconcile_loop.run("pvc-protection", self._claim_queue, self._reconcile_claim))
            group.create_task(reconcile_loop.run("pv-protection", self._volume_queue, self._reconcile_volume))

    def _changed(self, queue: WorkQueue[NamespacedName], new: Unstructured | None) -> None:
        if new is not None:
            queue.add((new.metadata.namespace, new.metadata.name))

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        if old is not None and (new is None or new.ended):
            for name in old.claims:
                self._claim_queue.add((old.metadata.namespace, name))

    async def _reconcile_claim(self, key: NamespacedName) -> None:
        stored = self._claims.get(*key)
        if stored is not None:
            used = any(uses(pod, stored.body) for pod in self._pods.in_namespace(key[0]))
            await self._set_finalizers(self._claims, stored, protected_finalizers(stored.body, CLAIM, used))

    async def _reconcile_volume(self, key: NamespacedName) -> None:
        stored = self._volumes.get(*key)
        if stored is not None:
            await self._set_finalizers(
                self._volumes, stored, protected_finalizers(stored.body, VOLUME, storage_objects.phase(stored.body) == "Bound")
            )

    async def _set_finalizers(self, lister: Lister[Unstructured], stored: Unstructured, finalizers: list[str] | None) -> None:
        if finalizers is None:
            return
        meta = stored.metadata
        change = {"uid": meta.uid, "resourceVersion": meta.resource_version, "finalizers": finalizers or None}
        body = msgspec.json.encode({"metadata": change})
        response = await self._client.patch(lister.resource, meta.namespace or None, meta.name, body)
        if finalizers or meta.deletion_timestamp is None:
            lister.apply_response(response)


def uses(pod: Pod, claim: Object) -> bool:
    """A pod without a node does not count: it would not start with a terminating claim. A pod with an ephemeral volume of
    that name counts only if it owns the claim and has not ended."""
    name = claim["metadata"]["name"]
    if not pod.spec.node_name or name not in pod.claims:
        return False
    over = pod.deleted and pod.metadata.deletion_grace_period_seconds == 0
    return name not in pod.own_claims or (not over and _owned(claim, pod))


def _owned(claim: Object, pod: Pod) -> bool:
    owners = claim["metadata"].get("ownerReferences") or ()
    return any(owner.get("controller") and owner["uid"] == pod.metadata.uid for owner in owners)


def protected_finalizers(obj: Object, finalizer: str, used: bool) -> list[str] | None:
    """The new finalizers; None: no change."""
    finalizers = obj["metadata"].get("finalizers") or []
    if "deletionTimestamp" not in obj["metadata"]:
        return None if finalizer in finalizers else [*finalizers, finalizer]
    if finalizer in finalizers and not used:
        return [each for each in finalizers if each != finalizer]
    return None
