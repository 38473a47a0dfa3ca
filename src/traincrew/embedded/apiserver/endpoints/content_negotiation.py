"""Content negotiation: the representation of a response that a client accepts."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Mapping, Sequence

from traincrew.apimachinery import string_cache
from traincrew.apimachinery.api_errors import StatusError, router_error

JSON = "application/json"
YAML = "application/yaml"
SERVED = (JSON, YAML)
_KUBERNETES = (JSON, YAML, "application/vnd.kubernetes.protobuf")
"""The media types in error messages of kube-apiserver. Here no response is protobuf."""

OBJECT = _KUBERNETES
LIST = (*_KUBERNETES, "application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch")

MAX_CLAUSES = 100
"""Of an Accept header: further ones are ignored, because sorting them takes quadratic time."""

_META = tuple(("meta.k8s.io", version) for version in ("v1", "v1beta1"))
RESOURCES = frozenset((*gv, kind) for gv in _META for kind in ("Table", "PartialObjectMetadata", "PartialObjectMetadataList"))
"""The kinds that objects can be transformed into: (group, version, kind)."""

WATCHED_LISTS = frozenset(each for each in RESOURCES if each[2] != "Table")
"""The same for a watch with initial events and a bookmark at their end. It cannot be a table."""

DISCOVERY = frozenset(("apidiscovery.k8s.io", version, "APIGroupDiscoveryList") for version in ("v2", "v2beta1"))


@dataclasses.dataclass(frozen=True)
class Representation:
    media_type: str = JSON
    kind: str = ""
    """The kind that the response is transformed into; empty: it is not transformed."""
    group: str = ""
    version: str = ""
    pretty: bool = False

    @property
    def as_table(self) -> bool:
        return self.kind == "Table"

    @property
    def as_metadata(self) -> bool:
        return self.kind.startswith("PartialObjectMetadata")

    @property
    def yaml(self) -> bool:
        return self.media_type == YAML

    @property
    def content_type(self) -> str:
        if self.kind == "APIGroupDiscoveryList":
            return f"{self.media_type};g={self.group};v={self.version};as={self.kind}"
        return self.media_type


@dataclasses.dataclass(frozen=True)
class _Clause:
    type: str
    subtype: str
    quality: float
    parameters: Mapping[str, str]

    def matches(self, media_type: str) -> bool:
        type, _, subtype = media_type.partition("/")
        return (self.type in (type, "*") and self.subtype == "*") or (self.type == type and self.subtype == subtype)


def negotiate(
    header: str, transforms: frozenset[tuple[str, str, str]] = RESOURCES, listed: tuple[str, ...] = ()
) -> Representation:
    """Raises a 406. `listed` are the types by which built-in resources are routed: OBJECT, LIST; custom ones have none."""
    return (_cached if len(header) <= string_cache.MAX_KEY_LENGTH else _negotiate)(header, transforms, listed)


def _negotiate(header: str, transforms: frozenset[tuple[str, str, str]], listed: tuple[str, ...]) -> Representation:
    if listed and header and not _routed(header, listed):
        available = ", ".join(listed)
        raise router_error(406, "NotAcceptable", f"406: Not Acceptable\n\nAvailable representations: {available}")
    if not header:
        return Representation()
    for clause in _clauses(header):
        for media_type in SERVED:
            if clause.matches(media_type) and (form := _form(media_type, clause.parameters, transforms)):
                return form
    accepted = ", ".join(_KUBERNETES)
    raise StatusError(406, "NotAcceptable", f"only the following media types are accepted: {accepted}")


_cached = functools.lru_cache(maxsize=256)(_negotiate)


def _routed(header: str, listed: Sequence[str]) -> bool:
    media_types = [part.partition(";")[0].strip() for part in header.split(",")]
    return any(each == "*/*" or each in listed for each in media_types)


def _form(media_type: str, parameters: Mapping[str, str], transforms: frozenset[tuple[str, str, str]]) -> Representation | None:
    if parameters.get("stream", "watch") not in ("", "watch") or parameters.get("sv"):
        return None
    pretty = parameters.get("pretty") == "1"
    if not parameters.keys() & {"as", "g", "v"}:
        return Representation(media_type, pretty=pretty)
    group, version, kind = (parameters.get(each, "") for each in ("g", "v", "as"))
    if (group, version, kind) not in transforms:
        return None
    return Representation(media_type, kind, group, version, pretty)


def _clauses(header: str) -> list[_Clause]:
    """By preference: quality first, then specificity."""
    sorted_clauses: list[_Clause] = []
    for part in header.split(",", MAX_CLAUSES)[:MAX_CLAUSES]:
        if (clause := _clause(part)) is None:
            continue
        position = len(sorted_clauses)
        while position and _before(clause, sorted_clauses[position - 1]):
            position -= 1
        sorted_clauses.insert(position, clause)
    return sorted_clauses


def _before(one: _Clause, other: _Clause) -> bool:
    return one.quality > other.quality or (one.type != "*" and other.type == "*") or (one.subtype != "*" and other.subtype == "*")


def _clause(part: str) -> _Clause | None:
    media_type, *rest = part.strip(" ").split(";")
    type, slash, subtype = (each.strip(" ") for each in media_type.partition("/"))
    if type == "*" and not slash:
        subtype = "*"
    if not subtype or "/" in subtype:
        return None
    pairs = [pair.split("=") for pair in rest]
    parameters = {pair[0].strip(" "): pair[1].strip(" ") for pair in pairs if len(pair) == 2 and pair[1]}
    return _Clause(type, subtype, _quality(parameters.pop("q", "1")), parameters)


def _quality(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def accepts_gzip(header: str) -> bool:
    """Whether an Accept-Encoding header names gzip. `*` does not, as in kube-apiserver."""
    for clause in header.split(","):
        coding, *parameters = (part.strip().lower() for part in clause.split(";"))
        if coding == "gzip":
            return not any(re.fullmatch(r"q=0(\.0*)?", parameter) for parameter in parameters)
    return False
