"""Updates and patches change the managers of fields."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from traincrew.apimachinery.patches import apply, field_managers
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.schema import builtin_kinds

CONFIG_MAP = builtin_kinds.load().schema("", "v1", "ConfigMap")
NOW, LATER = "2025-01-01T00:00:00Z", "2025-01-01T00:00:09Z"


def config(data: Object, **metadata: Any) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", **metadata}, "data": data}


@pytest.fixture
def live() -> Object:
    return apply.apply(None, config({"a": "1", "b": "2"}), CONFIG_MAP, manager="m", now=NOW)


def updated(before: Object | None, after: Object, manager: str = "u", **how: Any) -> dict[str, Any]:
    kept = copy.deepcopy(before)
    field_managers.update_managed_fields(before, after, CONFIG_MAP, **({"manager": manager, "now": LATER} | how))
    assert before == kept, "what was there before was changed"
    return {entry["manager"]: entry["fieldsV1"] for entry in after["metadata"].get("managedFields", ())}


def test_an_updater_owns_the_fields_that_it_changes(live: Object) -> None:
    after = live | {"data": {"a": "9", "c": "3"}}
    assert updated(live, after) == {"u": {"f:data": {"f:a": {}, "f:c": {}}}}
    after = live | {"data": {"a": "9", "b": "2"}}
    assert updated(live, after) == {"m": {"f:data": {"f:b": {}}}, "u": {"f:data": {"f:a": {}}}}


def test_unchanged_entries_are_kept_as_they_are(live: Object) -> None:
    after = {**live, "metadata": live["metadata"] | {"labels": {"x": "y"}}}
    updated(live, after)
    assert after["metadata"]["managedFields"][0] is live["metadata"]["managedFields"][0]


def test_a_client_that_drops_managed_fields_loses_nothing(live: Object) -> None:
    after = live | {"metadata": {"name": "m"}}
    assert updated(live, after) == {"m": {"f:data": {"f:a": {}, "f:b": {}}}}


@pytest.mark.parametrize("given", [[], [{}]])
def test_managed_fields_can_be_reset(live: Object, given: list[Object]) -> None:
    after = config({"a": "9"}, managedFields=given)
    assert updated(live, after) == {}
    assert "managedFields" not in after["metadata"]


@pytest.mark.parametrize(
    "given",
    [
        [{"manager": "x", "operation": "Frob", "apiVersion": "v1", "fieldsType": "FieldsV1"}],
        [{"manager": "x", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV2"}],
        [{"manager": "x", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"frob": {}}}],
        "x",
    ],
)
def test_invalid_managed_fields_are_ignored(live: Object, given: Any) -> None:
    assert updated(live, live | {"metadata": {"name": "m", "managedFields": given}}) == {"m": {"f:data": {"f:a": {}, "f:b": {}}}}


def test_managed_fields_can_be_written(live: Object) -> None:
    entry = copy.deepcopy(live["metadata"]["managedFields"][0]) | {"manager": "x"}
    assert updated(live, live | {"metadata": {"name": "m", "managedFields": [entry]}}) == {
        "x": {"f:data": {"f:a": {}, "f:b": {}}}
    }
    assert "m" in updated(live, live | {"metadata": {"name": "m", "managedFields": [entry]}}, subresource="status")


def test_objects_without_managed_fields_stay_without() -> None:
    assert updated(config({"a": "1"}, uid="u"), config({"a": "2"})) == {}


def test_a_new_object_can_be_owned_from_the_start() -> None:
    after = config({"a": "1"}, labels={}, uid="u", creationTimestamp=NOW)
    assert updated(None, after) == {"u": {"f:data": {".": {}, "f:a": {}}, "f:metadata": {"f:labels": {}}}}


def test_an_updater_without_a_name_is_called_unknown(live: Object) -> None:
    assert "unknown" in updated(live, live | {"data": {"a": "9"}}, manager="")


def test_reset_fields_keep_their_managers(live: Object) -> None:
    after = live | {"data": {"a": "9", "b": "2"}}
    assert updated(live, after, reset=frozenset({("data",)})) == {"m": {"f:data": {"f:a": {}, "f:b": {}}}}


def test_a_write_that_changes_only_times_is_a_no_op(live: Object) -> None:
    later = copy.deepcopy(live)
    later["metadata"]["managedFields"][0]["time"] = LATER
    field_managers.ignore_timestamps(live, later)
    assert later == live


def test_the_time_of_a_write_that_changes_more_is_kept(live: Object) -> None:
    later = copy.deepcopy(live)
    later["metadata"]["managedFields"][0]["time"] = LATER
    later["data"]["a"] = "9"
    field_managers.ignore_timestamps(live, later)
    assert later["metadata"]["managedFields"][0]["time"] == LATER
