"""The served resources: the built-in ones, and those of the stored CustomResourceDefinitions."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator

from traincrew.apimachinery.field_errors import FieldError
from traincrew.apimachinery.findings import ManifestFinding
from traincrew.apimachinery.resource_info import ResourceInfo
from traincrew.apimachinery.structural import schemas, unknown_fields
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.registry import builtin, crd_strategy
from traincrew.embedded.apiserver.registry.builtin.write_context import WriteContext
from traincrew.embedded.apiserver.registry.rest_strategy import RestStrategy
from traincrew.embedded.apiserver.schema import crds, custom_resources

GroupVersionResource = tuple[str, str, str]
"""Group, version and plural."""


class Registry:
    def __init__(self, built_in: Iterable[ResourceInfo], now: Callable[[], str]) -> None:
        self._now = now
        self._known: dict[str, Object] = {}
        self._own: dict[str, Object] = {}
        self._since: dict[str, int] = {}
        """The revision in which the spec of a definition changed last."""
        self._built_in = tuple(built_in)
        self.groups = frozenset(info.group for info in self._built_in)
        """The built-in groups."""
        self._by_resource: dict[GroupVersionResource, ResourceInfo] = {
            (info.group, info.version, info.plural): info for info in self._built_in
        }
        self._originals = dict(self._by_resource)
        """Served again when a definition of the same name is deleted."""
        self._strategies: dict[GroupVersionResource, RestStrategy] = {}
        self._custom: dict[str, tuple[ResourceInfo, ...]] = {}
        self.generation = 0
        """Incremented with every change, so that documents of an older generation can be dropped."""
        self.on_change: list[Callable[[], None]] = []

    def find(self, group: str, version: str, plural: str) -> ResourceInfo | None:
        return self._by_resource.get((group, version, plural))

    def __iter__(self) -> Iterator[ResourceInfo]:
        return iter(self._by_resource.values())

    def preferred(self) -> Iterator[ResourceInfo]:
        """Each resource once, in its storage version."""
        return (info for info in self if info.storage_version in ("", info.version) and info.stored_as is None)

    def versions(self, info: ResourceInfo) -> list[ResourceInfo]:
        """The same resource in all its served versions."""
        return [other for other in self if other.store_name == info.store_name]

    def selectable(self, store_name: str) -> tuple[str, ...]:
        """The selectable fields of a custom resource, in all its versions."""
        resources = self._custom.get(store_name, ())  # the name of a CRD is the name of its resource in the store
        return tuple(dict.fromkeys(path for info in resources for path in info.selectable))

    def strategy(self, info: ResourceInfo) -> RestStrategy:
        resource = (info.group, info.version, info.plural)
        strategy = self._strategies.get(resource)
        if strategy is None:
            strategy = self._strategies[resource] = self._new_strategy(info)
        return strategy

    def _new_strategy(self, info: ResourceInfo) -> RestStrategy:
        if info.kind == crd_strategy.KIND and info.definition is None:
            return crd_strategy.CustomResourceDefinitionStrategy(self._definitions, self._now, self._own.get)
        return CustomResourceStrategy(info) if info.definition is not None else builtin.strategy(info.group, info.kind)

    def trust(self, own: Iterable[Object]) -> None:
        """Definitions of this release. They are not validated again: validation takes time and memory at the first start."""
        self._own |= {crd["metadata"]["name"]: crd for crd in own}

    def _definitions(self) -> Iterator[Object]:
        """Also those that are not established: their names are taken, too."""
        return iter(self._known.values())

    def define(self, crd: Object) -> None:
        """Serves the resources of this CRD. A CRD that is not established serves nothing."""
        name = crd["metadata"]["name"]
        before = self._known.get(name)
        if before is None or before["spec"] != crd["spec"]:
            self._since[name] = crds.revision(crd)
        self._drop(name)
        self._known[name] = crd
        established = any(
            condition.get("type") == "Established" and condition.get("status") == "True"
            for condition in crd.get("status", {}).get("conditions") or ()
        )
        if established:
            resources = crds.resources(crd, self._since[name])
            self._custom[name] = resources
            self._by_resource |= {(info.group, info.version, info.plural): info for info in resources}
        self._changed()

    def undefine(self, name: str) -> None:
        self._drop(name)
        self._changed()

    def _drop(self, name: str) -> None:
        self._known.pop(name, None)
        for info in self._custom.pop(name, ()):
            schemas.forget(info.schema)
            schemas.forget(info.stored_schema)
            resource = (info.group, info.version, info.plural)
            self._by_resource.pop(resource, None)
            self._strategies.pop(resource, None)
            if resource in self._originals:
                self._by_resource[resource] = self._originals[resource]

    def _changed(self) -> None:
        self.generation += 1
        for notify in self.on_change:
            notify()


MAX_WARNINGS = 10
"""About misspelt fields. More in one response do not help."""


class CustomResourceStrategy:
    """The strategy of the resources of a CustomResourceDefinition: their schema, and the rules of every object."""

    allow_create_on_update = allow_unconditional_update = orphans_by_default = False

    def __init__(self, info: ResourceInfo) -> None:
        self._info = info
        self._generic = builtin.custom(info.namespaced, info.subresource("status") is not None)

    def default(self, obj: Object) -> None:
        custom_resources.default(obj, self._info.schema)

    def prepare_for_create(self, obj: Object, context: WriteContext) -> None:
        self._generic.prepare_for_create(obj, context)

    def prepare_for_update(self, new: Object, old: Object, subresource: str, context: WriteContext) -> None:
        self._generic.prepare_for_update(new, old, subresource, context)

    def validate(self, obj: Object) -> list[FieldError]:
        return custom_resources.validate(obj, self._info, self._generic.validate(obj))

    def validate_update(self, new: Object, old: Object, subresource: str = "") -> list[FieldError]:
        before = self._generic.validate_update(new, old, subresource)
        if subresource == "status":
            return custom_resources.validate_status(new, old, self._info, before)
        return custom_resources.validate_update(new, old, self._info, before)

    def warnings(self, obj: Object, old: Object | None = None) -> list[str]:
        """Misspelt fields that the schema preserves, such as those of pod templates: nothing else would report them here."""
        spec, schema = obj.get("spec"), self._info.schema.get("properties", {}).get("spec")
        if schema is None or (old is not None and spec == old.get("spec")):
            return []
        found = unknown_fields.misspelt(spec, schema, ("spec",))
        return [str(ManifestFinding(field.path, field.message())) for field in itertools.islice(found, MAX_WARNINGS)]
