"""Limits of requests: the size of stored objects, warnings, ports, limit ranges, Accept headers."""

from __future__ import annotations

import pathlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.embedded.apiserver.endpoints.in_process_api import InProcessApi, in_process_api

from traincrew.apimachinery.api_errors import StatusError
from traincrew.embedded.apiserver.admission import limit_ranger
from traincrew.embedded.apiserver.endpoints import content_negotiation
from traincrew.embedded.apiserver.http import warning_headers
from traincrew.embedded.apiserver.registry.builtin.core.pods import warnings
from traincrew.embedded.apiserver.requests import query_parameters
from traincrew.embedded.apiserver.requests.query_parameters import Query
from traincrew.embedded.apiserver.storage.store import MAX_OBJECT_BYTES


@pytest.fixture
async def api(tmp_path: pathlib.Path) -> AsyncIterator[InProcessApi]:
    async with in_process_api(tmp_path / "data") as opened:
        await opened.send("create", "serviceaccounts", {"metadata": {"name": "default"}})
        yield opened


def pod(*containers: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": "p"}, "spec": {"containers": list(containers)}}


async def test_an_object_beyond_the_limit_of_etcd_is_not_stored(api: InProcessApi) -> None:
    arguments = {"name": "c", "image": "i", "args": ["x" * 1_000_000]}
    assert (await api.send("create", "pods", pod(arguments))).code == 201
    added = {"metadata": {"annotations": {"a": "y" * 200_000}}}
    assert (await api.patch("merge", "pods/p", added)).code == 200
    large = {"metadata": {"name": "q"}, "spec": {"containers": [{**arguments, "args": ["x" * MAX_OBJECT_BYTES]}]}}
    response = await api.send("create", "pods", large)
    assert (response.code, response.body["reason"]) == (413, "RequestEntityTooLarge")
    assert response.message == f"Request entity too large: limit is {MAX_OBJECT_BYTES}"


async def test_a_service_that_needs_more_node_ports_than_there_are_is_rejected(api: InProcessApi) -> None:
    ports = [{"port": index + 1, "name": f"p{index}"} for index in range(2_800)]
    response = await api.send("create", "services", {"metadata": {"name": "s"}, "spec": {"type": "NodePort", "ports": ports}})
    assert (response.code, response.message) == (422, "failed to allocate a nodePort: range is full")


async def test_a_limit_range_sets_a_limited_number_of_resources(api: InProcessApi) -> None:
    default = {f"example.com/r{index}": "1" for index in range(500)}
    limits = {"limits": [{"type": "Container", "default": default}]}
    assert (await api.send("create", "limitranges", {"metadata": {"name": "l"}, "spec": limits})).code == 201
    containers = [{"name": f"c{index}", "image": "i"} for index in range(100)]
    assert (await api.send("create", "pods", pod(*containers[:5]), dryRun="All")).code == 201
    response = await api.send("create", "pods", pod(*containers))
    assert (response.code, str(limit_ranger.MAX_FILLED) in response.message) == (403, True)


def test_thousands_of_equal_ports_cause_a_limited_number_of_warnings() -> None:
    ports = [{"containerPort": 80, "name": f"p{index}", "protocol": "TCP"} for index in range(2_000)]
    obj = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "ports": ports}]}}
    assert len(warnings.pod(obj)) == warnings.MAX_WARNINGS


def test_ports_overlap_on_the_host_as_kube_apiserver_finds_it() -> None:
    given: list[dict[str, Any]] = [
        {"hostPort": 1, "hostIP": "10.0.0.1"}, {"hostPort": 1, "hostIP": "10.0.0.2"}, {"hostPort": 1}, {"hostPort": 1},
        {"hostPort": 2}, {}, {"hostPort": 1, "hostIP": "10.0.0.1"},
    ]  # fmt: skip
    ports = [{"containerPort": 80, "protocol": "TCP", **each} for each in given]
    found = warnings.pod({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "ports": ports}]}})
    path = "spec.containers[0].ports"
    short = [(each.replace(path, "").replace(" port definition with ", " ").replace("dangerously ", "")) for each in found]
    assert short == [
        "[2]: ambiguous [0]", "[2]: ambiguous [1]", "[3]: ambiguous [0]", "[3]: ambiguous [1]", "[3]: duplicate [2]",
        "[5]: overlapping [0]", "[5]: overlapping [1]", "[5]: overlapping [2]", "[5]: overlapping [3]", "[5]: overlapping [4]",
        "[6]: duplicate [0]", "[6]: ambiguous [2]", "[6]: ambiguous [3]", "[6]: overlapping [5]",
    ]  # fmt: skip


def test_warnings_of_a_response_are_truncated_as_by_kube_apiserver() -> None:
    assert warning_headers.values(['a "b" \\', "", 'a "b" \\']) == ['299 - "a \\"b\\" \\\\"']
    many = warning_headers.values(f"{index}{'x' * 1_000}" for index in range(1_000))
    assert (len(many), {len(each) for each in many}) == (16, {256 + len('299 - ""')})


def test_an_accept_header_of_thousands_of_clauses_is_read_in_part() -> None:
    clauses = [f"a/b;q=0.{index}" for index in range(1_000, 8_000)]
    assert content_negotiation.negotiate(",".join(["application/yaml", *clauses])).yaml
    with pytest.raises(StatusError):
        content_negotiation.negotiate(",".join([*clauses, "application/json"]))


def test_a_long_field_manager_has_one_error() -> None:
    with pytest.raises(StatusError) as error:
        query_parameters.write_options(Query({"fieldManager": ["\x01" * 30_000]}), "CreateOptions", "")
    assert len(error.value.message) < 1_000
