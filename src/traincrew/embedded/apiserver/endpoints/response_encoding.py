"""Responses in the negotiated representation: object, metadata or table; as JSON, indented JSON or YAML."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from traincrew.apimachinery import api_errors
from traincrew.apimachinery.resource_info import ResourceInfo
from traincrew.embedded.apiserver.endpoints import content_negotiation
from traincrew.embedded.apiserver.printers import partial_metadata, tables
from traincrew.embedded.apiserver.requests.request import JSON, ApiRequest, Response
from traincrew.embedded.apiserver.requests.scope import RequestScope, encoded

PRETTY_USER_AGENTS = ("curl", "Wget", "Mozilla/5.0")
"""User agents whose responses are shown to people."""
NEWLINE = b"\n"
"""Ends JSON that is not indented, as Go's encoder ends it."""
NO_TRANSFORMS: frozenset[tuple[str, str, str]] = frozenset()


class Serializer(NamedTuple):
    """Writes bodies in a media type."""

    content_type: str = JSON
    pretty: bool = False

    def encode(self, body: bytes) -> bytes:
        if self.content_type == content_negotiation.YAML:
            return _yaml(body)
        return msgspec.json.format(body, indent=2) if self.pretty else body

    @property
    def plain(self) -> bool:
        return self.content_type == JSON and not self.pretty


def _yaml(body: bytes) -> bytes:
    import yaml  # imported lazily: few clients request YAML

    content = msgspec.json.decode(body)
    text: bytes = yaml.dump(content, Dumper=yaml.CSafeDumper, allow_unicode=True, encoding="utf-8")
    return text


class ChunkedBody(NamedTuple):
    """A body that is sent in chunks."""

    content_type: str
    parts: Iterator[bytes]

    def __iter__(self) -> Iterator[bytes]:  # type: ignore[override]
        return self.parts


def serializer(representation: content_negotiation.Representation, pretty: str, agent: str) -> Serializer:
    return Serializer(
        representation.media_type,
        representation.pretty
        or (pretty in ("1", "t", "T", "TRUE", "true", "True") if pretty else agent.startswith(PRETTY_USER_AGENTS)),
    )


def serializer_for(request: ApiRequest, representation: content_negotiation.Representation) -> Serializer:
    return serializer(representation, request.query.text("pretty"), request.agent)


def error_serializer(header: str, pretty: str, agent: str) -> Serializer:
    """An error is sent even to a client that accepts none of our media types."""
    try:
        return serializer(content_negotiation.negotiate(header, NO_TRANSFORMS), pretty, agent)
    except api_errors.StatusError:
        return Serializer(pretty=True)


def negotiate(request: ApiRequest, listed: tuple[str, ...] = content_negotiation.OBJECT) -> content_negotiation.Representation:
    """Raises a 406. Built-in resources are routed by the media types that they can be served in; custom resources are not."""
    return content_negotiation.negotiate(
        request.accept, content_negotiation.RESOURCES, listed if request.info.definition is None else ()
    )


def transform(
    scope: RequestScope, request: ApiRequest, representation: content_negotiation.Representation, response: Response
) -> Response:
    """The response in this representation. Its kind determines whether it can be transformed."""
    if representation.kind:
        response.body = _transformed(scope, request, representation, response.body)
    chosen = serializer_for(request, representation)
    if not chosen.plain:
        response.body, response.content_type, response.tail = chosen.encode(response.body), chosen.content_type, b""
    return response


class _Titled(msgspec.Struct):
    kind: str = ""


_title = msgspec.json.Decoder(_Titled).decode


def _transformed(
    scope: RequestScope, request: ApiRequest, representation: content_negotiation.Representation, body: bytes
) -> bytes:
    kind = _title(body).kind
    if kind == "Status" or kind.endswith("List"):
        return body
    if representation.kind == "PartialObjectMetadataList":
        raise partial_metadata.not_a_list(request.info)
    if representation.as_metadata:
        return encoded(partial_metadata.object_metadata(body, representation.version))
    printed = _printed(request.info, kind)
    return encoded(
        tables.table(printed, [body], include=include_object(request), now=scope.clock(), version=representation.version)
    )


def _printed(info: ResourceInfo, kind: str) -> ResourceInfo:
    return tables.scaled(info) if kind == "Scale" else info


def include_object(request: ApiRequest) -> str:
    return request.query.text("includeObject") or "Metadata"
