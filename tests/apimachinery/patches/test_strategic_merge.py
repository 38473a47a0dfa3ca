"""Strategic merge patches: keys, directives, order."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from traincrew.apimachinery.api_errors import StatusError
from traincrew.apimachinery.patches import strategic_merge
from traincrew.embedded.apiserver.schema import builtin_kinds

DEPLOYMENT = builtin_kinds.load().schema("apps", "v1", "Deployment")


def names(*values: str) -> list[dict[str, str]]:
    return [{"name": each} for each in values]


def pods(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {}, "spec": {"template": {"spec": spec}}}


def patched(before: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    document, given = pods(**before), {"spec": {"template": {"spec": patch}}}
    kept = copy.deepcopy((document, given))
    spec: dict[str, Any] = strategic_merge.apply(document, given, DEPLOYMENT)["spec"]["template"]["spec"]
    assert (document, given) == kept, "the arguments were changed"
    return spec


@pytest.mark.parametrize(
    ("before", "patch", "after"),
    [
        (names("a", "b"), [{"name": "b", "image": "i"}], [{"name": "a"}, {"name": "b", "image": "i"}]),
        (names("a", "b"), names("c"), names("c", "a", "b")),
        (names("a", "b"), names("b", "a"), names("b", "a")),
        (names("a", "b"), [{"name": "a", "$patch": "delete"}], names("b")),
        (names("a", "b"), [{"$patch": "replace"}, {"name": "c"}], names("c")),
        ([{"name": "a", "image": "i", "tty": True}], [{"name": "a", "$patch": "replace", "tty": False}], []),
        ([{"name": "a", "args": ["x"]}], [{"name": "a", "args": ["y"]}], [{"name": "a", "args": ["y"]}]),
        ([{"name": "a", "tty": True}], [{"name": "a", "tty": None}], names("a")),
    ],
)
def test_containers_are_merged_by_name(before: list[Any], patch: list[Any], after: list[Any]) -> None:
    assert patched({"containers": before}, {"containers": patch})["containers"] == after


def test_items_have_the_requested_order() -> None:
    patch = {"$setElementOrder/containers": names("c", "a"), "containers": names("c")}
    assert patched({"containers": names("a", "b")}, patch)["containers"] == names("c", "a", "b")
    patch = {"$setElementOrder/containers": names("b", "a")}
    assert patched({"containers": names("a", "x", "b")}, patch)["containers"] == names("x", "b", "a")


def test_maps_are_replaced_deleted_and_kept_in_part() -> None:
    before = {"securityContext": {"fsGroup": 1, "runAsUser": 2}}
    assert patched(before, {"securityContext": {"$patch": "replace", "fsGroup": 3}}) == {"securityContext": {"fsGroup": 3}}
    assert patched(before, {"securityContext": {"$patch": "delete"}}) == {"securityContext": {}}
    assert patched(before, {"securityContext": {"$retainKeys": ["fsGroup"], "fsGroup": 4}}) == {"securityContext": {"fsGroup": 4}}
    assert patched({}, {"securityContext": {"$patch": "replace", "fsGroup": 3}}) == {}


def test_volumes_can_change_their_type() -> None:
    before = [{"name": "v", "emptyDir": {}}]
    patch = [{"$retainKeys": ["name", "configMap"], "name": "v", "configMap": {"name": "m"}}]
    assert patched({"volumes": before}, {"volumes": patch})["volumes"] == [{"name": "v", "configMap": {"name": "m"}}]


def test_primitive_lists_are_merged_and_items_are_deleted() -> None:
    document = {"metadata": {"finalizers": ["a", "b"]}}
    for patch, after in (
        ({"finalizers": ["c", "a"]}, ["c", "a", "b"]),
        ({"$deleteFromPrimitiveList/finalizers": ["a"]}, ["b"]),
        (
            {"$deleteFromPrimitiveList/finalizers": ["a"], "$setElementOrder/finalizers": ["c", "b"], "finalizers": ["c"]},
            ["c", "b"],
        ),
    ):
        assert strategic_merge.apply(document, {"metadata": patch}, DEPLOYMENT)["metadata"]["finalizers"] == after


@pytest.mark.parametrize(
    ("patch", "code", "message"),
    [
        ({"containers": [{"image": "i"}]}, 400, "map: map[image:i] does not contain declared merge key: name"),
        ({"containers": [{"$patch": "delete"}]}, 400, "map: map[$patch:delete] does not contain declared merge key: name"),
        ({"containers": [{"$patch": "frob", "name": "a"}]}, 400, "unknown patch type: frob in map: map[$patch:frob name:a]"),
        ({"containers": [{"$patch": "merge", "name": "a"}]}, 400, "merging lists cannot yet be specified in the patch"),
        ({"$patch": "frob"}, 400, "unknown patch type: frob in map: map[$patch:frob]"),
        ({"securityContext": {"$retainKeys": "x"}}, 400, "invalid patch format of retainKeys"),
        ({"securityContext": {"$retainKeys": ["x"], "fsGroup": 1}}, 400, "invalid patch format of retainKeys"),
        ({"$setElementOrder": names("a")}, 400, "invalid patch format of setElementOrder list"),
        ({"$deleteFromPrimitiveList": ["a"]}, 400, "invalid patch format of primitive list"),
        ({"$setElementOrder/containers": "x"}, 400, "expected a []interface {}, but received a string"),
        ({"$setElementOrder/frobs": names("a")}, 400, 'unable to find api field in struct PodSpec for the json field "frobs"'),
        ({"containers": [[]]}, 400, "list element types are not identical: [[map[name:a]] [[]]]"),
    ],
)
def test_errors_of_a_patch(patch: dict[str, Any], code: int, message: str) -> None:
    with pytest.raises(StatusError) as error:
        patched({"containers": names("a"), "securityContext": {"fsGroup": 1}}, patch)
    assert (error.value.code, error.value.message) == (code, message)


def test_the_order_must_name_all_items_of_the_patch() -> None:
    with pytest.raises(StatusError, match=r"The order in patch list:\n\[map\[name:b\]\]\n doesn't match \$setElementOrder list:"):
        patched({"containers": names("a")}, {"$setElementOrder/containers": names("a"), "containers": names("b")})


def test_values_that_are_not_objects_are_rejected() -> None:
    with pytest.raises(StatusError, match="json: cannot unmarshal array into Go value of type map"):
        strategic_merge.apply({}, [], DEPLOYMENT)
    assert strategic_merge.apply({"a": 1}, None, DEPLOYMENT) == {"a": 1}
