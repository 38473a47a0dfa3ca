"""Owner references kept: what has lost its owners goes, what its owner's deletion waits for goes first, orphans are let go.

A client of the API like any other. It holds, of every object, its identity and whose it is.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Callable, Iterable

import msgspec

from traincrew import errors
from traincrew.client import port
from traincrew.model.resources import Resource

log = logging.getLogger(__name__)

ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"
RETRY = 1.0


class _Owner(msgspec.Struct, rename="camel", frozen=True, omit_defaults=True):
    uid: str
    name: str = ""
    kind: str = ""
    api_version: str = ""
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class _Meta(msgspec.Struct, rename="camel"):
    uid: str = ""
    name: str = ""
    namespace: str = ""
    resource_version: str = ""
    owner_references: list[_Owner] | None = None
    finalizers: list[str] | None = None
    deletion_timestamp: str | None = None


class _Object(msgspec.Struct):
    metadata: _Meta


_decode = msgspec.json.Decoder(_Object).decode


@dataclasses.dataclass
class Node:
    resource: Resource
    meta: _Meta

    @property
    def owners(self) -> list[_Owner]:
        return self.meta.owner_references or []

    def waits_for(self, finalizer: str) -> bool:
        return bool(self.meta.deletion_timestamp) and finalizer in (self.meta.finalizers or ())


class Garbage:
    def __init__(self, client: port.Client, resources: Callable[[], Iterable[Resource]]) -> None:
        """resources: what can be listed and watched just now, each in one version."""
        self._client, self._resources = client, resources
        self._nodes: dict[str, Node] = {}
        self._dependents: dict[str, set[str]] = {}
        self._due: asyncio.Queue[str] = asyncio.Queue()
        self._queued: set[str] = set()
        self._watching: dict[Resource, asyncio.Task[None]] = {}
        self._changed = asyncio.Event()

    def resources_changed(self) -> None:
        self._changed.set()

    async def run(self) -> None:
        worker = asyncio.create_task(self._work())
        try:
            while True:
                self._changed.clear()
                self._follow(set(self._resources()))
                await self._changed.wait()
        finally:
            for task in (worker, *self._watching.values()):
                task.cancel()
            await asyncio.gather(worker, *self._watching.values(), return_exceptions=True)

    def _follow(self, wanted: set[Resource]) -> None:
        for resource in wanted - self._watching.keys():
            self._watching[resource] = asyncio.create_task(self._watch(resource))
        for resource in self._watching.keys() - wanted:
            self._watching.pop(resource).cancel()
            for uid in [uid for uid, node in self._nodes.items() if node.resource == resource]:
                self._forget(uid)

    async def _watch(self, resource: Resource) -> None:
        while True:
            try:
                version = await self._list(resource)
                while True:
                    async for change in self._client.watch(resource, None, resource_version=version):
                        version = self._saw(resource, change)
                    await asyncio.sleep(0)  # a watch that ends as soon as it begins must not keep everybody else from theirs
            except errors.ApiError as error:
                if not isinstance(error, errors.Expired):
                    log.warning("watch interrupted", extra={"resource": resource.plural, "error": str(error)})
                await asyncio.sleep(RETRY)

    async def _list(self, resource: Resource) -> str:
        before = {uid for uid, node in self._nodes.items() if node.resource == resource}
        version = ""
        async for page in self._client.pages(resource, None):
            version = page.resource_version
            for item in page.items:
                before.discard(self._learn(resource, item))
        for uid in before:
            self._forget(uid)
        return version

    def _saw(self, resource: Resource, change: port.Change) -> str:
        meta = _decode(change.object).metadata
        if change.type == "DELETED":
            self._forget(meta.uid)
        elif change.type != "BOOKMARK":
            self._learn(resource, change.object)
        return meta.resource_version

    def _learn(self, resource: Resource, value: bytes) -> str:
        node = Node(resource, _decode(value).metadata)
        uid = node.meta.uid
        before = self._nodes.get(uid)
        for owner in before.owners if before else ():
            self._dependents.get(owner.uid, set()).discard(uid)
        self._nodes[uid] = node
        for owner in node.owners:
            self._dependents.setdefault(owner.uid, set()).add(uid)
            if node.meta.deletion_timestamp:
                self._enqueue(owner.uid)
        if node.owners or node.waits_for(ORPHAN) or node.waits_for(FOREGROUND):
            self._enqueue(uid)
        if node.waits_for(FOREGROUND):
            self._enqueue_all(self._dependents.get(uid, ()))
        return uid

    def _forget(self, uid: str) -> None:
        node = self._nodes.pop(uid, None)
        for owner in node.owners if node else ():
            held = self._dependents.get(owner.uid, set())
            held.discard(uid)
            if not held:
                self._dependents.pop(owner.uid, None)
            self._enqueue(owner.uid)
        self._enqueue_all(self._dependents.get(uid, ()))

    def _enqueue_all(self, uids: Iterable[str]) -> None:
        for uid in list(uids):
            self._enqueue(uid)

    def _enqueue(self, uid: str) -> None:
        if uid in self._nodes and uid not in self._queued:
            self._queued.add(uid)
            self._due.put_nowait(uid)

    async def _work(self) -> None:
        while True:
            uid = await self._due.get()
            self._queued.discard(uid)
            try:
                await self._settle(uid)
            except (errors.NotFound, errors.Conflict):
                pass  # the watch tells what it is now, and brings it here again
            except errors.ApiError as error:
                log.warning("collecting failed", extra={"uid": uid, "error": str(error)})
                asyncio.get_running_loop().call_later(RETRY, self._enqueue, uid)

    async def _settle(self, uid: str) -> None:
        node = self._nodes.get(uid)
        if node is None:
            return
        if node.waits_for(ORPHAN):
            await self._let_go(node)
        elif node.waits_for(FOREGROUND):
            await self._go_first(node)
        elif node.owners and not node.meta.deletion_timestamp:
            await self._judge(node)

    async def _judge(self, node: Node) -> None:
        """An object goes when none of its owners is there, or the only ones left wait for it to go."""
        solid, waiting, gone = [], [], []
        for owner in node.owners:
            found = await self._owner(node, owner)
            if found is None:
                gone.append(owner)
            elif found.waits_for(FOREGROUND):
                waiting.append(owner)
            else:
                solid.append(owner)
        if solid:
            if gone or waiting:
                await self._without(node, {owner.uid for owner in (*gone, *waiting)})
            return
        has_blockers = any(self._nodes[each].owners for each in self._dependents.get(node.meta.uid, ()) if each in self._nodes)
        policy = "Foreground" if waiting and has_blockers else "Background"
        await self._client.delete(
            node.resource, node.meta.namespace or None, node.meta.name, uid=node.meta.uid, propagation=policy
        )
        log.info("collected", extra={"resource": node.resource.plural, "object": f"{node.meta.namespace}/{node.meta.name}"})

    async def _owner(self, node: Node, owner: _Owner) -> Node | None:
        if (known := self._nodes.get(owner.uid)) is not None:
            # An owner in another namespace is no owner: its uid must not keep anything alive.
            return known if known.meta.namespace in ("", node.meta.namespace) else None
        resource = next(
            (each for each in self._resources() if each.kind == owner.kind and each.group == _group(owner.api_version)), None
        )
        if resource is None:
            raise errors.ServerError(f"no resource is served for owner {owner.api_version} {owner.kind}")
        try:
            body = await self._client.get(resource, node.meta.namespace if resource.namespaced else None, owner.name)
        except errors.NotFound:
            return None
        found = Node(resource, _decode(body).metadata)
        return found if found.meta.uid == owner.uid else None

    async def _go_first(self, node: Node) -> None:
        blocking = [
            self._nodes[uid]
            for uid in self._dependents.get(node.meta.uid, ())
            if uid in self._nodes and _blocks(self._nodes[uid], node.meta.uid)
        ]
        if blocking:
            self._enqueue_all(each.meta.uid for each in blocking if not each.meta.deletion_timestamp)
            return
        await self._drop_finalizer(node, FOREGROUND)

    async def _let_go(self, node: Node) -> None:
        for uid in list(self._dependents.get(node.meta.uid, ())):
            if uid in self._nodes:
                await self._without(self._nodes[uid], {node.meta.uid})
        await self._drop_finalizer(node, ORPHAN)

    async def _without(self, node: Node, owners: set[str]) -> None:
        left = [each for each in node.owners if each.uid not in owners]
        await self._patch(node, {"ownerReferences": [msgspec.to_builtins(each) for each in left] or None})

    async def _drop_finalizer(self, node: Node, finalizer: str) -> None:
        left = [each for each in node.meta.finalizers or () if each != finalizer]
        await self._patch(node, {"finalizers": left or None})

    async def _patch(self, node: Node, changes: dict[str, object]) -> None:
        meta = {"uid": node.meta.uid, "resourceVersion": node.meta.resource_version, **changes}
        body = msgspec.json.encode({"metadata": meta})
        await self._client.patch(node.resource, node.meta.namespace or None, node.meta.name, body)


def _blocks(node: Node, owner: str) -> bool:
    return any(each.uid == owner and bool(each.block_owner_deletion) for each in node.owners)


def _group(api_version: str) -> str:
    return api_version.rpartition("/")[0]
