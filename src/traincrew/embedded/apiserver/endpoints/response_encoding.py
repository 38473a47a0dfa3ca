"""Answers in the form that was asked for: the object, its metadata or a table; as JSON, indented JSON or YAML."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from traincrew.apimachinery import api_errors
from traincrew.apimachinery.resource_info import ResourceInfo
from traincrew.embedded.apiserver.endpoints import content_negotiation
from traincrew.embedded.apiserver.printers import partial_metadata, tables
from traincrew.embedded.apiserver.requests.request import JSON, Request, Response
from traincrew.embedded.apiserver.requests.scope import RequestScope, encoded

FOR_PEOPLE = ("curl", "Wget", "Mozilla/5.0")
"""User agents whose answers somebody reads."""
NO_TRANSFORMS: frozenset[tuple[str, str, str]] = frozenset()


class Wire(NamedTuple):
    """How a body is written."""

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
    import yaml  # few ask for it

    content = msgspec.json.decode(body)
    text: bytes = yaml.dump(content, Dumper=yaml.CSafeDumper, allow_unicode=True, encoding="utf-8")
    return text


class Pieces(NamedTuple):
    """A body in parts."""

    content_type: str
    parts: Iterator[bytes]

    def __iter__(self) -> Iterator[bytes]:  # type: ignore[override]
        return self.parts


def wire(form: content_negotiation.Form, pretty: str, agent: str) -> Wire:
    return Wire(
        form.media_type,
        form.pretty or (pretty in ("1", "t", "T", "TRUE", "true", "True") if pretty else agent.startswith(FOR_PEOPLE)),
    )


def of(request: Request, form: content_negotiation.Form) -> Wire:
    return wire(form, request.query.text("pretty"), request.agent)


def of_refusal(header: str, pretty: str, agent: str) -> Wire:
    """A refusal is not hidden behind the fault of a client that would not read it."""
    try:
        return wire(content_negotiation.choose(header, NO_TRANSFORMS), pretty, agent)
    except api_errors.StatusError:
        return Wire(pretty=True)


def form(request: Request, listed: tuple[str, ...] = content_negotiation.OBJECT) -> content_negotiation.Form:
    """Raises a 406. Built-in resources are routed by what they can be given as; custom ones are not."""
    return content_negotiation.choose(
        request.accept, content_negotiation.RESOURCES, listed if request.info.definition is None else ()
    )


def rendered(scope: RequestScope, request: Request, wanted: content_negotiation.Form, response: Response) -> Response:
    """An object that was answered, in that form. What it says of itself tells whether it can be turned into another."""
    if wanted.kind:
        response.body = _turned(scope, request, wanted, response.body)
    how = of(request, wanted)
    if not how.plain:
        response.body, response.content_type = how.encode(response.body), how.content_type
    return response


class _Titled(msgspec.Struct):
    kind: str = ""


_title = msgspec.json.Decoder(_Titled).decode


def _turned(scope: RequestScope, request: Request, wanted: content_negotiation.Form, body: bytes) -> bytes:
    kind = _title(body).kind
    if kind == "Status" or kind.endswith("List"):
        return body
    if wanted.kind == "PartialObjectMetadataList":
        raise partial_metadata.not_a_list(request.info)
    if wanted.as_metadata:
        return encoded(partial_metadata.object_metadata(body, wanted.version))
    printed = _printed(request.info, kind)
    return encoded(tables.table(printed, [body], include=include(request), now=scope.clock(), version=wanted.version))


def _printed(info: ResourceInfo, kind: str) -> ResourceInfo:
    return tables.scaled(info) if kind == "Scale" else info


def include(request: Request) -> str:
    return request.query.text("includeObject") or "Metadata"
