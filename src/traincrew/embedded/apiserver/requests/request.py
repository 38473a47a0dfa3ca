"""An authenticated request and its response, over HTTP or from within the process."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

from traincrew.apimachinery.api_errors import StatusDetails
from traincrew.apimachinery.resource_info import ResourceInfo
from traincrew.embedded.apiserver.authn.users import User
from traincrew.embedded.apiserver.authz.attributes import Attributes, selected
from traincrew.embedded.apiserver.requests.query_parameters import EMPTY, Query
from traincrew.embedded.apiserver.storage.records import Key

JSON = "application/json"


class ApiRequest(NamedTuple):
    user: User
    verb: str
    """The verb of RBAC: create, get, list, watch, update, patch, delete or deletecollection."""
    info: ResourceInfo
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    query: Query = EMPTY
    body: bytes = b""
    content_type: str = ""
    accept: str = ""
    agent: str = ""
    annotations: dict[str, str] | None = None
    """Annotations of the audit event, to which admission plugins add theirs. None: the request is not audited."""

    @property
    def asked(self) -> Attributes:
        """Attributes for authorization. A namespace is in itself. A field selector may name the object."""
        info, name = self.info, self.name
        namespace = name if info.plural == "namespaces" and not info.group else self.namespace
        if self.verb in ("list", "watch") and not name:
            name = selected(self.query.text("fieldSelector"))
        return Attributes(self.verb, info.group, info.plural, self.subresource, namespace, name)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings of every response."""
        return (self.info.deprecation,) if self.info.deprecation else ()

    @property
    def key(self) -> Key:
        return Key(self.info.store_name, self.namespace, self.name)

    @property
    def subject(self) -> StatusDetails:
        return StatusDetails(self.info.plural, self.info.group, self.name)


@dataclasses.dataclass
class Response:
    code: int
    body: bytes
    warnings: tuple[str, ...] = ()
    content_type: str = JSON
    tail: bytes = b"\n"
    """Follows the body over HTTP: Go's encoder ends JSON that is not indented with a newline."""
