"""Server-side apply: merging, ownership of fields, conflicts."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from traincrew.apimachinery.api_errors import StatusError
from traincrew.apimachinery.patches import apply, field_managers, last_applied
from traincrew.apimachinery.resource_info import Schema
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.schema import builtin_kinds

KNOWN = builtin_kinds.load()
CONFIG_MAP = KNOWN.schema("", "v1", "ConfigMap")
TEMPLATE: Schema = {
    "type": "object",
    "properties": {
        "metadata": CONFIG_MAP["properties"]["metadata"],
        "template": KNOWN.linked("io.k8s.api.apps.v1.ReplicaSetSpec")["properties"]["template"],
    },
    builtin_kinds.GO_STRUCT: "Template",
    builtin_kinds.GO_FIELDS: {"metadata": "v1.ObjectMeta", "template": "v1.PodTemplateSpec"},
}
"""A PodTemplate."""
NOW, LATER = "2025-01-01T00:00:00Z", "2025-01-01T00:00:09Z"


def config(data: Object | None = None, **metadata: Any) -> Object:
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", **metadata}}
    return manifest if data is None else manifest | {"data": data}


def pods(*containers: Any, **spec: Any) -> Object:
    template = {"spec": {"containers": list(containers), **spec}}
    return {"apiVersion": "v1", "kind": "Template", "metadata": {"name": "p"}, "template": template}


def applied(live: Object | None, configuration: Object, manager: str = "m", **how: Any) -> Object:
    kept = copy.deepcopy((live, configuration))
    schema = how.pop("schema", TEMPLATE if configuration["kind"] == "Template" else CONFIG_MAP)
    result = apply.apply(live, configuration, schema, **({"manager": manager, "now": NOW} | how))
    assert (live, configuration) == kept, "the arguments were changed"
    return result


def owned(document: Object) -> dict[str, Any]:
    return {entry["manager"]: entry["fieldsV1"] for entry in document["metadata"].get("managedFields", ())}


def test_an_entry_is_written_as_the_real_server_writes_it() -> None:
    result = applied(None, config({"b": "1", "a": "2"}, labels={"l": "x"}))
    fields = {"f:data": {"f:a": {}, "f:b": {}}, "f:metadata": {"f:labels": {"f:l": {}}}}
    entry = {"manager": "m", "operation": "Apply", "apiVersion": "v1", "time": NOW, "fieldsType": "FieldsV1", "fieldsV1": fields}
    assert result["metadata"]["managedFields"] == [entry]
    assert list(result["metadata"]["managedFields"][0]) == list(entry)


def test_fields_that_are_no_longer_applied_are_removed() -> None:
    result = applied(applied(None, config({"a": "1", "b": "2"})), config({"a": "1"}), now=LATER)
    assert result["data"] == {"a": "1"}
    assert result["metadata"]["managedFields"][0]["time"] == LATER


def test_fields_that_another_manager_owns_are_kept() -> None:
    live = applied(applied(None, config({"a": "1", "b": "2"})), config({"b": "2"}), "other")
    result = applied(live, config({"a": "1"}))
    assert result["data"] == {"a": "1", "b": "2"}
    assert owned(result) == {"m": {"f:data": {"f:a": {}}}, "other": {"f:data": {"f:b": {}}}}


def test_applying_the_same_again_changes_nothing() -> None:
    live = applied(None, config({"a": "1"}))
    assert applied(live, config({"a": "1"}), now=LATER) == live


def test_a_second_applier_of_the_same_values_has_no_time() -> None:
    result = applied(applied(None, config({"a": "1"})), config({"a": "1"}), "other")
    entries = result["metadata"]["managedFields"]
    assert [(entry["manager"], entry.get("time")) for entry in entries] == [("other", None), ("m", NOW)]


def test_a_conflict_names_field_and_owner() -> None:
    live = applied(None, config({"a": "1"}))
    with pytest.raises(StatusError) as error:
        applied(live, config({"a": "2"}), "other")
    assert error.value.status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'Apply failed with 1 conflict: conflict with "m": .data.a',
        "reason": "Conflict",
        "details": {"causes": [{"reason": "FieldManagerConflict", "message": 'conflict with "m"', "field": ".data.a"}]},
        "code": 409,
    }


def test_conflicts_are_reported_by_manager() -> None:
    live = applied(None, pods({"name": "a", "image": "i:1", "tty": True}))
    live = applied(live, pods({"name": "b", "image": "i:1"}), "o", subresource="s")
    configuration = pods({"name": "a", "image": "i:2", "tty": False}, {"name": "b", "image": "i:2"})
    with pytest.raises(StatusError) as error:
        applied(live, configuration, "other")
    assert error.value.message == (
        'Apply failed with 3 conflicts: conflicts with "m":\n'
        '- .template.spec.containers[name="a"].image\n- .template.spec.containers[name="a"].tty\n'
        'conflicts with "o" with subresource "s":\n- .template.spec.containers[name="b"].image'
    )


def test_force_takes_fields_from_other_managers() -> None:
    result = applied(applied(None, config({"a": "1", "b": "2"})), config({"a": "3"}), "other", force=True)
    assert result["data"] == {"a": "3", "b": "2"}
    assert owned(result) == {"m": {"f:data": {"f:b": {}}}, "other": {"f:data": {"f:a": {}}}}


def test_fields_before_the_first_apply_belong_to_before_first_apply() -> None:
    live = config({"a": "1", "b": "2"}, uid="u", resourceVersion="5", creationTimestamp=NOW)
    with pytest.raises(StatusError, match=r'conflict with "before-first-apply" using v1: \.data\.a'):
        applied(live, config({"a": "3"}))
    result = applied(live, config({"a": "3"}), force=True)
    assert owned(result) == {"before-first-apply": {"f:data": {".": {}, "f:b": {}}}, "m": {"f:data": {"f:a": {}}}}


def test_structs_that_always_exist_have_no_manager() -> None:
    live = {**pods({"name": "a", "image": "i"}), "metadata": {"name": "p", "uid": "u", "creationTimestamp": NOW}}
    live["template"]["metadata"] = {"creationTimestamp": None}
    result = applied(live, pods({"name": "a", "image": "i"}))
    item: Object = {".": {}, "f:image": {}, "f:name": {}}
    below = {"f:template": {"f:spec": {"f:containers": {'k:{"name":"a"}': item}}}}
    assert owned(result) == {"before-first-apply": below, "m": below}


def test_keys_of_items_may_be_defaults() -> None:
    ports = [{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}]
    result = owned(applied(None, pods({"name": "a", "ports": ports})))["m"]["f:template"]["f:spec"]["f:containers"]
    assert list(result['k:{"name":"a"}']["f:ports"]) == [
        'k:{"containerPort":80,"protocol":"TCP"}',
        'k:{"containerPort":80,"protocol":"UDP"}',
    ]


def test_items_keep_the_order_of_the_configuration_and_others_their_position() -> None:
    live = applied(None, pods({"name": "a"}, {"name": "b"}, {"name": "c"}))
    result = applied(live, pods({"name": "c"}, {"name": "x"}, {"name": "a"}), "other")
    assert [each["name"] for each in result["template"]["spec"]["containers"]] == ["b", "c", "x", "a"]


@pytest.mark.parametrize(
    ("configuration", "message"),
    [
        (config({"a": 1}), ".data.a: expected string, got &value.valueUnstructured{Value:1}"),
        (config() | {"data": "x"}, ".data: expected map, got &{x}"),
        (config() | {"immutable": "x"}, ".immutable: expected boolean, got &{x}"),
        (config() | {"frob": {}}, ".frob: field not declared in schema"),
        (config(finalizers=["a/b", "a/b"]), '.metadata.finalizers: duplicate entries for key [="a/b"]'),
        (
            config(labels={"a": 1.5, "b": None, "c": {"x": "y"}}),
            "errors:\n  .metadata.labels.a: expected string, got &value.valueUnstructured{Value:1.5}"
            '\n  .metadata.labels.c: expected string, got &value.valueUnstructured{Value:map[string]interface {}{"x":"y"}}',
        ),
    ],
)
def test_errors_of_a_configuration(configuration: Object, message: str) -> None:
    with pytest.raises(StatusError) as error:
        applied(None, configuration)
    assert (error.value.code, error.value.reason) == (400, "BadRequest")
    assert error.value.message == f"failed to create typed patch object (/m; /v1, Kind=ConfigMap): {message}"


@pytest.mark.parametrize(
    ("container", "message"),
    [
        (None, ".template.spec.containers: element 0: associative list with keys may not have a null element"),
        ("x", ".template.spec.containers: element 0: associative list with keys may not have non-map elements"),
        ({"name": "a", "command": {"x": 1}}, '.template.spec.containers[name="a"].command: expected list, got &{map[x:1]}'),
        ({"name": "a", "ports": [{"containerPort": "x"}]}, '[containerPort="x",protocol="TCP"].containerPort: expected numeric'),
    ],
)
def test_errors_of_an_item(container: Any, message: str) -> None:
    with pytest.raises(StatusError) as error:
        applied(None, pods(container))
    assert message in error.value.message


@pytest.mark.parametrize(
    ("configuration", "message"),
    [
        (config() | {"kind": "Pod"}, "invalid object type: /v1, Kind=Pod"),
        (config() | {"apiVersion": "apps/v1"}, "invalid object type: apps/v1, Kind=ConfigMap"),
        ({"metadata": {"name": "m"}}, "invalid object type: /, Kind="),
        (config(managedFields=[]), "metadata.managedFields must be nil"),
        ([], "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go value"),
    ],
)
def test_invalid_configurations_are_rejected(configuration: Any, message: str) -> None:
    with pytest.raises(StatusError) as error:
        apply.apply(config(), configuration, CONFIG_MAP, manager="m", now=NOW)
    assert error.value.code == 400
    assert error.value.message.startswith(message)


def test_reset_fields_are_not_owned() -> None:
    schema = KNOWN.schema("", "v1", "Pod")
    configuration = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"nodeName": "n"},
        "status": {"phase": "x"},
    }
    result = applied(None, configuration, schema=schema, reset=frozenset({("status",)}))
    assert owned(result) == {"m": {"f:spec": {"f:nodeName": {}}}}


CUSTOM: Schema = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
            "properties": {
                "whole": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"a": {"type": "integer"}}},
                "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
                "rows": {"type": "array", "items": {"type": "object", "additionalProperties": {"type": "integer"}}},
            },
        }
    },
}


def custom(**spec: Any) -> Object:
    return {"apiVersion": "example.com/v1", "kind": "C", "metadata": {"name": "c"}, "spec": spec}


def test_unknown_fields_are_owned_one_by_one_and_lists_of_them_as_a_whole() -> None:
    result = applied(None, custom(free={"a": {"b": 1}, "l": [{"x": 1}]}, whole={"a": 1}, tags=["x"], rows=[{}]), schema=CUSTOM)
    free: Object = {".": {}, "f:a": {".": {}, "f:b": {}}, "f:l": {}}
    assert owned(result)["m"]["f:spec"] == {"f:free": free, "f:rows": {}, "f:tags": {'v:"x"': {}}, "f:whole": {}}


def test_sets_are_owned_by_their_items() -> None:
    live = applied(applied(None, custom(tags=["x", "y"]), schema=CUSTOM), custom(tags=["y", "z"]), "other", schema=CUSTOM)
    assert live["spec"]["tags"] == ["x", "y", "z"]
    assert applied(live, custom(), schema=CUSTOM)["spec"]["tags"] == ["y", "z"]


def test_a_field_that_became_atomic_is_owned_as_one() -> None:
    before = copy.deepcopy(CUSTOM)
    del before["properties"]["spec"]["properties"]["whole"]["x-kubernetes-map-type"]
    live = applied(None, custom(whole={"a": 1}), schema=before)
    after = copy.deepcopy(live) | {"spec": {"whole": {"a": 1}, "tags": ["x"]}}
    field_managers.update_managed_fields(live, after, CUSTOM, manager="u", now=NOW)
    assert owned(after)["m"] == {"f:spec": {"f:whole": {}}}


def test_true_and_one_are_different_values() -> None:
    live = applied(None, custom(free={"a": 1}), schema=CUSTOM)
    with pytest.raises(StatusError, match=r"conflict with \"m\": .spec.free.a"):
        applied(live, custom(free={"a": True}), "other", schema=CUSTOM)


def test_server_side_apply_of_kubectl_takes_over_its_client_side_applied_fields() -> None:
    text = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m"},"data":{"a":"1"}}\n'
    live = config({"a": "1", "b": "2"}, uid="u", annotations={last_applied.ANNOTATION: text})
    result = applied(live, config({"a": "3"}), "kubectl")
    assert result["data"] == {"a": "3", "b": "2"}
    message = '{"apiVersion":"v1","data":{"a":"3"},"kind":"ConfigMap","metadata":{"name":"m"}}\n'
    assert result["metadata"]["annotations"] == {last_applied.ANNOTATION: message}
    with pytest.raises(StatusError, match=r"\.data\.b"):
        applied(live, config({"a": "3", "b": "3"}), "kubectl")
