"""What is told about objects and resources is what a real API server tells."""

import contextlib
import datetime
import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from tests.cluster import printed, printed_kinds
from tests.cluster.api import Api, Object, Refused
from tests.cluster.printed import Printed

from traincrew.embedded.schemas import builtins
from traincrew.embedded.served import Served
from traincrew.embedded.show import tables

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
FAMILIES = {
    "pods": printed.pods,
    "workloads": printed_kinds.workloads,
    "network": printed_kinds.network,
    "storage": printed_kinds.storage,
    "cluster": printed_kinds.cluster,
}


@pytest.mark.parametrize("family", FAMILIES)
def test_tables_have_the_same_columns_and_cells(api: Api, namespace: str, family: str) -> None:
    objects = FAMILIES[family]()
    with made(api, namespace, objects):
        for path in dict.fromkeys(each.path for each in objects):
            compare_tables(api, path.format(namespace=namespace), builtin(path))


def compare_tables(api: Api, path: str, served: Served) -> None:
    earlier = now()
    asked = as_form(api, path, TABLE)
    later = now()
    listed = api.call("GET", path)
    kept = [msg(item) for item in listed["items"]]
    drawn = [tables.table(served, kept, include="Metadata", now=each, list_metadata={}) for each in (earlier, later)]
    assert [bare(head) for head in drawn[0]["columnDefinitions"]] == [bare(head) for head in asked["columnDefinitions"]]
    assert len(asked["rows"]) == len(kept) > 0
    for index, row in enumerate(asked["rows"]):
        ours = [each["rows"][index] for each in drawn]
        for cell, *candidates in zip(row["cells"], *(each["cells"] for each in ours), strict=True):
            assert cell in candidates, (path, row["cells"], ours[0]["cells"])
        assert ours[0].get("conditions") == row.get("conditions")


def now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


def msg(item: Object) -> bytes:
    return json.dumps(item).encode()


def bare(head: Object) -> Object:
    """A column without its description, which is Kubernetes' prose."""
    return {key: value for key, value in head.items() if key != "description"}


def as_form(api: Api, path: str, accept: str) -> Any:
    response = api.session.get(api.server + path, headers={"Accept": accept}, timeout=60)
    assert response.status_code == 200, response.text
    return response.json()


def builtin(path: str) -> Served:
    plural = path.rpartition("/")[2]
    group = path.split("/")[2] if path.startswith("/apis/") else ""
    version = path.split("/")[3] if group else "v1"
    return next(
        each for each in builtins.load().resources() if (each.group, each.version, each.plural) == (group, version, plural)
    )


@contextlib.contextmanager
def made(api: Api, namespace: str, objects: Sequence[Printed]) -> Iterator[None]:
    """The objects, with their statuses; what is outside the namespace is deleted afterwards."""
    places = []
    try:
        for each in objects:
            body = json.loads(json.dumps(each.object).replace("{namespace}", namespace))
            path = each.path.format(namespace=namespace)
            place = f"{path}/{body['metadata']['name']}"
            places.append(place)
            api.call("POST", path, body)
            if each.status is not None:
                api.call("PATCH", f"{place}/status", {"status": each.status}, "application/merge-patch+json")
            if "delete" in body["metadata"].get("annotations", {}):
                api.call("DELETE", place)
        yield
    finally:
        for place in places:
            with contextlib.suppress(Refused):
                api.call("PATCH", place, {"metadata": {"finalizers": None}}, "application/merge-patch+json")
                api.call("DELETE", place, gracePeriodSeconds="0")
