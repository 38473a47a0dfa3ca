"""The strategy of custom resources: writes of the spec, the status and the metadata are separate."""

from __future__ import annotations

from typing import Any

from traincrew.embedded.apiserver.registry import builtin

Object = dict[str, Any]
STORED: Object = {
    "metadata": {"name": "w", "namespace": "n", "uid": "u", "generation": 3, "resourceVersion": "5", "labels": {"a": "b"}},
    "spec": {"size": 1},
    "status": {"ready": True},
}


def custom_resource(**changes: Any) -> Object:
    return {**STORED, "metadata": dict(STORED["metadata"]), **changes}


def test_a_new_object_has_generation_one_and_no_status() -> None:
    obj = custom_resource()
    builtin.custom(namespaced=True, has_status=True).prepare_for_create(obj, builtin.WriteContext())
    assert obj["metadata"]["generation"] == 1
    assert "status" not in obj


def test_a_changed_spec_increments_the_generation() -> None:
    obj = custom_resource(spec={"size": 2}, status={"ready": False})
    builtin.custom(namespaced=True, has_status=True).prepare_for_update(obj, STORED)
    assert obj["metadata"]["generation"] == 4
    assert obj["status"] == {"ready": True}


def test_a_changed_label_does_not_increment_the_generation() -> None:
    obj = custom_resource()
    obj["metadata"]["labels"] = {"x": "y"}
    builtin.custom(namespaced=True, has_status=True).prepare_for_update(obj, STORED)
    assert obj["metadata"]["generation"] == 3
    assert obj["metadata"]["labels"] == {"x": "y"}


def test_a_write_of_the_status_changes_nothing_else() -> None:
    obj = custom_resource(spec={"size": 2}, status={"ready": False})
    obj["metadata"]["labels"] = {}
    builtin.custom(namespaced=True, has_status=True).prepare_for_update(obj, STORED, "status")
    assert obj == {**STORED, "status": {"ready": False}}


def test_without_the_subresource_the_status_is_like_any_other_field() -> None:
    obj = custom_resource(status={"ready": False})
    builtin.custom(namespaced=True, has_status=False).prepare_for_update(obj, STORED)
    assert obj["status"] == {"ready": False}
    assert obj["metadata"]["generation"] == 4


def test_metadata_is_validated_and_finalizers_without_a_domain_are_accepted() -> None:
    obj = custom_resource()
    obj["metadata"] |= {"name": "UPPER", "finalizers": ["plain"]}
    errors = builtin.custom(namespaced=True, has_status=True).validate(obj)
    assert [(each.path, each.reason) for each in errors] == [("metadata.name", "FieldValueInvalid")]
