"""The resources that are served: the built-in ones, and those of the CustomResourceDefinitions there are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from traincrew.apimachinery.resource_info import Object, ResourceInfo
from traincrew.apimachinery.structural import schemas
from traincrew.embedded.apiserver.registry import builtin, crd_strategy
from traincrew.embedded.apiserver.registry.custom import CustomStrategy
from traincrew.embedded.apiserver.registry.strategies import Strategy
from traincrew.embedded.apiserver.schema import crds

GroupVersionResource = tuple[str, str, str]
"""Group, version, plural."""


class Registry:
    def __init__(self, built_in: Iterable[ResourceInfo], now: Callable[[], str]) -> None:
        self._now = now
        self._known: dict[str, Object] = {}
        self._own: dict[str, Object] = {}
        self._since: dict[str, int] = {}
        """The revision in which a definition became what it is."""
        self._built_in = tuple(built_in)
        self.groups = frozenset(each.group for each in self._built_in)
        """The built-in ones."""
        self._by_place: dict[GroupVersionResource, ResourceInfo] = {
            (each.group, each.version, each.plural): each for each in self._built_in
        }
        self._originals = dict(self._by_place)
        """What stands there again when a definition of the same name has gone."""
        self._strategies: dict[GroupVersionResource, Strategy] = {}
        self._custom: dict[str, tuple[ResourceInfo, ...]] = {}
        self.generation = 0
        """Grows with every change: what was made of an older one is stale."""
        self.on_change: list[Callable[[], None]] = []

    def find(self, group: str, version: str, plural: str) -> ResourceInfo | None:
        return self._by_place.get((group, version, plural))

    def __iter__(self) -> Iterator[ResourceInfo]:
        return iter(self._by_place.values())

    def preferred(self) -> Iterator[ResourceInfo]:
        """Each resource once, in the version that it is stored in."""
        return (each for each in self if each.storage_version in ("", each.version) and each.kept_as is None)

    def versions(self, info: ResourceInfo) -> list[ResourceInfo]:
        """The same resource in all its served versions."""
        return [each for each in self if each.store_name == info.store_name]

    def selectable(self, store_name: str) -> tuple[str, ...]:
        for made in self._custom.values():
            if made and made[0].store_name == store_name:
                return made[0].selectable
        return ()

    def strategy(self, info: ResourceInfo) -> Strategy:
        place = (info.group, info.version, info.plural)
        found = self._strategies.get(place)
        if found is None:
            found = self._strategies[place] = self._make_strategy(info)
        return found

    def _make_strategy(self, info: ResourceInfo) -> Strategy:
        if info.kind == crd_strategy.KIND and info.definition is None:
            return crd_strategy.CustomResourceDefinitionStrategy(self._definitions, self._now, self._own.get)
        return CustomStrategy(info) if info.definition is not None else builtin.strategy(info.group, info.kind)

    def trust(self, own: Iterable[Object]) -> None:
        """Definitions of this release: tests have looked through them already, and it takes time and memory at a first start."""
        self._own |= {crd["metadata"]["name"]: crd for crd in own}

    def _definitions(self) -> Iterator[Object]:
        """Also those that serve nothing: their names are taken all the same."""
        return iter(self._known.values())

    def define(self, crd: Object) -> None:
        """The resources of this CRD as it is now; one that was not accepted serves nothing."""
        name = crd["metadata"]["name"]
        before = self._known.get(name)
        if before is None or before["spec"] != crd["spec"]:
            self._since[name] = crds.revision(crd)
        self._drop(name)
        self._known[name] = crd
        established = any(
            each.get("type") == "Established" and each.get("status") == "True"
            for each in crd.get("status", {}).get("conditions") or ()
        )
        if established:
            made = crds.resources(crd, self._since[name])
            self._custom[name] = made
            self._by_place |= {(each.group, each.version, each.plural): each for each in made}
        self._changed()

    def undefine(self, name: str) -> None:
        self._drop(name)
        self._changed()

    def _drop(self, name: str) -> None:
        self._known.pop(name, None)
        for each in self._custom.pop(name, ()):
            schemas.forget(each.schema)
            schemas.forget(each.stored_schema)
            place = (each.group, each.version, each.plural)
            self._by_place.pop(place, None)
            self._strategies.pop(place, None)
            if place in self._originals:
                self._by_place[place] = self._originals[place]

    def _changed(self) -> None:
        self.generation += 1
        for tell in self.on_change:
            tell()
