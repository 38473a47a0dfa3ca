"""The status of resource quotas: what is used. (Whether there is room is decided when objects are made, by counting.)"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable

import msgspec

from traincrew import errors
from traincrew.apimachinery import quota_usage
from traincrew.apimachinery.resource_info import Object
from traincrew.client import port
from traincrew.model.resources import Resource

log = logging.getLogger(__name__)

QUOTAS = Resource("", "v1", "resourcequotas", "ResourceQuota")
PERIOD = 2.0
"""Seconds between two counts; only while there are quotas at all."""


class Quotas:
    def __init__(self, client: port.Client, resources: Callable[[], Iterable[Resource]]) -> None:
        self._client, self._resources = client, resources

    async def run(self) -> None:
        while True:
            try:
                for found in await self._all(QUOTAS, None):
                    await self._count(found)
            except errors.ApiError as error:
                log.warning("counting quotas failed", extra={"error": str(error)})
            await asyncio.sleep(PERIOD)

    async def _all(self, resource: Resource, namespace: str | None) -> list[Object]:
        return [msgspec.json.decode(item) async for page in self._client.pages(resource, namespace) for item in page.items]

    async def _count(self, found: Object) -> None:
        namespace, hard = found["metadata"]["namespace"], found.get("spec", {}).get("hard") or {}
        held = [
            quota_usage.Request(each, resource.plural, resource.group)
            for resource in self._resources()
            if resource.namespaced and _counts(hard, resource)
            for each in await self._all(resource, namespace)
        ]
        status = {"hard": hard, "used": quota_usage.total(held, found)}
        if status != found.get("status"):
            meta = {"uid": found["metadata"]["uid"], "resourceVersion": found["metadata"]["resourceVersion"]}
            body = msgspec.json.encode({"metadata": meta, "status": status})
            try:
                await self._client.patch(QUOTAS, namespace, found["metadata"]["name"], body, subresource="status")
            except (errors.Conflict, errors.NotFound):
                return  # counted anew in a moment


def _counts(hard: Object, resource: Resource) -> bool:
    """Whether a quota of these limits asks for objects of this resource."""
    if resource.group:
        return f"count/{resource.plural}.{resource.group}" in hard
    if resource.plural == "pods":
        return True
    storage = resource.plural == "persistentvolumeclaims" and any("storage" in name for name in hard)
    return storage or any(resource.plural in name for name in hard)
