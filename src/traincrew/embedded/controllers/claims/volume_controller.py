"""The persistent volume controller: binds claims and volumes to each other."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from traincrew import errors
from traincrew.apimachinery.unstructured import Object
from traincrew.client import interfaces
from traincrew.client.lister import Lister, Unstructured
from traincrew.client.workqueue import WorkQueue
from traincrew.embedded.controllers import reconcile_loop
from traincrew.embedded.controllers.claims import decisions, matching, storage_objects
from traincrew.embedded.controllers.event_recorder import ControllerEventRecorder
from traincrew.embedded.controllers.informers import SharedInformers
from traincrew.embedded.controllers.pods import Pod
from traincrew.embedded.controllers.reconcile_loop import NamespacedName
from traincrew.model.resources import NODES, STORAGE_CLASSES, VOLUME_CLAIMS, VOLUMES


class PersistentVolumeController:
    def __init__(self, client: interfaces.Client, informers: SharedInformers) -> None:
        self._client = client
        self._claims, self._volumes = informers.lister(VOLUME_CLAIMS), informers.lister(VOLUMES)
        self._classes, self._nodes, self._pods = informers.lister(STORAGE_CLASSES), informers.lister(NODES), informers.pods
        self._recorder = ControllerEventRecorder(client, "persistentvolume-controller")
        self._claim_queue: WorkQueue[NamespacedName] = WorkQueue()
        self._volume_queue: WorkQueue[NamespacedName] = WorkQueue()
        self._last_events: dict[str, decisions.Event] = {}
        """The last event about a claim, by its UID: it is not repeated at every reconcile."""
        self._claims.listeners.append(self._claim_changed)
        self._volumes.listeners.append(self._volume_changed)
        self._classes.listeners.append(lambda _old, _new: self._enqueue_pending())
        self._pods.listeners.append(self._pod_changed)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._recorder.run())
            group.create_task(reconcile_loop.run("volumes", self._volume_queue, self._reconcile_volume, workers=1))
            # One worker: two claims must not be bound to the same volume.
            group.create_task(reconcile_loop.run("claims", self._claim_queue, self._reconcile_claim, workers=1))

    def _claim_changed(self, old: Unstructured | None, new: Unstructured | None) -> None:
        for stored in (old, new):
            if stored is not None and (name := stored.body["spec"].get("volumeName")):
                self._volume_queue.add(("", name))
        if new is not None:
            self._claim_queue.add((new.metadata.namespace, new.metadata.name))
        elif old is not None:
            self._last_events.pop(old.metadata.uid, None)

    def _volume_changed(self, old: Unstructured | None, new: Unstructured | None) -> None:
        for stored in (old, new):
            if stored is not None and (key := storage_objects.claim_key(stored.body)) is not None:
                self._claim_queue.add(key)
        if new is not None:
            self._volume_queue.add(("", new.metadata.name))
            self._enqueue_pending(new)

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        pod = new or old
        for name in pod.claims if pod is not None else ():
            claim = self._claims.get(pod.metadata.namespace, name) if pod is not None else None
            if claim is not None and storage_objects.phase(claim.body) == "Pending":
                self._claim_queue.add((claim.metadata.namespace, name))

    def _enqueue_pending(self, volume: Unstructured | None = None) -> None:
        """Enqueues the claims that are not bound. volume: only those that may be bound to it."""
        for stored in self._claims:
            if storage_objects.COMPLETED not in storage_objects.annotations_of(stored.body) and (
                volume is None or matching.may_bind(volume.body, stored.body)
            ):
                self._claim_queue.add((stored.metadata.namespace, stored.metadata.name))

    async def _reconcile_claim(self, key: NamespacedName) -> None:
        stored = self._claims.get(*key)
        if stored is None:
            return
        claim, decision = stored.body, decisions.decide_claim(stored.body, self._context(key))
        if decision.bind is not None:
            await self._bind(decision.bind, claim)
            self._last_events.pop(stored.metadata.uid, None)
            return
        if decision.assign:
            await self._change(self._claims, claim, {"spec": {"storageClassName": decision.assign}})
            return
        if decision.provision is not None:
            asked: str = decision.provision["provisioner"]
            annotations = dict.fromkeys(storage_objects.PROVISIONERS, asked)
            claim = await self._annotate(self._claims, claim, annotations)
        if decision.event is not None and self._last_events.get(stored.metadata.uid) != decision.event:
            self._last_events[stored.metadata.uid] = decision.event
            self._recorder.event(VOLUME_CLAIMS, claim, *decision.event)
        await self._set_status(self._claims, claim, {"phase": decision.phase, "accessModes": None, "capacity": None})

    def _context(self, key: NamespacedName) -> decisions.ClaimContext:
        consumers = [pod for pod in self._pods.in_namespace(key[0]) if key[1] in pod.claims and not pod.ended]
        volumes = {stored.metadata.name: stored.body for stored in self._volumes}
        classes = {stored.metadata.name: stored.body for stored in self._classes}
        return decisions.ClaimContext(volumes, classes, consumers, sum(1 for _ in self._nodes))

    async def _bind(self, volume: Object, claim: Object) -> None:
        """The volume is written first: after an interruption it is reserved, and binding continues."""
        meta = claim["metadata"]
        named = volume["spec"].get("claimRef") or {}
        if named.get("uid") != meta["uid"]:
            reference = {
                "kind": VOLUME_CLAIMS.kind, "apiVersion": VOLUME_CLAIMS.api_version,
                "namespace": meta["namespace"], "name": meta["name"],
                "uid": meta["uid"], "resourceVersion": meta["resourceVersion"],
            }  # fmt: skip
            change: Object = {"spec": {"claimRef": reference}}
            if not storage_objects.reserved_for(volume, claim):
                change["metadata"] = {"annotations": {storage_objects.BY_CONTROLLER: "yes"}}
            volume = await self._change(self._volumes, volume, change)
        volume = await self._set_status(self._volumes, volume, {"phase": "Bound"})
        name = volume["metadata"]["name"]
        annotations = {storage_objects.COMPLETED: "yes"}
        if claim["spec"].get("volumeName") != name:
            bound = {storage_objects.BY_CONTROLLER: "yes", **annotations}
            claim = await self._change(self._claims, claim, {"metadata": {"annotations": bound}, "spec": {"volumeName": name}})
        claim = await self._annotate(self._claims, claim, annotations)
        status: Object = {"phase": "Bound", "accessModes": volume["spec"]["accessModes"]}
        if storage_objects.phase(claim) != "Bound":
            status["capacity"] = volume["spec"]["capacity"]
        await self._set_status(self._claims, claim, status)

    async def _reconcile_volume(self, key: NamespacedName) -> None:
        stored = self._volumes.get(*key)
        if stored is None:
            return
        volume = stored.body
        decision = decisions.decide_volume(volume, await self._bound_claim(volume))
        claim_key = storage_objects.claim_key(volume)
        if decision.reconcile_claim and claim_key is not None:
            self._claim_queue.add(claim_key)
        if decision.unbind:
            ours = storage_objects.BY_CONTROLLER in storage_objects.annotations_of(volume)
            freed: Object = {"spec": {"claimRef": None}} if ours else {"spec": {"claimRef": {"uid": None}}}
            volume = await self._change(
                self._volumes,
                volume,
                freed | ({"metadata": {"annotations": {storage_objects.BY_CONTROLLER: None}}} if ours else {}),
            )
        if decision.phase and decision.phase != storage_objects.phase(volume):
            volume = await self._set_status(self._volumes, volume, {"phase": decision.phase, "message": decision.message or None})
            if decision.event is not None:
                self._recorder.event(VOLUMES, volume, *decision.event)
            self._volume_queue.add(key)

    async def _bound_claim(self, volume: Object) -> Object | None:
        """The claim that the volume names. A claim that is not in the store is read: the volume's data depends on it."""
        key = storage_objects.claim_key(volume)
        uid = volume["spec"]["claimRef"].get("uid") if key is not None else None
        if key is None or not uid:
            return None
        stored = self._claims.get(*key)
        if stored is not None and stored.metadata.uid == uid:
            return stored.body
        try:
            claim: Object = msgspec.json.decode(await self._client.get(VOLUME_CLAIMS, *key))
        except errors.NotFound:
            return None
        return claim if claim["metadata"]["uid"] == uid else None

    async def _annotate(self, lister: Lister[Unstructured], obj: Object, annotations: dict[str, str]) -> Object:
        current = storage_objects.annotations_of(obj)
        if all(current.get(key) == value for key, value in annotations.items()):
            return obj
        return await self._change(lister, obj, {"metadata": {"annotations": annotations}})

    async def _set_status(self, lister: Lister[Unstructured], obj: Object, fields: dict[str, Any]) -> Object:
        current = obj.get("status") or {}
        if all(current.get(key) == value for key, value in fields.items()):
            return obj
        return await self._change(lister, obj, {"status": fields}, "status")

    async def _change(self, lister: Lister[Unstructured], obj: Object, change: Object, subresource: str = "") -> Object:
        """Patches the object with the resourceVersion of the decision as a precondition."""
        meta = obj["metadata"]
        versioned = {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"], **change.get("metadata", {})}
        body = msgspec.json.encode({**change, "metadata": versioned})
        namespace = meta.get("namespace") or None
        response = await self._client.patch(lister.resource, namespace, meta["name"], body, subresource=subresource)
        return lister.apply_response(response).body
