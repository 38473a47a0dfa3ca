"""Non-resource URLs: discovery, OpenAPI, version and health."""

from __future__ import annotations

import platform
import zlib
from typing import NamedTuple

import msgspec
from aiohttp import web

from traincrew.apimachinery import api_errors
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.discovery import aggregated
from traincrew.embedded.apiserver.discovery import documents as discovery_documents
from traincrew.embedded.apiserver.endpoints import content_negotiation, response_encoding
from traincrew.embedded.apiserver.endpoints.health_checks import HealthChecks
from traincrew.embedded.apiserver.openapi import documents, gnostic, v2
from traincrew.embedded.apiserver.registry.resources import Registry
from traincrew.embedded.apiserver.schema import builtin_kinds

HEALTH = ("/healthz", "/livez", "/readyz")
COMPRESSED = "/openapi/v2"
"""The one document that kube-apiserver compresses."""


class Document(NamedTuple):
    body: bytes
    etag: str
    compressed: bytes
    """With gzip; empty if the document is never compressed."""


class NonResourceHandler:
    """Documents are built on first use, and again when the served resources change."""

    def __init__(self, registry: Registry, address: str, health: HealthChecks) -> None:
        self._registry, self.address, self._health = registry, address, health
        self._documents: dict[tuple[str, str], Document] = {}
        self._generation = -1

    def page(self, http_request: web.BaseRequest, path: str) -> web.Response:
        if path in HEALTH or path.startswith(tuple(f"{each}/" for each in HEALTH)):
            return self._health_page(http_request, path)
        path = path.removesuffix("/") or "/"
        representation = self._negotiate(path, http_request)
        if refreshed := self._redirect(path, http_request):
            return refreshed
        if self._generation != self._registry.generation:
            self._documents.clear()
            self._generation = self._registry.generation
        key = (path, representation.content_type)
        if key not in self._documents:
            content = self._document(path, representation)
            if content is None:
                raise self.missing(path)
            body = _encoded(path, representation, content)
            compressed = zlib.compress(body, zlib.Z_BEST_SPEED, wbits=31) if path == COMPRESSED else b""
            self._documents[key] = Document(body, aggregated.etag(body), compressed)
        if http_request.method != "GET" and self._routed(path):
            raise api_errors.method_not_allowed()
        return self._respond(http_request, key)

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

    def _redirect(self, path: str, http_request: web.BaseRequest) -> web.Response | None:
        """Redirects a request with an outdated hash to the current document."""
        requested, parts = http_request.rel_url.query.get("hash"), path.strip("/").split("/")
        if not requested or parts[:2] != ["openapi", "v3"] or len(parts) < 4:
            return None
        group, version = ("", parts[3]) if parts[2] == "api" else (parts[3], parts[-1])
        current = documents.digest(tuple(self._registry), group, version)
        return None if requested == current else web.Response(status=301, headers={"Location": f"{path}?hash={current}"})

    def _respond(self, http_request: web.BaseRequest, key: tuple[str, str]) -> web.Response:
        body, etag, compressed = self._documents[key]
        cache_control = "public, immutable" if http_request.rel_url.query.get("hash") else "no-cache, private"
        content_type = "text/plain; charset=utf-8" if key[0] == "/openapi/v3" else key[1]  # as Kubernetes has it
        headers = {"Content-Type": content_type, "ETag": etag, "Vary": "Accept", "Cache-Control": cache_control}
        if http_request.headers.get("If-None-Match") == etag:
            return web.Response(status=304, headers=headers)
        if compressed and content_negotiation.accepts_gzip(http_request.headers.get("Accept-Encoding", "")):
            return web.Response(body=compressed, headers={**headers, "Content-Encoding": "gzip"})
        return web.Response(body=body, headers=headers)

    def _document(self, path: str, representation: content_negotiation.Representation) -> Object | None:
        info = tuple(self._registry)
        if path == "/version":
            machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
            return discovery_documents.version(f"linux/{machine}", f"python{platform.python_version()}")
        if path == "/api":
            return (
                aggregated.core(info, representation.version)
                if representation.kind
                else discovery_documents.core_versions(self.address)
            )
        if path == "/apis":
            return (
                aggregated.groups(info, representation.version) if representation.kind else discovery_documents.group_list(info)
            )
        described = tuple(each for each in info if each.schema)
        if path == "/openapi/v3":
            return documents.index(described)
        if path == "/openapi/v2":
            return v2.document(described, builtin_kinds.described_definitions())
        if path == "/":
            return {"paths": ["/api", "/apis", "/healthz", "/livez", "/openapi/v3", "/readyz", "/version"]}
        return self._group_document(path[1:].split("/"))

    def _group_document(self, parts: list[str]) -> Object | None:
        info = tuple(self._registry)
        match parts:
            case ["api", version]:
                return discovery_documents.resource_list(info, "", version)
            case ["apis", group]:
                return discovery_documents.group(info, group)
            case ["apis", group, version]:
                return discovery_documents.resource_list(info, group, version)
            case ["openapi", "v3", "api", version]:
                return documents.document(info, "", version, builtin_kinds.described_definitions())
            case ["openapi", "v3", "apis", group, version]:
                described = tuple(each for each in info if each.schema)
                return documents.document(described, group, version, builtin_kinds.described_definitions())
        return None


def _encoded(path: str, representation: content_negotiation.Representation, content: Object) -> bytes:
    """As kube-apiserver writes it: the version is indented, OpenAPI documents do not end with a newline."""
    if representation.media_type == gnostic.RESPONSE_MEDIA_TYPE:
        return gnostic.encode(content)
    body = msgspec.json.encode(content)
    if path == "/version":
        return msgspec.json.format(body, indent=2)
    return body if path.startswith("/openapi/") else body + response_encoding.NEWLINE
