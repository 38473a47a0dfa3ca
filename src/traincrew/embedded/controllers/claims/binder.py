"""Binds claims to volumes, and tells both what they are to each other."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from traincrew import errors
from traincrew.apimachinery.resource_info import Object
from traincrew.client import port
from traincrew.client.lister import Lister, Unstructured
from traincrew.client.workqueue import WorkQueue
from traincrew.embedded.controllers import reconcile_loop
from traincrew.embedded.controllers.claims import decisions, resources
from traincrew.embedded.controllers.claims.resources import CLAIMS, CLASSES, NODES, VOLUMES
from traincrew.embedded.controllers.event_recorder import ControllerEventRecorder
from traincrew.embedded.controllers.informers import SharedInformers
from traincrew.embedded.controllers.pods import Pod
from traincrew.embedded.controllers.reconcile_loop import NamespacedName


class Binder:
    def __init__(self, client: port.Client, copies: SharedInformers) -> None:
        self._client = client
        self._claims, self._volumes = copies.of(CLAIMS), copies.of(VOLUMES)
        self._classes, self._nodes, self._pods = copies.of(CLASSES), copies.of(NODES), copies.pods
        self._recorder = ControllerEventRecorder(client, "persistentvolume-controller")
        self._claim_queue: WorkQueue[NamespacedName] = WorkQueue()
        self._volume_queue: WorkQueue[NamespacedName] = WorkQueue()
        self._told: dict[str, decisions.Event] = {}
        """The last event about a claim, by its UID: it is not told again at every look."""
        self._claims.listeners.append(self._claim_changed)
        self._volumes.listeners.append(self._volume_changed)
        self._classes.listeners.append(lambda old, new: self._look_at_pending())
        self._pods.listeners.append(self._pod_changed)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._recorder.run())
            group.create_task(reconcile_loop.run("volumes", self._volume_queue, self._reconcile_volume, workers=1))
            # One worker: two claims must not be bound to the same volume.
            group.create_task(reconcile_loop.run("claims", self._claim_queue, self._reconcile_claim, workers=1))

    def _claim_changed(self, old: Unstructured | None, new: Unstructured | None) -> None:
        for seen in (old, new):
            if seen is not None and (name := seen.body["spec"].get("volumeName")):
                self._volume_queue.add(("", name))
        if new is not None:
            self._claim_queue.add((new.metadata.namespace, new.metadata.name))
        elif old is not None:
            self._told.pop(old.metadata.uid, None)

    def _volume_changed(self, old: Unstructured | None, new: Unstructured | None) -> None:
        for seen in (old, new):
            if seen is not None and (named := seen.body["spec"].get("claimRef")):
                self._claim_queue.add((named["namespace"], named["name"]))
        if new is not None:
            self._volume_queue.add(("", new.metadata.name))
        self._look_at_pending()

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        pod = new or old
        for name in pod.claims if pod is not None else ():
            found = self._claims.get(pod.metadata.namespace, name) if pod is not None else None
            if found is not None and resources.phase(found.body) == "Pending":
                self._claim_queue.add((found.metadata.namespace, name))

    def _look_at_pending(self) -> None:
        for seen in self._claims:
            if resources.COMPLETED not in resources.marks(seen.body):
                self._claim_queue.add((seen.metadata.namespace, seen.metadata.name))

    async def _reconcile_claim(self, key: NamespacedName) -> None:
        seen = self._claims.get(*key)
        if seen is None:
            return
        claim, fate = seen.body, decisions.claim(seen.body, self._world(key))
        if fate.bind is not None:
            await self._bind(fate.bind, claim)
            self._told.pop(seen.metadata.uid, None)
            return
        if fate.assign:
            await self._change(self._claims, claim, {"spec": {"storageClassName": fate.assign}})
            return
        if fate.provision is not None:
            asked: str = fate.provision["provisioner"]
            wanted = dict.fromkeys(resources.PROVISIONERS, asked)
            claim = await self._annotate(self._claims, claim, wanted)
        if fate.event is not None and self._told.get(seen.metadata.uid) != fate.event:
            self._told[seen.metadata.uid] = fate.event
            self._recorder.event(CLAIMS, claim, *fate.event)
        await self._set_status(self._claims, claim, {"phase": fate.phase, "accessModes": None, "capacity": None})

    def _world(self, key: NamespacedName) -> decisions.World:
        consumers = [pod for pod in self._pods.in_namespace(key[0]) if key[1] in pod.claims and not pod.ended]
        volumes = {seen.metadata.name: seen.body for seen in self._volumes}
        classes = {seen.metadata.name: seen.body for seen in self._classes}
        return decisions.World(volumes, classes, consumers, sum(1 for _ in self._nodes))

    async def _bind(self, volume: Object, claim: Object) -> None:
        """Volume first: whoever is stopped in between finds it reserved, and goes on from there."""
        meta = claim["metadata"]
        named = volume["spec"].get("claimRef") or {}
        if named.get("uid") != meta["uid"]:
            reference = {
                "kind": CLAIMS.kind, "apiVersion": CLAIMS.api_version, "namespace": meta["namespace"], "name": meta["name"],
                "uid": meta["uid"], "resourceVersion": meta["resourceVersion"],
            }  # fmt: skip
            change: Object = {"spec": {"claimRef": reference}}
            if not resources.reserved_for(volume, claim):
                change["metadata"] = {"annotations": {resources.BY_CONTROLLER: "yes"}}
            volume = await self._change(self._volumes, volume, change)
        volume = await self._set_status(self._volumes, volume, {"phase": "Bound"})
        name = volume["metadata"]["name"]
        wanted = {resources.COMPLETED: "yes"}
        if claim["spec"].get("volumeName") != name:
            marks = {resources.BY_CONTROLLER: "yes", **wanted}
            claim = await self._change(self._claims, claim, {"metadata": {"annotations": marks}, "spec": {"volumeName": name}})
        claim = await self._annotate(self._claims, claim, wanted)
        status: Object = {"phase": "Bound", "accessModes": volume["spec"]["accessModes"]}
        if resources.phase(claim) != "Bound":
            status["capacity"] = volume["spec"]["capacity"]
        await self._set_status(self._claims, claim, status)

    async def _reconcile_volume(self, key: NamespacedName) -> None:
        seen = self._volumes.get(*key)
        if seen is None:
            return
        volume = seen.body
        lot = decisions.volume(volume, await self._holder(volume))
        if lot.look_at_claim:
            named = volume["spec"]["claimRef"]
            self._claim_queue.add((named["namespace"], named["name"]))
        if lot.unbind:
            ours = resources.BY_CONTROLLER in resources.marks(volume)
            freed: Object = {"spec": {"claimRef": None}} if ours else {"spec": {"claimRef": {"uid": None}}}
            volume = await self._change(
                self._volumes, volume, freed | ({"metadata": {"annotations": {resources.BY_CONTROLLER: None}}} if ours else {})
            )
        if lot.phase and lot.phase != resources.phase(volume):
            volume = await self._set_status(self._volumes, volume, {"phase": lot.phase, "message": lot.message or None})
            if lot.event is not None:
                self._recorder.event(VOLUMES, volume, *lot.event)
            self._volume_queue.add(key)
            self._look_at_pending()

    async def _holder(self, volume: Object) -> Object | None:
        """The claim that the volume names; one that is not in the copy is asked for, since data may hang on it."""
        named = volume["spec"].get("claimRef") or {}
        if not named.get("uid"):
            return None
        seen = self._claims.get(named["namespace"], named["name"])
        if seen is not None and seen.metadata.uid == named["uid"]:
            return seen.body
        try:
            found: Object = msgspec.json.decode(await self._client.get(CLAIMS, named["namespace"], named["name"]))
        except errors.NotFound:
            return None
        return found if found["metadata"]["uid"] == named["uid"] else None

    async def _annotate(self, copy: Lister[Unstructured], obj: Object, wanted: dict[str, str]) -> Object:
        held = resources.marks(obj)
        if all(held.get(key) == value for key, value in wanted.items()):
            return obj
        return await self._change(copy, obj, {"metadata": {"annotations": wanted}})

    async def _set_status(self, copy: Lister[Unstructured], obj: Object, wanted: dict[str, Any]) -> Object:
        held = obj.get("status") or {}
        if all(held.get(key) == value for key, value in wanted.items()):
            return obj
        return await self._change(copy, obj, {"status": wanted}, "status")

    async def _change(self, copy: Lister[Unstructured], obj: Object, change: Object, subresource: str = "") -> Object:
        """Only of the object as it was looked at."""
        meta = obj["metadata"]
        versioned = {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"], **change.get("metadata", {})}
        body = msgspec.json.encode({**change, "metadata": versioned})
        namespace = meta.get("namespace") or None
        answer = await self._client.patch(copy.resource, namespace, meta["name"], body, subresource=subresource)
        return copy.apply_response(answer).body
