"""Maps kinds to resources with the discovery API, which is read once for each API version."""

from __future__ import annotations

import msgspec

from traincrew import errors
from traincrew.apimachinery import suggestions
from traincrew.client.remote import RemoteClient
from traincrew.model.resources import Resource


class _ApiResource(msgspec.Struct):
    name: str
    kind: str
    namespaced: bool = True


class _ApiResourceList(msgspec.Struct):
    resources: list[_ApiResource] = []


class RestMapping:
    def __init__(self, client: RemoteClient) -> None:
        self._client = client
        self._known: dict[str, list[_ApiResource]] = {}

    async def resource(self, api_version: str, kind: str, location: str) -> Resource:
        served = await self._resources(api_version, location)
        group, _, version = api_version.rpartition("/")
        for each in served:
            if each.kind == kind and "/" not in each.name:
                return Resource(group, version, each.name, kind, each.namespaced)
        suggestion = suggestions.did_you_mean(kind, [each.kind for each in served])
        raise errors.ManifestError(f'{location}: no matches for kind "{kind}" in version "{api_version}"{suggestion}')

    async def _resources(self, api_version: str, location: str) -> list[_ApiResource]:
        if api_version not in self._known:
            path = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
            try:
                raw = await self._client.fetch(path)
            except errors.NotFound:
                raise errors.ManifestError(f'{location}: the cluster does not serve version "{api_version}"') from None
            self._known[api_version] = msgspec.json.decode(raw, type=_ApiResourceList).resources
        return self._known[api_version]
