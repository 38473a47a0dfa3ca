"""A served API resource: its names, verbs and schema."""

from __future__ import annotations

import dataclasses
from typing import Any

from traincrew.apimachinery.unstructured import Object

Schema = dict[str, Any]
"""A structural OpenAPI schema. References are resolved by sharing: the graph of dicts may be cyclic. Do not change it.

Built-in kinds and CRDs use the same keywords: type, properties, items, additionalProperties, required, default, enum, format,
pattern, nullable, and x-kubernetes-: list-type, list-map-keys, map-type, patch-merge-key, patch-strategy,
preserve-unknown-fields, int-or-string, embedded-resource, validations.
"""

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclasses.dataclass(frozen=True)
class Subresource:
    name: str
    kind: str
    verbs: tuple[str, ...]
    group: str = ""
    """Group and version of the body if they differ from those of the resource: `autoscaling`, `v1` for a scale."""
    version: str = ""


@dataclasses.dataclass(frozen=True)
class Column:
    """A column of a server-side table. The path is a JSONPath, as in additionalPrinterColumns."""

    name: str
    type: str
    path: str
    description: str = ""
    format: str = ""
    priority: int = 0


@dataclasses.dataclass(frozen=True, eq=False)
class ResourceInfo:
    """A resource in one of its served versions."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool
    schema: Schema
    singular: str = ""
    list_kind: str = ""
    verbs: tuple[str, ...] = ALL_VERBS
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[Subresource, ...] = ()
    columns: tuple[Column, ...] = ()
    storage_version: str = ""
    """The storage version; empty: this version."""
    stored_schema: Schema = dataclasses.field(default_factory=dict)
    """Of a custom resource: the schema of the storage version."""
    since: int = 0
    """Of a custom resource: the revision of its CRD. Older objects may not match the schema."""
    deprecation: str = ""
    """The deprecation warning for clients."""
    stored_as: ResourceInfo | None = None
    """The resource in whose form objects are stored, if it differs: see builtin/conversions.py."""
    definition: Object | None = None
    """The CustomResourceDefinition; None for built-in resources."""
    selectable: tuple[str, ...] = ()
    """Field paths that field selectors may use, beside metadata.name and metadata.namespace."""

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def store_name(self) -> str:
        """The same for all versions: `pods`, `pytorchjobs.kubeflow.org`."""
        if self.stored_as is not None:
            return self.stored_as.store_name
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def subresource(self, name: str) -> Subresource | None:
        return next((each for each in self.subresources if each.name == name), None)
