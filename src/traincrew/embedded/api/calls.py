"""A request after authentication, and its answer; the same whether it came over HTTP or from within the process."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

from traincrew.embedded.access.attributes import Attributes
from traincrew.embedded.access.users import User
from traincrew.embedded.api.queries import EMPTY, Query
from traincrew.embedded.refusals import Subject
from traincrew.embedded.served import Served

JSON = "application/json"


class Call(NamedTuple):
    user: User
    verb: str
    """As RBAC names it: create, get, list, watch, update, patch, delete, deletecollection."""
    served: Served
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    query: Query = EMPTY
    body: bytes = b""
    content_type: str = ""
    accept: str = ""
    agent: str = ""

    @property
    def asked(self) -> Attributes:
        """As rules see it."""
        return Attributes(self.verb, self.served.group, self.served.plural, self.subresource, self.namespace, self.name)

    @property
    def warnings(self) -> tuple[str, ...]:
        """That go with every answer."""
        return (self.served.deprecation,) if self.served.deprecation else ()

    @property
    def subject(self) -> Subject:
        return Subject(self.served.plural, self.served.group, self.name)


@dataclasses.dataclass
class Answer:
    code: int
    body: bytes
    warnings: tuple[str, ...] = ()
    content_type: str = JSON
