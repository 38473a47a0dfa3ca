"""A resource as an API server serves it: its names, its verbs, its schema."""

from __future__ import annotations

import dataclasses
from typing import Any

Object = dict[str, Any]
"""A Kubernetes object as decoded JSON."""

Schema = dict[str, Any]
"""A structural OpenAPI schema. References are resolved by sharing: the graph of dicts may be cyclic, and nobody changes it.

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
    """Group and version of the body's kind, where they are not the resource's own: `autoscaling`, `v1` for a scale."""
    version: str = ""


@dataclasses.dataclass(frozen=True)
class Column:
    """One column of a server-side table; path as in a CRD's additionalPrinterColumns."""

    name: str
    type: str
    path: str
    description: str = ""
    format: str = ""
    priority: int = 0


@dataclasses.dataclass(frozen=True, eq=False)
class ResourceInfo:
    """One resource in one of its served versions."""

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
    """The version that objects are kept in; empty: this one."""
    stored_schema: Schema = dataclasses.field(default_factory=dict)
    """Of a custom resource: the schema of the version that objects are kept in."""
    since: int = 0
    """Of a custom resource: the revision of its definition. Objects that are older may not be what it says."""
    deprecation: str = ""
    """What to warn those of who use it."""
    kept_as: ResourceInfo | None = None
    """The resource that its objects are kept as, where they are of another shape there: see builtin/conversions.py."""
    definition: Object | None = None
    """The CustomResourceDefinition that it comes from; None for what is built in."""
    selectable: tuple[str, ...] = ()
    """Field paths that field selectors may name, beside metadata.name and metadata.namespace."""

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def store_name(self) -> str:
        """The same for all its versions: `pods`, `pytorchjobs.kubeflow.org`."""
        if self.kept_as is not None:
            return self.kept_as.store_name
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def subresource(self, name: str) -> Subresource | None:
        return next((each for each in self.subresources if each.name == name), None)
