"""Valid objects of which one part is enlarged to almost 100 kB: every place, in many ways."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator, Sequence
from typing import Any

from tests.embedded.resilience import object_generator
from tests.embedded.resilience.request_generator import RawRequest
from tests.hostile.costly_requests import APPLY, MERGE, STRATEGIC, TABLE, request

from traincrew.apimachinery.resource_info import ResourceInfo

SIZE = 90_000
_UNITS = (
    "a", "a.", "a-", "/a", "a:", "1,", " ", "9", "1h", "$(", "é", "\0", "*/1 ", "0-1,", "=", "\\", "A", "http://a/", "::", "{",
    "%s",
)  # fmt: skip


def _texts() -> Iterator[str]:
    yield from (unit * (SIZE // len(unit.encode())) for unit in _UNITS)
    yield from ("1E1000000", f"1e{'9' * 1_000}", f"2020-01-01T00:00:00.{'9' * SIZE}Z", f"*/{'9' * SIZE} * * * *")


def _nested(opening: str, closing: str) -> Any:
    return json.loads(opening * 180 + "1" + closing * 180)


def enlarged(rng: random.Random, value: Any) -> Any:
    """Another value of almost 100 kB in place of this one."""
    match rng.randrange(8):
        case 0 | 1:
            return rng.choice([*_texts()])
        case 2:
            return rng.choice((10**4_000, -(10**18), 2**63, _nested("[", "]"), _nested('{"a":', "}")))
        case 3:
            return rng.choice(([{}] * (SIZE // 4), [None] * (SIZE // 6), [*range(SIZE // 7)], ["s"] * (SIZE // 6)))
        case 4:
            return {f"k{index}": "v" for index in range(SIZE // 14)}
    if isinstance(value, dict) and value:
        first = next(iter(value.values()))
        return {**value, **{f"k{index}": first for index in range(SIZE // (len(json.dumps(first)) + 14))}}
    each = value[0] if isinstance(value, list) and value else value
    count = SIZE // (len(json.dumps(each)) + 10)
    return [_renamed(each, index if rng.random() < 0.9 else 0) for index in range(count)]


def _renamed(value: Any, index: int) -> Any:
    """The first string differs from item to item."""
    if isinstance(value, str):
        return f"{value}{index}"
    if isinstance(value, dict):
        first = next((key for key, inner in value.items() if isinstance(inner, str)), None)
        return value if first is None else {**value, first: f"{value[first]}{index}"}
    return value


def requests(seed: int, resources: Sequence[ResourceInfo]) -> Iterator[RawRequest]:
    """The life of one enlarged object, as far as the server accepts it."""
    rng = random.Random(f"enlarged {seed}")
    known = object_generator.valid_objects()
    info = rng.choice([each for each in resources if (each.api_version, each.kind) in known and "list" in each.verbs])
    obj = copy.deepcopy(known[info.api_version, info.kind][0])
    obj["metadata"] = {**obj["metadata"], "name": "large"}
    within, key = rng.choice([each for each in object_generator.locations(obj) if each[1] not in ("kind", "apiVersion")])
    within[key] = enlarged(rng, within[key])
    prefix = f"/apis/{info.group}/{info.version}" if info.group else f"/api/{info.version}"
    collection = f"{prefix}/namespaces/default/{info.plural}" if info.namespaced else f"{prefix}/{info.plural}"
    yield request("POST", collection, obj)
    yield request("PUT", f"{collection}/large", obj)
    yield request("PATCH", f"{collection}/large", {"metadata": {"annotations": {"a": "b"}}}, MERGE)
    yield request("PATCH", f"{collection}/large", obj, STRATEGIC if info.definition is None else MERGE)
    for manager in ("one", "two"):
        yield request("PATCH", f"{collection}/large", obj, APPLY, fieldManager=manager, force="true")
    yield request("PATCH", f"{collection}/large", {"metadata": {"finalizers": None, "labels": {"c": "d"}}}, MERGE)
    yield request("GET", collection, accept=TABLE)
    yield request("DELETE", f"{collection}/large", gracePeriodSeconds="0")
