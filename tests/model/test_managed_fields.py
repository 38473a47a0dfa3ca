"""The request that created an object, from its managed fields."""

from __future__ import annotations

from typing import Any

import msgspec

from traincrew.model import managed_fields

Object = dict[str, Any]


def entry(version: str, second: int, *fields: str, subresource: str = "") -> Object:
    owned: Object = {"f:spec": {f"f:{field}": {} for field in fields}}
    found = {"apiVersion": f"kubeflow.org/{version}", "time": f"2026-01-01T00:00:{second:02}Z", "fieldsV1": owned}
    return {**found, **({"subresource": subresource} if subresource else {})}


def creation(*entries: Object) -> managed_fields.ManagedFieldsEntry | None:
    return managed_fields.creation(msgspec.json.encode({"metadata": {"managedFields": entries}}), "image")


def test_the_earliest_client_that_sets_the_field_is_the_creator() -> None:
    found = creation(entry("v2beta1", 3, "image"), entry("v1", 2, "image", "replicas"), entry("v2beta1", 1, "suspend"))
    assert found is not None
    assert (found.version, found.owns("replicas"), found.owns("suspend")) == ("v1", True, False)


def test_statuses_say_nothing_about_the_creator() -> None:
    assert creation(entry("v1", 1, "image", subresource="status")) is None


def test_an_object_without_managed_fields_has_no_known_creator() -> None:
    assert managed_fields.creation(b'{"metadata":{"name":"j"}}', "image") is None


def test_a_time_that_cannot_be_read_makes_the_creator_unknown() -> None:
    assert creation({**entry("v1", 1, "image"), "time": "0000-01-01T00:00:00Z"}) is None
