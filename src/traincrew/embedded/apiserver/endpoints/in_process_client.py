"""A client within the process of the API server: the same handler and the same responses, without HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import msgspec

from traincrew import errors
from traincrew.apimachinery import api_errors
from traincrew.client import interfaces, status_errors, watch_stream
from traincrew.embedded.apiserver.authn.users import User
from traincrew.embedded.apiserver.endpoints import patch as endpoints_patch
from traincrew.embedded.apiserver.endpoints import version_conversion
from traincrew.embedded.apiserver.endpoints.dispatch import Handler
from traincrew.embedded.apiserver.requests.query_parameters import Query
from traincrew.embedded.apiserver.requests.request import JSON, ApiRequest
from traincrew.model.resources import Resource

PATCH_CONTENT_TYPES = {"merge": endpoints_patch.MERGE, "json": endpoints_patch.JSON, "strategic": endpoints_patch.STRATEGIC}
PAGE_SIZE = 500
EVENTS_PER_TURN = 32
"""Watch events that are delivered before other tasks get their turn."""
MAX_IN_FLIGHT = 16
"""Concurrent requests of one client, as connections limit them over HTTP. Otherwise hundreds of requests that are sent together
would be handled before any other task gets its turn."""


class InProcessClient:
    """A `port.Client` with the permissions of a user."""

    def __init__(self, handler: Handler, user: User, agent: str = "traincrew") -> None:
        self._handler, self._user, self._agent = handler, user, agent
        self._turns = asyncio.Semaphore(MAX_IN_FLIGHT)

    def _request(self, verb: str, resource: Resource, namespace: str | None, name: str = "", subresource: str = "") -> ApiRequest:
        info = self._handler.scope.registry.find(resource.group, resource.version, resource.plural)
        if info is None:
            raise _api_error(api_errors.path_not_found())
        scope = (namespace or "") if info.namespaced else ""
        annotations = self._handler.audit.new_annotations()
        return ApiRequest(self._user, verb, info, scope, name, subresource, agent=self._agent, annotations=annotations)

    async def _send(self, request: ApiRequest) -> bytes:
        try:
            async with self._turns:
                with self._handler.audit.record_in_process(request):
                    return (await self._handler.handle(request)).body
        except api_errors.StatusError as error:
            raise _api_error(error) from None

    async def get(self, resource: Resource, namespace: str | None, name: str, subresource: str = "") -> bytes:
        return await self._send(self._request("get", resource, namespace, name, subresource))

    async def pages(
        self, resource: Resource, namespace: str | None, *, labels: str = "", fields: str = ""
    ) -> AsyncGenerator[interfaces.Page, None]:
        request = self._request("list", resource, namespace)
        query = {"limit": [str(PAGE_SIZE)], "labelSelector": [labels], "fieldSelector": [fields]}
        while True:
            try:
                requested = request._replace(query=Query(query))
                with self._handler.audit.record_in_process(requested):
                    page = await self._handler.list_records(requested)
            except api_errors.StatusError as error:
                raise _api_error(error) from None
            yield interfaces.Page(
                [version_conversion.encoded_item(each, request.info) for each in page.records], str(page.revision)
            )
            if not page.continued:
                return
            query["continue"] = [page.continued]
            await asyncio.sleep(0)

    async def watch(
        self, resource: Resource, namespace: str | None, *, labels: str = "", fields: str = "", resource_version: str
    ) -> AsyncGenerator[interfaces.WatchEvent, None]:
        chosen = {"labelSelector": [labels], "fieldSelector": [fields]}
        query = Query({**chosen, "resourceVersion": [resource_version], "allowWatchBookmarks": ["true"]})
        request = self._request("watch", resource, namespace)._replace(query=query)
        try:
            with self._handler.audit.record_in_process(request):
                watch = self._handler.watch(request)
        except api_errors.StatusError as error:
            raise _api_error(error) from None
        yield watch_stream.bookmark(resource_version)
        async for batch in watch.events():
            for number, event in enumerate(batch, 1):
                if event.type == "ERROR":
                    raise status_errors.watch_error(event.object)
                if number % EVENTS_PER_TURN == 0:
                    await asyncio.sleep(0)
                yield interfaces.WatchEvent(event.type, event.object)  # type: ignore[arg-type]

    async def create(
        self, resource: Resource, namespace: str | None, body: bytes, *, strict: bool = False, dry_run: bool = False
    ) -> bytes:
        request = self._request("create", resource, namespace)._replace(body=body, content_type=JSON)
        options = ({"fieldValidation": ["Strict"]} if strict else {}) | ({"dryRun": ["All"]} if dry_run else {})
        return await self._send(request._replace(query=Query(options)) if options else request)

    async def post(self, resource: Resource, namespace: str | None, name: str, subresource: str, body: bytes) -> bytes:
        request = self._request("create", resource, namespace, name, subresource)
        return await self._send(request._replace(body=body, content_type=JSON))

    async def replace(self, resource: Resource, namespace: str | None, name: str, body: bytes, subresource: str = "") -> bytes:
        request = self._request("update", resource, namespace, name, subresource)
        return await self._send(request._replace(body=body, content_type=JSON))

    async def patch(
        self,
        resource: Resource,
        namespace: str | None,
        name: str,
        body: bytes,
        *,
        subresource: str = "",
        type: interfaces.PatchType = "merge",
    ) -> bytes:
        request = self._request("patch", resource, namespace, name, subresource)
        return await self._send(request._replace(body=body, content_type=PATCH_CONTENT_TYPES[type]))

    async def delete(
        self,
        resource: Resource,
        namespace: str | None,
        name: str,
        *,
        uid: str = "",
        version: str = "",
        propagation: str = "",
        grace: int | None = None,
    ) -> bytes:
        request = self._request("delete", resource, namespace, name)
        return await self._send(
            request._replace(body=interfaces.delete_options(uid, version, propagation, grace), content_type=JSON)
        )


def _api_error(error: api_errors.StatusError) -> errors.ApiError:
    return status_errors.error(error.code, msgspec.json.encode(error.status()))
