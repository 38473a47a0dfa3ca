"""The documents of discovery and OpenAPI, and how each is encoded."""

from __future__ import annotations

import platform
import zlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from traincrew.apimachinery.resource_info import ResourceInfo
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.discovery import aggregated
from traincrew.embedded.apiserver.discovery import documents as discovery_documents
from traincrew.embedded.apiserver.endpoints import content_negotiation, response_encoding
from traincrew.embedded.apiserver.openapi import documents, gnostic, v2
from traincrew.embedded.apiserver.schema import builtin_kinds

COMPRESSED = "/openapi/v2"
"""The one document that kube-apiserver compresses."""

Resources = Sequence[ResourceInfo]
Builder = Callable[[Resources], Object]


class PublishedDocument(NamedTuple):
    body: bytes
    etag: str
    compressed: bytes
    """With gzip; empty if the document is never compressed."""


def builder(resources: Resources, path: str, representation: content_negotiation.Representation, address: str) -> Builder | None:
    """None if there is no such document. It is fast: only the builder takes long, if there are many or large resources.

    address: the host and port of the server.
    """
    match path[1:].split("/"):
        case [""]:
            paths = ["/api", "/apis", "/healthz", "/livez", "/openapi/v3", "/readyz", "/version"]
            return lambda _: {"paths": paths}
        case ["version"]:
            return lambda _: _version()
        case ["api"]:
            aggregate = partial(aggregated.core, version=representation.version)
            return aggregate if representation.kind else lambda _: discovery_documents.core_versions(address)
        case ["apis"]:
            aggregate = partial(aggregated.groups, version=representation.version)
            return aggregate if representation.kind else discovery_documents.group_list
        case ["openapi", "v3"]:
            return lambda info: documents.index(_described(info))
        case ["openapi", "v2"]:
            return lambda info: v2.document(_described(info), builtin_kinds.described_definitions())
        case ["apis", group]:
            known = any(each.group == group for each in resources)
            return partial(_of_group, group=group) if group and known else None
        case ["api" | "apis" as root, *names] | ["openapi", "v3", "api" | "apis" as root, *names]:
            return _version_builder(resources, path.startswith("/openapi/"), ["", *names] if root == "api" else names)
    return None


def _version_builder(resources: Resources, is_openapi: bool, names: Sequence[str]) -> Builder | None:
    """names: group and version."""
    if len(names) != 2 or not discovery_documents.of_version(resources, *names):
        return None
    group, version = names
    if not is_openapi:
        return partial(_resource_list, group=group, version=version)
    if group and not discovery_documents.of_version(_described(resources), group, version):
        return None
    return partial(_openapi, group=group, version=version)


def build(build_content: Builder, resources: Resources, path: str, media_type: str) -> PublishedDocument:
    body = _encoded(path, media_type, build_content(resources))
    compressed = zlib.compress(body, zlib.Z_BEST_SPEED, wbits=31) if path == COMPRESSED else b""
    return PublishedDocument(body, aggregated.etag(body), compressed)


def _described(resources: Resources) -> Resources:
    return tuple(each for each in resources if each.schema)


def _of_group(resources: Resources, group: str) -> Object:
    return _existing(discovery_documents.group(resources, group))


def _resource_list(resources: Resources, group: str, version: str) -> Object:
    return _existing(discovery_documents.resource_list(resources, group, version))


def _openapi(resources: Resources, group: str, version: str) -> Object:
    served = _described(resources) if group else resources
    return _existing(documents.document(served, group, version, builtin_kinds.described_definitions()))


def _existing(document: Object | None) -> Object:
    assert document is not None
    return document


def _version() -> Object:
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    return discovery_documents.version(f"linux/{machine}", f"python{platform.python_version()}")


def _encoded(path: str, media_type: str, content: Object) -> bytes:
    """As kube-apiserver writes it: the version is indented, OpenAPI documents do not end with a newline."""
    if media_type == gnostic.RESPONSE_MEDIA_TYPE:
        return gnostic.encode(content)
    body = msgspec.json.encode(content)
    if path == "/version":
        return msgspec.json.format(body, indent=2)
    return body if path.startswith("/openapi/") else body + response_encoding.NEWLINE
