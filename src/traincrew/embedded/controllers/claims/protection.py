"""Claims that pods use, and volumes that claims use, are deleted only when they are no longer used."""

from __future__ import annotations

import asyncio

import msgspec

from traincrew.apimachinery.resource_info import Object
from traincrew.client import port
from traincrew.client.lister import Lister, Unstructured
from traincrew.client.workqueue import WorkQueue
from traincrew.embedded.controllers import reconcile_loop
from traincrew.embedded.controllers.claims import resources
from traincrew.embedded.controllers.claims.resources import CLAIMS, VOLUMES
from traincrew.embedded.controllers.informers import SharedInformers
from traincrew.embedded.controllers.pods import Pod
from traincrew.embedded.controllers.reconcile_loop import NamespacedName

CLAIM, VOLUME = "kubernetes.io/pvc-protection", "kubernetes.io/pv-protection"


class Protection:
    def __init__(self, client: port.Client, copies: SharedInformers) -> None:
        self._client = client
        self._claims, self._volumes, self._pods = copies.of(CLAIMS), copies.of(VOLUMES), copies.pods
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
        seen = self._claims.get(*key)
        if seen is not None:
            used = any(uses(pod, seen.body) for pod in self._pods.in_namespace(key[0]))
            await self._guard(self._claims, seen, guarded(seen.body, CLAIM, used))

    async def _reconcile_volume(self, key: NamespacedName) -> None:
        seen = self._volumes.get(*key)
        if seen is not None:
            await self._guard(self._volumes, seen, guarded(seen.body, VOLUME, resources.phase(seen.body) == "Bound"))

    async def _guard(self, copy: Lister[Unstructured], seen: Unstructured, finalizers: list[str] | None) -> None:
        if finalizers is None:
            return
        meta = seen.metadata
        change = {"uid": meta.uid, "resourceVersion": meta.resource_version, "finalizers": finalizers or None}
        body = msgspec.json.encode({"metadata": change})
        answer = await self._client.patch(copy.resource, meta.namespace or None, meta.name, body)
        if finalizers or meta.deletion_timestamp is None:
            copy.apply_response(answer)


def uses(pod: Pod, claim: Object) -> bool:
    """One that has no node yet does not count: it would not be started with a claim that is going. Nor does one whose own
    volume would have that name, if the claim is somebody else's, or all of the pod but its name has ended."""
    name = claim["metadata"]["name"]
    if not pod.spec.node_name or name not in pod.claims:
        return False
    over = pod.deleted and pod.metadata.deletion_grace_period_seconds == 0
    return name not in pod.own_claims or (not over and _owned(claim, pod))


def _owned(claim: Object, pod: Pod) -> bool:
    owners = claim["metadata"].get("ownerReferences") or ()
    return any(owner.get("controller") and owner["uid"] == pod.metadata.uid for owner in owners)


def guarded(obj: Object, finalizer: str, used: bool) -> list[str] | None:
    """The finalizers that it is to have; None: those that it has."""
    held = obj["metadata"].get("finalizers") or []
    if "deletionTimestamp" not in obj["metadata"]:
        return None if finalizer in held else [*held, finalizer]
    if finalizer in held and not used:
        return [each for each in held if each != finalizer]
    return None
