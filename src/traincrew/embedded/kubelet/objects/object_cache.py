"""Where the objects come from that pods name: the API server, with a copy of what the pods of this node use kept by watches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import msgspec

from traincrew import errors
from traincrew.client import port
from traincrew.embedded.kubelet.environment.errors import ObjectNotFound
from traincrew.embedded.kubelet.environment.variables import referenced_objects as named_by
from traincrew.embedded.kubelet.objects.object_watch import ObjectKey, ObjectWatch
from traincrew.embedded.kubelet.objects.service_account_tokens import TokenCache, TokenRequest
from traincrew.model.resources import CONFIG_MAPS, SECRETS, Resource

Object = dict[str, Any]

CLAIMS = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
VOLUMES = Resource("", "v1", "persistentvolumes", "PersistentVolume", namespaced=False)


class ObjectSource(Protocol):
    """What volumes and environments are made of. Missing: there is no such object; ApiError: it cannot be known."""

    async def get_config_map(self, namespace: str, name: str) -> Object: ...

    async def get_secret(self, namespace: str, name: str) -> Object: ...

    async def get_claim(self, namespace: str, name: str) -> Object: ...

    async def get_volume(self, name: str) -> Object: ...

    async def get_service_account_token(self, namespace: str, account: str, ask: TokenRequest) -> str: ...

    def follow(self, pod: Object) -> None:
        """From now on the objects that the pod names are watched, until `forget`."""
        ...

    async def forget(self, uid: str) -> None: ...


class ObjectCache:
    """`Objects` of an API server. A node's rights suffice: each object is listed and watched by its name.

    on_change is called with a pod's uid when something that it shows has changed, appeared or gone, or a token of it grows old.
    """

    def __init__(self, client: port.Client, on_change: Callable[[str], None]) -> None:
        self._client, self._on_change = client, on_change
        self._followers: dict[ObjectKey, ObjectWatch] = {}
        self._followed: dict[str, set[ObjectKey]] = {}
        self.tokens = TokenCache(client, on_change)

    async def get_config_map(self, namespace: str, name: str) -> Object:
        return await self._get(ObjectKey(CONFIG_MAPS, namespace, name))

    async def get_secret(self, namespace: str, name: str) -> Object:
        return await self._get(ObjectKey(SECRETS, namespace, name))

    async def get_claim(self, namespace: str, name: str) -> Object:
        found: Object = msgspec.json.decode(await self._client.get(CLAIMS, namespace, name))
        return found

    async def get_volume(self, name: str) -> Object:
        found: Object = msgspec.json.decode(await self._client.get(VOLUMES, None, name))
        return found

    async def get_service_account_token(self, namespace: str, account: str, ask: TokenRequest) -> str:
        return await self.tokens.get(namespace, account, ask)

    def follow(self, pod: Object) -> None:
        uid, wanted = pod["metadata"]["uid"], set(referenced_objects(pod))
        before = self._followed.get(uid, set())
        self._followed[uid] = wanted
        for key in wanted - before:
            follower = self._followers.get(key)
            if follower is None:
                follower = self._followers[key] = ObjectWatch(self._client, key, self._changed)
                follower.start()
            follower.users.add(uid)
        for key in before - wanted:
            self._leave(key, uid)

    async def forget(self, uid: str) -> None:
        for key in self._followed.pop(uid, set()):
            self._leave(key, uid)
        self.tokens.forget(uid)

    async def close(self) -> None:
        for uid in list(self._followed):
            await self.forget(uid)

    def _leave(self, key: ObjectKey, uid: str) -> None:
        follower = self._followers.get(key)
        if follower is None:
            return
        follower.users.discard(uid)
        if not follower.users:
            del self._followers[key]
            follower.stop()

    def _changed(self, users: frozenset[str]) -> None:
        for uid in users:
            self._on_change(uid)

    async def _get(self, key: ObjectKey) -> Object:
        follower = self._followers.get(key)
        if follower is not None:
            return await follower.get()
        try:
            found: Object = msgspec.json.decode(await self._client.get(key.resource, key.namespace, key.name))
        except errors.NotFound:
            raise ObjectNotFound(key.resource.kind.lower(), key.name) from None
        return found


def referenced_objects(pod: Object) -> Iterator[ObjectKey]:
    """The config maps and secrets that volumes and variables of the pod come from."""
    namespace, spec = pod["metadata"]["namespace"], pod["spec"]
    for volume in spec.get("volumes") or ():
        projected = (volume.get("projected") or {}).get("sources") or ()
        for source in (volume, *projected):
            if found := source.get("configMap"):
                yield ObjectKey(CONFIG_MAPS, namespace, found.get("name") or "")
            if found := source.get("secret"):
                yield ObjectKey(SECRETS, namespace, found.get("secretName") or found.get("name") or "")
    for container in (*(spec.get("initContainers") or ()), *spec["containers"]):
        maps, secrets = named_by(container)
        yield from (ObjectKey(CONFIG_MAPS, namespace, name) for name in maps)
        yield from (ObjectKey(SECRETS, namespace, name) for name in secrets)
