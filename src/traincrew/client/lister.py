"""The lister of one resource: its objects from an informer's store, by namespace and by label."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Generic, NamedTuple, TypeVar

import msgspec

from traincrew.apimachinery.unstructured import Object
from traincrew.client import informer, interfaces, listeners, store
from traincrew.client.label_index import NONE, LabelIndex
from traincrew.model import meta
from traincrew.model.resources import Resource

T = TypeVar("T", bound=meta.Named)

Listener = Callable[[T | None, T | None], None]


class Unstructured(NamedTuple):
    """An object with all of its fields. Must not be modified."""

    metadata: meta.Meta
    body: Object


def decode(raw: bytes) -> Unstructured:
    body = msgspec.json.decode(raw)
    return Unstructured(msgspec.convert(body["metadata"], meta.Meta), body)


class Lister(Generic[T]):
    """Listeners are called once for each change, whether a response or the watch delivers it first."""

    def __init__(
        self,
        reader: interfaces.Reader,
        resource: Resource,
        decode: Callable[[bytes], T],
        *,
        namespace: str | None = None,
        fields: str = "",
    ) -> None:
        """namespace: None means all. fields: a field selector."""
        self.resource = resource
        self.listeners: list[Listener[T]] = []
        self._store: store.InformerStore[T] = store.InformerStore(decode, self._changed)
        self.informer = informer.Informer(reader, informer.Scope(resource, namespace, fields=fields), self._store)
        self._by_namespace: dict[str, dict[str, T]] = {}
        self._by_label = LabelIndex()

    def __iter__(self) -> Iterator[T]:
        return iter(self._store)

    def get(self, namespace: str, name: str) -> T | None:
        return self._store.get(namespace, name)

    def in_namespace(self, namespace: str) -> Iterable[T]:
        return tuple(self._by_namespace.get(namespace, {}).values())

    def with_any_label(self, namespace: str, labels: Mapping[str, str]) -> Iterator[T]:
        """A superset of the objects that have all of these labels; none for no labels."""
        objects = self._by_namespace.get(namespace, {})
        return (objects[name] for name in self._by_label.candidates(namespace, labels))

    def count(self, namespace: str) -> int:
        return len(self._by_namespace.get(namespace, ()))

    def owned_by(self, uid: str) -> tuple[T, ...]:
        return self._store.owned_by(uid)

    def apply_response(self, response: bytes) -> T:
        """Applies the response to a write; see `Store`."""
        new = self._store.decode(response)
        with self._write(new):
            return self._store.apply_response(new)

    def apply_delete_response(self, target: T, response: bytes) -> None:
        with self._write(target):
            self._store.apply_delete_response(target, response)

    def remove(self, deleted: T) -> None:
        with self._write(deleted):
            self._store.remove(deleted)

    @contextlib.contextmanager
    def _write(self, obj: T) -> Iterator[None]:
        """Encloses the application of a response. The store does not report our own writes as changes, but several controllers
        share a lister: the write of one is a change for the others."""
        key = (obj.metadata.namespace, obj.metadata.name)
        old = self._store.get(*key)
        yield
        new = self._store.get(*key)
        if new is not old:
            if old is not None and new is not None and new.metadata.uid != old.metadata.uid:
                self._changed(old, None)
                old = None
            self._changed(old, new)

    def _changed(self, old: T | None, new: T | None) -> None:
        obj = new if new is not None else old
        if obj is not None:
            self._index(obj.metadata.namespace, obj.metadata.name)
        listeners.notify(self.listeners, old, new)

    def _index(self, namespace: str, name: str) -> None:
        obj, before = self._store.get(namespace, name), self._by_namespace.get(namespace, {}).get(name)
        self._by_label.update((namespace, name), before.metadata.labels if before else NONE, obj.metadata.labels if obj else NONE)
        if obj is not None:
            self._by_namespace.setdefault(namespace, {})[name] = obj
        elif (others := self._by_namespace.get(namespace)) is not None:
            others.pop(name, None)
            if not others:
                del self._by_namespace[namespace]
