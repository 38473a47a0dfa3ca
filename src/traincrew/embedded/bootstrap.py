"""The bootstrap objects of a cluster: system namespaces, RBAC policy, CRDs, the operator's service account and rights.

They are applied at every start, by ordinary requests: changes by users are kept, deleted objects are created again, and
objects of another release are replaced.
"""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib

import msgspec

from traincrew import errors
from traincrew.apimachinery.unstructured import Object
from traincrew.client import interfaces
from traincrew.embedded.apiserver.authz import bootstrap_policy
from traincrew.model import resources
from traincrew.model.resources import CONFIG_MAPS, Resource

SYSTEM_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
CONFIG_MAP = "traincrew-bootstrap"
"""The ConfigMap in kube-system with a digest of each bootstrap object that was applied."""
FORMER_CONFIG_MAP = "traincrew-furniture"
"""The name of that ConfigMap in data directories of earlier versions: it is read once and deleted."""
PRIORITIES = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}


@dataclasses.dataclass(frozen=True)
class BootstrapObjects:
    namespaces: tuple[str, ...]
    crds: tuple[Object, ...]
    objects: tuple[Object, ...]
    """The operator's service account and rights."""


async def bootstrap(client: interfaces.Client, objects: BootstrapObjects) -> None:
    """Applies all objects, in parallel as far as possible: each write waits for the disk, parallel writes wait once."""
    namespaces = (*SYSTEM_NAMESPACES, *objects.namespaces)
    applied = await AppliedObjects.read(client)
    await asyncio.gather(
        *(ensure(client, resources.NAMESPACES, {"metadata": {"name": name}}) for name in namespaces),
        *(ensure(client, _rbac(document["kind"]), document) for document in bootstrap_policy.objects()),
        *(applied.apply(resources.CRDS, document) for document in objects.crds),
    )
    await asyncio.gather(
        *(ensure(client, resources.PRIORITY_CLASSES, _priority_class(name)) for name in PRIORITIES),
        *(applied.apply(_resource(document), document) for document in objects.objects),
    )
    await applied.write()


def _priority_class(name: str) -> Object:
    description = "Used for system critical pods that must run in the cluster."
    return {"metadata": {"name": name}, "value": PRIORITIES[name], "description": description}


def objects_in(objects: BootstrapObjects, namespace: str) -> list[tuple[Resource, Object]]:
    return [(_resource(each), each) for each in objects.objects if each["metadata"].get("namespace") == namespace]


async def ensure(client: interfaces.Client, resource: Resource, document: Object) -> None:
    """Creates the object if it does not exist."""
    meta = document["metadata"]
    try:
        await client.get(resource, meta.get("namespace"), meta["name"])
    except errors.NotFound:
        body = {"kind": resource.kind, "apiVersion": resource.api_version} | document
        await client.create(resource, meta.get("namespace"), msgspec.json.encode(body))


class AppliedObjects:
    """Digests of the bootstrap objects that were applied: an object of another release is recognised by its digest."""

    def __init__(self, client: interfaces.Client, current: dict[str, str] | None, former: dict[str, str] | None) -> None:
        """The digests in the ConfigMap of the current name, and in that of the former name. None: it does not exist."""
        self._client, self._current, self._former = client, current, former
        self._before = current or former or {}
        self._now: dict[str, str] = {}

    @staticmethod
    async def read(client: interfaces.Client) -> AppliedObjects:
        return AppliedObjects(client, await _digests(client, CONFIG_MAP), await _digests(client, FORMER_CONFIG_MAP))

    async def apply(self, resource: Resource, document: Object) -> None:
        """Creates the object, or replaces it if another release created it."""
        meta, client = document["metadata"], self._client
        key = f"{resource.plural}/{meta.get('namespace', '')}/{meta['name']}"
        self._now[key] = hashlib.sha256(msgspec.json.encode(document, order="sorted")).hexdigest()[:16]
        try:
            existing = msgspec.json.decode(await client.get(resource, meta.get("namespace"), meta["name"]))
        except errors.NotFound:
            await ensure(client, resource, document)
            return
        if self._before.get(key) != self._now[key]:
            newer = document | {"metadata": meta | {"resourceVersion": existing["metadata"]["resourceVersion"]}}
            await client.replace(resource, meta.get("namespace"), meta["name"], msgspec.json.encode(newer))

    async def write(self) -> None:
        data = {"digests": msgspec.json.encode(self._now, order="sorted").decode()}
        if self._current is None:
            await ensure(self._client, CONFIG_MAPS, {"metadata": {"name": CONFIG_MAP, "namespace": "kube-system"}, "data": data})
        elif self._now != self._current:
            await self._client.patch(CONFIG_MAPS, "kube-system", CONFIG_MAP, msgspec.json.encode({"data": data}))
        if self._former is not None:
            await self._client.delete(CONFIG_MAPS, "kube-system", FORMER_CONFIG_MAP)


async def _digests(client: interfaces.Client, name: str) -> dict[str, str] | None:
    try:
        config_map = msgspec.json.decode(await client.get(CONFIG_MAPS, "kube-system", name))
    except errors.NotFound:
        return None
    return msgspec.json.decode(config_map["data"]["digests"], type=dict[str, str])


_RESOURCES = {
    "ServiceAccount": resources.SERVICE_ACCOUNTS,
    "Namespace": resources.NAMESPACES,
    "PriorityClass": resources.PRIORITY_CLASSES,
}


def _resource(document: Object) -> Resource:
    return _RESOURCES.get(document["kind"]) or _rbac(document["kind"])


def _rbac(kind: str) -> Resource:
    return Resource("rbac.authorization.k8s.io", "v1", f"{kind.lower()}s", kind, not kind.startswith("Cluster"))
