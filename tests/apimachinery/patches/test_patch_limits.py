"""The work of a patch is limited: bytes that it copies, operations, depth. Lists of any length are merged by an index."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from tests.embedded.resilience import memory_limits

from traincrew.apimachinery.api_errors import StatusError
from traincrew.apimachinery.patches import json_patch, strategic_lists, strategic_merge
from traincrew.apimachinery.patches.patch_errors import PatchRejected

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "env": {
            "type": "array",
            "items": {"type": "object", "properties": {"name": {}, "value": {}}},
            "x-kubernetes-patch-strategy": "merge",
            "x-kubernetes-patch-merge-key": "name",
        }
    },
}


@pytest.fixture(autouse=True)
def _memory_limit() -> Iterator[None]:
    """An attack that succeeds fails its test and does not harm the machine."""
    with memory_limits.of_this_process():
        yield


def copies(count: int, source: str = "/x", target: str = "/x/-") -> list[dict[str, Any]]:
    return [{"op": "copy", "from": source, "path": target}] * count


def test_a_patch_copies_bytes_up_to_a_limit() -> None:
    value = "y" * 1_000
    fitting = json_patch.MAX_COPIED_BYTES // (len(value) + 2)
    patched = json_patch.apply({"x": value, "l": []}, copies(fitting, "/x", "/l/-"))
    assert len(patched["l"]) == fitting
    with pytest.raises(PatchRejected):
        json_patch.apply({"x": value, "l": []}, copies(fitting + 1, "/x", "/l/-"))


def test_a_value_that_is_doubled_by_every_operation_stays_below_the_limit() -> None:
    doubled = json_patch.apply({"x": [1]}, copies(15))
    assert len(msgspec.json.encode(doubled)) <= 2 * json_patch.MAX_COPIED_BYTES
    with pytest.raises(PatchRejected):
        json_patch.apply({"x": [1]}, copies(300))


def test_operations_are_limited() -> None:
    operations = [{"op": "test", "path": "/x", "value": 1}] * (json_patch.MAX_OPERATIONS + 1)
    with pytest.raises(StatusError) as error:
        json_patch.apply({"x": 1}, operations)
    assert error.value.code == 413


def test_a_value_that_operations_nest_thousands_of_levels_deep_is_not_copied() -> None:
    wrap: list[dict[str, Any]] = [{"op": "add", "path": "/w", "value": {}}, {"op": "move", "from": "/v", "path": "/w/v"}]
    operations = [*wrap, {"op": "move", "from": "/w", "path": "/v"}] * 3_000
    with pytest.raises(PatchRejected):
        json_patch.apply({"v": {}}, [*operations, {"op": "copy", "from": "/v", "path": "/z"}])


@pytest.mark.parametrize("index", ["9" * 5_000, "-" + "9" * 5_000, "+"])
def test_an_index_of_thousands_of_digits_is_rejected(index: str) -> None:
    with pytest.raises(PatchRejected):
        json_patch.apply({"l": [1]}, [{"op": "remove", "path": f"/l/{index}"}])


def merged_naively(original: list[Any], patch: list[Any]) -> dict[str, Any]:
    """What each name has in the end; the order is not modelled."""
    items = {each["name"]: each for each in original}
    for each in patch:
        if each.get("$patch") == "delete":
            items.pop(each["name"], None)
        else:
            items[each["name"]] = {**items.get(each["name"], {}), **each}
    return items


@pytest.mark.parametrize("seed", range(20))
def test_lists_are_merged_by_their_keys_whatever_the_order(seed: int) -> None:
    rng = random.Random(seed)
    names = [f"n{index}" for index in range(12)]
    original = [{"name": name, "value": "old"} for name in rng.sample(names, 8)]
    patch: list[dict[str, Any]] = [{"name": name, "value": "new"} for name in rng.sample(names, 4)]
    patch += [{"name": name, "$patch": "delete"} for name in rng.sample(names, 2) if all(name != each["name"] for each in patch)]
    merged = strategic_merge.apply({"env": original}, {"env": patch}, SCHEMA)["env"]
    assert {each["name"]: each for each in merged} == merged_naively(original, patch)


def test_the_position_of_an_item_is_looked_up_and_not_searched() -> None:
    compared = 0

    class Name(str):
        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    original = [{"name": Name(f"n{index}")} for index in range(2_000)]
    patch = [{"name": Name(f"n{index}")} for index in reversed(range(2_000))]
    strategic_merge.apply({"env": original}, {"env": patch}, SCHEMA)
    assert compared < 100_000  # a search would compare four million times


def test_keys_that_are_lists_or_objects_have_positions_too() -> None:
    positions = strategic_lists.Positions([{"k": [1]}, {"k": {"a": 1}}, {"k": [1]}], "k")
    assert (positions.find([1]), positions.find({"a": 1}), positions.find("x")) == (0, 1, -1)
