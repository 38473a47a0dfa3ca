"""Attributes of a write for admission plugins, and the listers that they read the cluster with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from traincrew.apimachinery import api_errors
from traincrew.apimachinery.resource_info import ResourceInfo
from traincrew.apimachinery.unstructured import Object

CREATE, UPDATE, DELETE = "CREATE", "UPDATE", "DELETE"


class AdmissionAttributes(NamedTuple):
    operation: str
    info: ResourceInfo
    namespace: str
    name: str
    subresource: str
    object: Object
    """The object as the write would store it. Mutating plugins change it in place."""
    old_object: Object | None = None
    annotations: dict[str, str] | None = None
    """Annotations of the audit event, to which plugins add theirs. None: the request is not audited."""

    def is_for(self, resource: str, *operations: str) -> bool:
        """Whether the write is one of these operations on an object of the resource as a whole, not on a subresource."""
        return self.info.store_name == resource and not self.subresource and self.operation in operations

    def forbidden(self, message: str) -> api_errors.StatusError:
        return api_errors.forbidden(api_errors.StatusDetails(self.info.plural, self.info.group, self.name), message)


class Listers(Protocol):
    """The objects of the cluster, by the names of their resources in the store."""

    def get(self, resource: str, namespace: str, name: str) -> Object | None: ...

    def list(self, resource: str, namespace: str) -> list[Object]: ...

    def list_accepted(self, resource: str, namespace: str) -> Sequence[Object]:
        """With writes that are accepted and not yet durable, in no order: for decisions about all objects together."""
        ...

    def default_priority_class(self) -> Object | None: ...
