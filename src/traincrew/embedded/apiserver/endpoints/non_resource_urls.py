"""Non-resource URLs: discovery, OpenAPI, version and health."""

from __future__ import annotations

import asyncio

from aiohttp import web

from traincrew.apimachinery import api_errors
from traincrew.embedded.apiserver.discovery import documents as discovery_documents
from traincrew.embedded.apiserver.endpoints import content_negotiation, published_documents
from traincrew.embedded.apiserver.endpoints.health_checks import HealthChecks
from traincrew.embedded.apiserver.endpoints.published_documents import PublishedDocument
from traincrew.embedded.apiserver.openapi import documents, gnostic
from traincrew.embedded.apiserver.registry.resources import Registry

HEALTH = ("/healthz", "/livez", "/readyz")


class NonResourceHandler:
    """Documents are built on first use, and again when the served resources change."""

    def __init__(self, registry: Registry, address: str, health: HealthChecks) -> None:
        self._registry, self.address, self._health = registry, address, health
        self._documents: dict[tuple[str, str], PublishedDocument] = {}
        self._digests: dict[tuple[str, str], str] = {}
        self._generation = -1
        self._building = asyncio.Lock()
        """Documents are built one after the other: two large ones would take twice the memory."""

    async def page(self, http_request: web.BaseRequest, path: str) -> web.Response:
        if path in HEALTH or path.startswith(tuple(f"{each}/" for each in HEALTH)):
            return self._health_page(http_request, path)
        path = path.removesuffix("/") or "/"
        representation = self._negotiate(path, http_request)
        if refreshed := await self._redirect(path, http_request):
            return refreshed
        key = (path, representation.content_type)
        self._forget_older()
        document = self._documents.get(key) or await self._built(key, representation)
        if http_request.method != "GET" and self._routed(path):
            raise api_errors.method_not_allowed()
        return _respond(http_request, key, document)

    def _forget_older(self) -> None:
        if self._generation != self._registry.generation:
            self._documents.clear()
            self._digests.clear()
            self._generation = self._registry.generation

    async def _built(self, key: tuple[str, str], representation: content_negotiation.Representation) -> PublishedDocument:
        """In a thread: with many custom resources it takes seconds, and other requests go on."""
        async with self._building:
            self._forget_older()
            resources, generation = tuple(self._registry), self._generation
            builder = published_documents.builder(resources, key[0], representation, self.address)
            if builder is None:
                raise self.missing(key[0])
            if key in self._documents:
                return self._documents[key]
            document = await asyncio.to_thread(published_documents.build, builder, resources, key[0], representation.media_type)
            if generation == self._registry.generation:
                self._documents[key] = document
            return document

    def _health_page(self, http_request: web.BaseRequest, path: str) -> web.Response:
        query = http_request.rel_url.query
        report = self._health.report(path, "verbose" in query, query.getall("exclude", []))
        if report is None:
            raise api_errors.page_not_found()
        headers = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-cache, private"}
        return web.Response(status=200 if report.healthy else 500, text=report.text, headers=headers)

    def missing(self, path: str) -> api_errors.StatusError | api_errors.PlainTextError:
        """The error for an unknown path: a Status from the router of the built-in groups, otherwise plain text."""
        if path.startswith("/openapi/v3/"):
            return api_errors.PlainTextError(404, "")
        return api_errors.path_not_found() if self._routed(path) else api_errors.page_not_found()

    def _routed(self, path: str) -> bool:
        parts = path.split("/")
        return parts[1] in ("api", "version") or (parts[1] == "apis" and len(parts) > 2 and parts[2] in self._registry.groups)

    def _negotiate(self, path: str, http_request: web.BaseRequest) -> content_negotiation.Representation:
        if path in ("/api", "/apis"):
            return content_negotiation.negotiate(http_request.headers.get("Accept", ""), content_negotiation.DISCOVERY)
        if path == "/openapi/v2" and gnostic.REQUESTED_MEDIA_TYPE in http_request.headers.get("Accept", ""):
            return content_negotiation.Representation(gnostic.RESPONSE_MEDIA_TYPE)
        return content_negotiation.Representation()

    async def _redirect(self, path: str, http_request: web.BaseRequest) -> web.Response | None:
        """Redirects a request with an outdated hash to the current document."""
        requested, parts = http_request.rel_url.query.get("hash"), path.strip("/").split("/")
        if not requested or parts[:2] != ["openapi", "v3"] or len(parts) < 4:
            return None
        current = await self._digest(*(("", parts[3]) if parts[2] == "api" else (parts[3], parts[-1])))
        return None if requested == current else web.Response(status=301, headers={"Location": f"{path}?hash={current}"})

    async def _digest(self, group: str, version: str) -> str:
        self._forget_older()
        key, generation = (group, version), self._generation
        if key in self._digests:
            return self._digests[key]
        resources = discovery_documents.of_version(tuple(self._registry), group, version)
        digest = await asyncio.to_thread(documents.digest, resources, group, version)
        if resources and generation == self._registry.generation:
            self._digests[key] = digest
        return digest


def _respond(http_request: web.BaseRequest, key: tuple[str, str], document: PublishedDocument) -> web.Response:
    cache_control = "public, immutable" if http_request.rel_url.query.get("hash") else "no-cache, private"
    content_type = "text/plain; charset=utf-8" if key[0] == "/openapi/v3" else key[1]  # as Kubernetes has it
    headers = {"Content-Type": content_type, "ETag": document.etag, "Vary": "Accept", "Cache-Control": cache_control}
    if http_request.headers.get("If-None-Match") == document.etag:
        return web.Response(status=304, headers=headers)
    if document.compressed and content_negotiation.accepts_gzip(http_request.headers.get("Accept-Encoding", "")):
        return web.Response(body=document.compressed, headers={**headers, "Content-Encoding": "gzip"})
    return web.Response(body=document.body, headers=headers)
