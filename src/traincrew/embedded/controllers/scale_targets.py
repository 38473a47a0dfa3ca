"""The scale subresource of any kind."""

from __future__ import annotations

import msgspec

from traincrew import errors
from traincrew.apimachinery.unstructured import Object
from traincrew.client import interfaces
from traincrew.model.resources import CRDS, Resource


class ScaleUnavailable(Exception):
    """The scale cannot be read; the message says why."""


class ScaleClient:
    def __init__(self, client: interfaces.Client) -> None:
        self._client = client
        self._plurals: dict[tuple[str, str], Resource] = {}

    async def find(self, reference: Object, namespace: str) -> tuple[Resource, Object]:
        """The resource that the reference names and the scale of its object. Raises ApiError."""
        group, _, version = reference.get("apiVersion", "v1").rpartition("/")
        kind = reference["kind"]
        known = self._plurals.get((group, kind)) or Resource(group, version, f"{kind.lower()}s", kind)
        try:
            return known, await self._read(known, namespace, reference["name"])
        except errors.NotFound:
            other = await self._defined(group, kind)
            if other is None or other == known:
                raise
        self._plurals[group, kind] = other
        return other, await self._read(other, namespace, reference["name"])

    async def read(self, reference: Object, namespace: str, name: str) -> Object | None:
        """None if the object does not exist; raises ScaleUnavailable if its kind has no scale."""
        try:
            return (await self.find({**reference, "name": name}, namespace))[1]
        except errors.NotFound as error:
            if error.message.endswith(f'"{name}" not found'):
                return None
            group = reference["apiVersion"].rpartition("/")[0]
            plural = f"{reference['kind'].lower()}s"
            titled = f"{plural}.{group}" if group else plural
            raise ScaleUnavailable(f"{titled} does not implement the scale subresource") from None

    async def _read(self, resource: Resource, namespace: str, name: str) -> Object:
        scale: Object = msgspec.json.decode(await self._client.get(resource, namespace, name, "scale"))
        return scale

    async def _defined(self, group: str, kind: str) -> Resource | None:
        """From the CRD, if the plural is irregular."""
        async for page in self._client.pages(CRDS, None):
            for item in page.items:
                spec = msgspec.json.decode(item)["spec"]
                if (spec["group"], spec["names"]["kind"]) == (group, kind):
                    version = next(each["name"] for each in spec["versions"] if each["served"])
                    return Resource(group, version, spec["names"]["plural"], kind)
        return None
