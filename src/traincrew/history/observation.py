"""Informers of jobs, pods and events whose stores keep identities alone: the objects go to the recorder."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from traincrew.client import informer, interfaces, store
from traincrew.model import meta
from traincrew.model.resources import Resource


class _Identity(msgspec.Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class _Object(msgspec.Struct):
    metadata: _Identity


_decoder = msgspec.json.Decoder(_Object)


@dataclasses.dataclass
class JobObservation:
    metadata: meta.Meta
    text: bytes
    """Empty: the recorder has it."""


class Change(NamedTuple):
    metadata: meta.Meta
    text: bytes
    """Empty: the object is deleted."""


OnObserved = Callable[[Change], None]


def informer_of(
    reader: interfaces.Reader, resource: Resource, on_change: OnObserved, labels: str = "", namespace: str | None = None
) -> informer.Informer[Any]:
    def changed(old: JobObservation | None, new: JobObservation | None) -> None:
        if old is not None and (new is None or new.metadata.uid != old.metadata.uid):
            on_change(Change(old.metadata, b""))
        if new is not None and new.text:
            on_change(Change(new.metadata, new.text))
            new.text = b""

    return informer.Informer(reader, informer.Scope(resource, namespace, labels), store.InformerStore(_decode, changed))


def identity(text: bytes) -> meta.Meta:
    """Without labels: there are many objects, and few are asked for them."""
    found = _decoder.decode(text).metadata
    return meta.Meta(name=found.name, namespace=found.namespace, uid=found.uid, resource_version=found.resource_version)


def _decode(text: bytes) -> JobObservation:
    return JobObservation(identity(text), text)
