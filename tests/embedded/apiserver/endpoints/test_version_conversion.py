from __future__ import annotations

from typing import Any

import msgspec

from traincrew.apimachinery.resource_info import ResourceInfo
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.endpoints import version_conversion
from traincrew.embedded.apiserver.schema import builtin_kinds, crds
from traincrew.embedded.apiserver.storage.records import Key, Record, SelectableFields

STRING = {"type": "string"}


def version(name: str, storage: bool, **fields: Any) -> Object:
    spec = {"type": "object", "properties": fields}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    return {"name": name, "served": True, "storage": storage, "schema": schema}


def served(since: int = 0) -> dict[str, ResourceInfo]:
    """v1, the storage version, has only `a`, with a default. v2 also has `b`."""
    names = {"plural": "widgets", "kind": "Widget", "listKind": "WidgetList"}
    stored = version("v1", storage=True, a=STRING | {"default": "one"})
    spec = {
        "group": "e.com",
        "scope": "Namespaced",
        "names": names,
        "versions": [stored, version("v2", False, a=STRING, b=STRING)],
    }
    return {each.version: each for each in crds.resources({"metadata": {"name": "w"}, "spec": spec}, since)}


def record(obj: Object, revision: int = 5) -> Record:
    return Record(Key("w", "x", "n"), revision, msgspec.json.encode(obj), SelectableFields({}, {}))


def test_stored_objects_are_pruned_by_the_schema_of_the_storage_version() -> None:
    widget = {"kind": "Widget", "apiVersion": "e.com/v2", "metadata": {"name": "n"}, "spec": {"b": "x"}}
    kept = version_conversion.to_storage(widget, served()["v2"])
    assert kept == {"kind": "Widget", "apiVersion": "e.com/v1", "metadata": {"name": "n"}, "spec": {"a": "one"}}


def test_an_object_older_than_its_definition_is_pruned_and_defaulted_when_it_is_read() -> None:
    old = record({"kind": "Widget", "apiVersion": "e.com/v1", "metadata": {"name": "n"}, "spec": {"gone": 1}})
    assert msgspec.json.decode(version_conversion.encoded_object(old, served(since=4)["v1"]))["spec"] == {"gone": 1}
    assert msgspec.json.decode(version_conversion.encoded_object(old, served(since=5)["v2"])) == {
        "kind": "Widget", "apiVersion": "e.com/v2", "metadata": {"name": "n"}, "spec": {"a": "one"},
    }  # fmt: skip


def test_conversion_to_another_version_changes_the_api_version_only() -> None:
    held = record({"kind": "Widget", "apiVersion": "e.com/v1", "metadata": {"name": "n"}, "spec": {}})
    assert version_conversion.encoded_object(held, served()["v2"]).startswith(
        b'{"kind":"Widget","apiVersion":"e.com/v2","metadata"'
    )
    assert version_conversion.encoded_object(held, served()["v1"]) is held.value


def test_events_are_stored_in_the_core_group() -> None:
    newer = next(each for each in builtin_kinds.load().resources() if each.api_version == "events.k8s.io/v1")
    assert newer.store_name == "events"
    event = {"metadata": {"name": "e"}, "regarding": {"name": "p"}, "note": "n", "reportingController": "c"}
    kept = version_conversion.to_storage(event, newer)
    assert (kept["apiVersion"], kept["involvedObject"], kept["message"]) == ("v1", {"name": "p"}, "n")
    shown = msgspec.json.decode(version_conversion.encoded_item(record(kept), newer))
    assert shown["regarding"] == {"name": "p"}
    assert not {"kind", "involvedObject", "reportingInstance"} & shown.keys()
