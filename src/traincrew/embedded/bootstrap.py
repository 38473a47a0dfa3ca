"""What a cluster has from its first moment: namespaces, roles, the definitions of our kinds, the node, the operator's pod.

Everything is put there by requests like anybody's, at every start: what a user changed stays, what is missing comes back,
and definitions of an older release are brought up to date.
"""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib

import msgspec

from traincrew import errors
from traincrew.apimachinery.resource_info import Object
from traincrew.client import port
from traincrew.embedded.apiserver.authz import bootstrap_policy
from traincrew.embedded.pki import certificates
from traincrew.model import resources
from traincrew.model.resources import Resource

SYSTEM_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
LEDGER = "traincrew-furniture"
"""The ConfigMap in kube-system that tells what this, or another, release has brought: a digest of each document."""
PRIORITIES = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
NODES = Resource("", "v1", "nodes", "Node", namespaced=False)


@dataclasses.dataclass(frozen=True)
class Furniture:
    namespaces: tuple[str, ...]
    definitions: tuple[Object, ...]
    """CustomResourceDefinitions."""
    objects: tuple[Object, ...]
    """Whatever else: the operator's account and rights."""


async def furnish(client: port.Client, wanted: Furniture) -> None:
    """In parallel as far as one thing does not need another: each write waits for the disk, together they wait once."""
    names = (*SYSTEM_NAMESPACES, *wanted.namespaces)
    ledger = await Ledger.read(client)
    await asyncio.gather(
        *(ensure(client, resources.NAMESPACES, {"metadata": {"name": name}}) for name in names),
        *(ensure(client, _rbac(document["kind"]), document) for document in bootstrap_policy.objects()),
        *(ledger.up_to_date(resources.CRDS, document) for document in wanted.definitions),
    )
    await asyncio.gather(
        *(ensure(client, resources.PRIORITY_CLASSES, _priority(name)) for name in PRIORITIES),
        *(ledger.up_to_date(_resource(document), document) for document in wanted.objects),
        ensure(client, resources.SERVICES, _kubernetes_service()),
    )
    await ledger.write()


def _priority(name: str) -> Object:
    told = "for what the cluster itself cannot do without"
    return {"metadata": {"name": name}, "value": PRIORITIES[name], "description": told}


def within(wanted: Furniture, namespace: str) -> list[tuple[Resource, Object]]:
    """What of the furniture stands in that namespace."""
    return [(_resource(each), each) for each in wanted.objects if each["metadata"].get("namespace") == namespace]


async def reached_at(client: port.Client, number: int) -> None:
    """The service default/kubernetes leads to the port that the server listens on."""
    held = msgspec.json.decode(await client.get(resources.SERVICES, "default", "kubernetes"))
    ports = [{**each, "targetPort": number} for each in held["spec"]["ports"]]
    if ports != held["spec"]["ports"]:
        await client.patch(resources.SERVICES, "default", "kubernetes", msgspec.json.encode({"spec": {"ports": ports}}))


def _kubernetes_service() -> Object:
    spec = {
        "clusterIP": certificates.SERVICE_ADDRESS,
        "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}],
    }
    labels = {"component": "apiserver", "provider": "kubernetes"}
    return {"metadata": {"name": "kubernetes", "namespace": "default", "labels": labels}, "spec": spec}


async def ensure(client: port.Client, resource: Resource, document: Object) -> None:
    """Made if it is not there."""
    meta = document["metadata"]
    try:
        await client.get(resource, meta.get("namespace"), meta["name"])
    except errors.NotFound:
        titled = {"kind": resource.kind, "apiVersion": resource.api_version} | document
        await client.create(resource, meta.get("namespace"), msgspec.json.encode(titled))


class Ledger:
    """Which documents of ours are there, and of which release."""

    def __init__(self, client: port.Client, before: dict[str, str]) -> None:
        self._client, self._before, self._now = client, before, dict[str, str]()

    @staticmethod
    async def read(client: port.Client) -> Ledger:
        try:
            held = msgspec.json.decode(await client.get(resources.CONFIG_MAPS, "kube-system", LEDGER))
        except errors.NotFound:
            return Ledger(client, {})
        return Ledger(client, msgspec.json.decode(held["data"]["digests"], type=dict[str, str]))

    async def up_to_date(self, resource: Resource, document: Object) -> None:
        """Made, or replaced if another release of ours made it."""
        meta, client = document["metadata"], self._client
        place = f"{resource.plural}/{meta.get('namespace', '')}/{meta['name']}"
        self._now[place] = hashlib.sha256(msgspec.json.encode(document, order="sorted")).hexdigest()[:16]
        try:
            held = msgspec.json.decode(await client.get(resource, meta.get("namespace"), meta["name"]))
        except errors.NotFound:
            await ensure(client, resource, document)
            return
        if self._before.get(place) != self._now[place]:
            newer = document | {"metadata": meta | {"resourceVersion": held["metadata"]["resourceVersion"]}}
            await client.replace(resource, meta.get("namespace"), meta["name"], msgspec.json.encode(newer))

    async def write(self) -> None:
        if self._now == self._before:
            return
        data = {"digests": msgspec.json.encode(self._now, order="sorted").decode()}
        document = {"metadata": {"name": LEDGER, "namespace": "kube-system"}, "data": data}
        if not self._before:
            await ensure(self._client, resources.CONFIG_MAPS, document)
        else:
            body = msgspec.json.encode({"data": data})
            await self._client.patch(resources.CONFIG_MAPS, "kube-system", LEDGER, body)


_PLURALS = {"ServiceAccount": resources.SERVICE_ACCOUNTS, "Namespace": resources.NAMESPACES}


def _resource(document: Object) -> Resource:
    return _PLURALS.get(document["kind"]) or _rbac(document["kind"])


def _rbac(kind: str) -> Resource:
    return Resource("rbac.authorization.k8s.io", "v1", f"{kind.lower()}s", kind, not kind.startswith("Cluster"))
