"""A cache of the ConfigMaps and Secrets that pods refer to, kept up to date by watches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

import msgspec

from traincrew import errors
from traincrew.apimachinery.unstructured import Object
from traincrew.client import interfaces
from traincrew.embedded.kubelet.envvars.errors import ObjectNotFound
from traincrew.embedded.kubelet.envvars.variables import referenced_objects as named_by
from traincrew.embedded.kubelet.objects.object_watch import ObjectWatch, WatchedObjectKey
from traincrew.embedded.kubelet.objects.service_account_tokens import TokenCache, TokenRequest
from traincrew.model.resources import CONFIG_MAPS, SECRETS, VOLUME_CLAIMS, VOLUMES


class ObjectSource(Protocol):
    """The objects that volumes and environments need. ObjectNotFound: no such object; ApiError: the request failed."""

    async def get_config_map(self, namespace: str, name: str) -> Object: ...

    async def get_secret(self, namespace: str, name: str) -> Object: ...

    async def get_claim(self, namespace: str, name: str) -> Object: ...

    async def get_volume(self, name: str) -> Object: ...

    async def get_service_account_token(self, namespace: str, account: str, ask: TokenRequest) -> str: ...

    def register_pod(self, pod: Object) -> None:
        """Watches the objects that the pod refers to, until `unregister_pod`."""
        ...

    async def unregister_pod(self, uid: str) -> None: ...


class ObjectCache:
    """The `ObjectSource` of an API server. The permissions of a node suffice: each object is listed and watched by its name.

    on_change is called with a pod's uid when an object that it refers to has changed, or a token must be renewed.
    """

    def __init__(self, client: interfaces.Client, on_change: Callable[[str], None]) -> None:
        self._client, self._on_change = client, on_change
        self._watches: dict[WatchedObjectKey, ObjectWatch] = {}
        self._registered: dict[str, set[WatchedObjectKey]] = {}
        self.tokens = TokenCache(client, on_change)

    async def get_config_map(self, namespace: str, name: str) -> Object:
        return await self._get(WatchedObjectKey(CONFIG_MAPS, namespace, name))

    async def get_secret(self, namespace: str, name: str) -> Object:
        return await self._get(WatchedObjectKey(SECRETS, namespace, name))

    async def get_claim(self, namespace: str, name: str) -> Object:
        claim: Object = msgspec.json.decode(await self._client.get(VOLUME_CLAIMS, namespace, name))
        return claim

    async def get_volume(self, name: str) -> Object:
        volume: Object = msgspec.json.decode(await self._client.get(VOLUMES, None, name))
        return volume

    async def get_service_account_token(self, namespace: str, account: str, ask: TokenRequest) -> str:
        return await self.tokens.get(namespace, account, ask)

    def register_pod(self, pod: Object) -> None:
        uid, referenced = pod["metadata"]["uid"], set(referenced_objects(pod))
        before = self._registered.get(uid, set())
        self._registered[uid] = referenced
        for key in referenced - before:
            watch = self._watches.get(key)
            if watch is None:
                watch = self._watches[key] = ObjectWatch(self._client, key, self._changed)
                watch.start()
            watch.users.add(uid)
        for key in before - referenced:
            self._release(key, uid)

    async def unregister_pod(self, uid: str) -> None:
        for key in self._registered.pop(uid, set()):
            self._release(key, uid)
        self.tokens.forget(uid)

    async def close(self) -> None:
        for uid in list(self._registered):
            await self.unregister_pod(uid)

    def _release(self, key: WatchedObjectKey, uid: str) -> None:
        watch = self._watches.get(key)
        if watch is None:
            return
        watch.users.discard(uid)
        if not watch.users:
            del self._watches[key]
            watch.stop()

    def _changed(self, users: frozenset[str]) -> None:
        for uid in users:
            self._on_change(uid)

    async def _get(self, key: WatchedObjectKey) -> Object:
        watch = self._watches.get(key)
        if watch is not None:
            return await watch.get()
        try:
            fetched: Object = msgspec.json.decode(await self._client.get(key.resource, key.namespace, key.name))
        except errors.NotFound:
            raise ObjectNotFound(key.resource.kind.lower(), key.name) from None
        return fetched


def referenced_objects(pod: Object) -> Iterator[WatchedObjectKey]:
    """The ConfigMaps and Secrets that volumes and variables of the pod refer to."""
    namespace, spec = pod["metadata"]["namespace"], pod["spec"]
    for volume in spec.get("volumes") or ():
        projected = (volume.get("projected") or {}).get("sources") or ()
        for source in (volume, *projected):
            if reference := source.get("configMap"):
                yield WatchedObjectKey(CONFIG_MAPS, namespace, reference.get("name") or "")
            if reference := source.get("secret"):
                yield WatchedObjectKey(SECRETS, namespace, reference.get("secretName") or reference.get("name") or "")
    for container in (*(spec.get("initContainers") or ()), *spec["containers"]):
        maps, secrets = named_by(container)
        yield from (WatchedObjectKey(CONFIG_MAPS, namespace, name) for name in maps)
        yield from (WatchedObjectKey(SECRETS, namespace, name) for name in secrets)
