"""A lister: the objects of one resource from the local store, by namespace and by label."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Generic, NamedTuple, TypeVar

import msgspec

from traincrew.apimachinery.resource_info import Object
from traincrew.client import informer, port, store
from traincrew.client.label_index import NONE, ByLabel
from traincrew.model import meta
from traincrew.model.resources import Resource

T = TypeVar("T", bound=meta.Named)

Listener = Callable[[T | None, T | None], None]


class Unstructured(NamedTuple):
    """An object with all of its fields; nobody changes it."""

    metadata: meta.Meta
    body: Object


def decode(raw: bytes) -> Unstructured:
    body = msgspec.json.decode(raw)
    return Unstructured(msgspec.convert(body["metadata"], meta.Meta), body)


class Lister(Generic[T]):
    """Everything of one resource, by namespace too."""

    def __init__(self, reader: port.Reader, resource: Resource, decode: Callable[[bytes], T]) -> None:
        self.resource = resource
        self.listeners: list[Listener[T]] = []
        self._store: store.Store[T] = store.Store(decode, self._changed)
        self.informer = informer.Informer(reader, informer.Scope(resource), self._store)
        self._by_namespace: dict[str, dict[str, T]] = {}
        self._by_label = ByLabel()

    def __iter__(self) -> Iterator[T]:
        return iter(self._store)

    def get(self, namespace: str, name: str) -> T | None:
        return self._store.get(namespace, name)

    def within(self, namespace: str) -> Iterable[T]:
        return tuple(self._by_namespace.get(namespace, {}).values())

    def having(self, namespace: str, labels: Mapping[str, str]) -> Iterator[T]:
        """All that have one of these labels, and so all that have every one of them; nothing for no labels."""
        within = self._by_namespace.get(namespace, {})
        return (within[name] for name in self._by_label.candidates(namespace, labels))

    def count(self, namespace: str) -> int:
        return len(self._by_namespace.get(namespace, ()))

    def owned_by(self, uid: str) -> tuple[T, ...]:
        return self._store.owned_by(uid)

    def learn(self, answer: bytes) -> T:
        """Takes the server's answer to a write, so that nothing is decided on an older world."""
        new = self._store.learn(answer)
        self._file(new.metadata.namespace, new.metadata.name)
        return new

    def learn_deleted(self, target: T, answer: bytes) -> None:
        self._store.learn_deleted(target, answer)
        self._file(target.metadata.namespace, target.metadata.name)

    def forget(self, gone: T) -> None:
        self._store.forget(gone)
        self._file(gone.metadata.namespace, gone.metadata.name)

    def _changed(self, old: T | None, new: T | None) -> None:
        named = new if new is not None else old
        if named is not None:
            self._file(named.metadata.namespace, named.metadata.name)
        for listener in self.listeners:
            listener(old, new)

    def _file(self, namespace: str, name: str) -> None:
        held, before = self._store.get(namespace, name), self._by_namespace.get(namespace, {}).get(name)
        self._by_label.file((namespace, name), before.metadata.labels if before else NONE, held.metadata.labels if held else NONE)
        if held is not None:
            self._by_namespace.setdefault(namespace, {})[name] = held
        elif (neighbours := self._by_namespace.get(namespace)) is not None:
            neighbours.pop(name, None)
            if not neighbours:
                del self._by_namespace[namespace]
