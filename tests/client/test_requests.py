"""Requests on the wire, and the errors of their responses."""

from __future__ import annotations

import asyncio
import json
import socket
from typing import TYPE_CHECKING

import pytest

from traincrew import errors
from traincrew.client import connection, retries
from traincrew.model.resources import NAMESPACES, PODS, Resource

if TYPE_CHECKING:
    from tests.client.conftest import ApiServer, Connect, Responses

JOBS = Resource("kubeflow.org", "v1", "pytorchjobs", "PyTorchJob")


async def test_verbs_become_the_requests_of_the_kubernetes_api(server: ApiServer, connect: Connect) -> None:
    async with connect() as client:
        await client.get(PODS, "ns", "p", "log")
        await client.get(NAMESPACES, None, "ns")
        await client.create(PODS, "ns", b"{}")
        await client.create(PODS, "ns", b"{}", strict=True)
        await client.replace(JOBS, "ns", "j", b"{}", "status")
        await client.patch(JOBS, "ns", "j", b"{}", subresource="status")
        await client.delete(PODS, "ns", "p")
    assert [f"{each.method} {each.path} {each.query}" for each in server.requests] == [
        "GET /api/v1/namespaces/ns/pods/p/log {}",
        "GET /api/v1/namespaces/ns {}",
        "POST /api/v1/namespaces/ns/pods {}",
        "POST /api/v1/namespaces/ns/pods {'fieldValidation': 'Strict'}",
        "PUT /apis/kubeflow.org/v1/namespaces/ns/pytorchjobs/j/status {}",
        "PATCH /apis/kubeflow.org/v1/namespaces/ns/pytorchjobs/j/status {}",
        "DELETE /api/v1/namespaces/ns/pods/p {}",
    ]


async def test_bodies_are_sent_and_received_unchanged(server: ApiServer, connect: Connect, responses: Responses) -> None:
    answer = b'{"metadata": {"name": "p"},   "unknown": [1, 2]}'
    server.respond(responses.status(201, answer))
    async with connect() as client:
        assert await client.create(PODS, "ns", b'{"odd":   "spacing"}') == answer
    assert server.requests[0].body == b'{"odd":   "spacing"}'


@pytest.mark.parametrize(
    ("kind", "content_type"),
    [
        ("merge", "application/merge-patch+json"),
        ("json", "application/json-patch+json"),
        ("strategic", "application/strategic-merge-patch+json"),
    ],
)
async def test_a_patch_has_the_content_type_of_its_kind(
    server: ApiServer, connect: Connect, kind: str, content_type: str
) -> None:
    async with connect() as client:
        await client.patch(PODS, "ns", "p", b"[]", type=kind)  # type: ignore[arg-type]
    assert server.requests[0].headers["Content-Type"] == content_type


async def test_a_delete_sends_uid_and_propagation(server: ApiServer, connect: Connect) -> None:
    async with connect() as client:
        await client.delete(PODS, "ns", "p", uid="u-1", propagation="Background")
    assert json.loads(server.requests[0].body) == {
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "preconditions": {"uid": "u-1"},
        "propagationPolicy": "Background",
    }


async def test_requests_have_a_user_agent_and_no_compression(server: ApiServer, connect: Connect) -> None:
    async with connect() as client:
        await client.get(PODS, "ns", "p")
    headers = server.requests[0].headers
    assert headers["User-Agent"].startswith("traincrew/")
    assert headers["User-Agent"].endswith(" (tests)")
    assert headers["Accept-Encoding"] == "identity"


@pytest.mark.parametrize("name", ["a/b", "a?watch=true", "a#b", "ä", "a%2fb", "a b"])
async def test_a_name_is_one_segment_of_the_path(server: ApiServer, connect: Connect, name: str) -> None:
    async with connect() as client:
        await client.get(PODS, "ns", name)
    path = server.requests[0].path
    assert path.startswith("/api/v1/namespaces/ns/pods/")
    assert path.count("/") == 6
    assert server.requests[0].query == {}


@pytest.mark.parametrize("name", [".", "..", "../../secrets"])
async def test_a_name_with_dots_at_the_start_is_rejected(server: ApiServer, connect: Connect, name: str) -> None:
    async with connect() as client:
        with pytest.raises(errors.Rejected):
            await client.get(PODS, "ns", name)
    assert server.requests == []


async def test_the_path_prefix_of_the_server_is_kept(server: ApiServer, connect: Connect) -> None:
    async with connect(target=connection.ServerConnection(f"{server.url}/k8s/clusters/c-1")) as client:
        await client.get(PODS, "ns", "p")
    assert server.requests[0].path == "/k8s/clusters/c-1/api/v1/namespaces/ns/pods/p"


@pytest.mark.parametrize(
    ("code", "reason", "kind"),
    [
        (400, "BadRequest", errors.Rejected),
        (401, "Unauthorized", errors.Unauthorized),
        (403, "Forbidden", errors.Forbidden),
        (404, "NotFound", errors.NotFound),
        (405, "MethodNotAllowed", errors.Rejected),
        (409, "AlreadyExists", errors.AlreadyExists),
        (409, "Conflict", errors.Conflict),
        (410, "Expired", errors.Expired),
        (410, "Gone", errors.Expired),
        (413, "RequestEntityTooLarge", errors.Rejected),
        (415, "UnsupportedMediaType", errors.Rejected),
        (422, "Invalid", errors.Rejected),
        (429, "TooManyRequests", errors.TooManyRequests),
        (500, "InternalError", errors.ServerError),
        (502, "", errors.ServerError),
        (503, "ServiceUnavailable", errors.ServerError),
        (504, "Timeout", errors.ServerError),
    ],
)
async def test_code_and_reason_determine_the_error(
    server: ApiServer, connect: Connect, responses: Responses, code: int, reason: str, kind: type[errors.ApiError]
) -> None:
    causes = [{"reason": "FieldValueInvalid", "message": "must be x", "field": "spec.a"}]
    server.default = responses.status_error(code, reason, "message of the server", causes=causes)
    async with connect(attempts=1) as client:
        with pytest.raises(errors.ApiError) as caught:
            await client.get(PODS, "ns", "p")
    assert type(caught.value) is kind
    assert (caught.value.code, caught.value.reason) == (code, reason)
    assert str(caught.value) == "message of the server"
    assert caught.value.causes == (errors.Cause("FieldValueInvalid", "must be x", "spec.a"),)


async def test_an_exceeded_quota_is_not_a_missing_permission(server: ApiServer, connect: Connect, responses: Responses) -> None:
    message = 'pods "p" is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2'
    server.default = responses.status_error(403, "Forbidden", message)
    async with connect(attempts=1) as client:
        with pytest.raises(errors.QuotaExceeded, match="exceeded quota: q") as caught:
            await client.get(PODS, "ns", "p")
    assert (caught.value.code, caught.value.reason) == (403, "Forbidden")


async def test_a_response_that_is_not_a_status_is_quoted_truncated(
    server: ApiServer, connect: Connect, responses: Responses
) -> None:
    server.respond(responses.status(403, b"<html>\n  <h1>Blocked</h1>" + b"x" * 5000))
    async with connect() as client:
        with pytest.raises(errors.Forbidden, match="HTTP 403: <html> <h1>Blocked</h1>x") as caught:
            await client.get(PODS, "ns", "p")
    assert len(str(caught.value)) < 400


async def test_redirects_are_not_followed(server: ApiServer, connect: Connect, responses: Responses) -> None:
    server.respond(responses.status(302, Location=f"{server.url}/elsewhere"))
    async with connect() as client:
        with pytest.raises(errors.Rejected, match="is this the address of an API server"):
            await client.get(PODS, "ns", "p")
    assert len(server.requests) == 1


async def test_cookies_are_not_kept(server: ApiServer, connect: Connect, responses: Responses) -> None:
    server.respond(responses.status(200, Set_Cookie="a=b"))
    async with connect() as client:
        await client.get(PODS, "ns", "p")
        await client.get(PODS, "ns", "p")
    assert "Cookie" not in server.requests[1].headers


async def test_a_refused_connection_is_unreachable_and_never_sent(connect: Connect) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    async with connect(target=connection.ServerConnection(f"http://127.0.0.1:{port}")) as client:
        with pytest.raises(errors.Unreachable, match=f"no response from http://127.0.0.1:{port}") as caught:
            await client.create(PODS, "ns", b'{"metadata":{"generateName":"p-"}}')
    assert retries.server_did_not_act(caught.value)


async def test_a_slow_response_times_out(server: ApiServer, connect: Connect) -> None:
    async def never(_: object) -> object:
        return await asyncio.Event().wait()

    server.default = never  # type: ignore[assignment]
    async with connect(request_timeout=0.05, attempts=1) as client:
        with pytest.raises(errors.Unreachable, match="timed out"):
            await client.get(PODS, "ns", "p")


async def test_on_request_is_called_for_every_request(server: ApiServer, connect: Connect, responses: Responses) -> None:
    calls: list[tuple[str, str, int]] = []
    server.respond(responses.status(503), responses.abort, responses.status(200), responses.status(404))
    async with connect(on_request=lambda *each: calls.append(each[:3])) as client:
        await client.patch(PODS, "ns", "p", b"{}")
        with pytest.raises(errors.NotFound):
            await client.get(JOBS, "ns", "j")
    assert calls == [("patch", "pods", 503), ("patch", "pods", 0), ("patch", "pods", 200), ("get", "pytorchjobs", 404)]


async def test_the_number_of_requests_in_flight_is_limited(server: ApiServer, connect: Connect, responses: Responses) -> None:
    gate = asyncio.Event()

    async def blocked_response(request: object) -> object:
        await gate.wait()
        return await responses.status(200)(request)  # type: ignore[arg-type]

    server.default = blocked_response  # type: ignore[assignment]
    async with connect(in_flight=3) as client, asyncio.TaskGroup() as group:
        for number in range(10):
            group.create_task(client.get(PODS, "ns", f"p-{number}"))
        await server.until(lambda: server.active == 3)
        gate.set()
    assert len(server.requests) == 10
    assert server.max_active == 3


async def test_a_waiting_retry_does_not_count_as_in_flight(server: ApiServer, connect: Connect, responses: Responses) -> None:
    server.respond(responses.status(429, Retry_After="25"))
    async with connect(in_flight=1) as client:
        waiting = asyncio.create_task(client.get(PODS, "ns", "refused"))
        await server.until(lambda: len(server.requests) == 1 and server.active == 0)
        await client.get(PODS, "ns", "other")
        waiting.cancel()
    assert [each.path.rpartition("/")[2] for each in server.requests] == ["refused", "other"]


async def test_a_list_has_pages_of_one_version(server: ApiServer, connect: Connect, responses: Responses) -> None:
    first = {"metadata": {"resourceVersion": "7", "continue": "more&more"}, "items": [{"a": 1}, {"a": 2}]}
    last = {"metadata": {"resourceVersion": "7"}, "items": [{"a": 3}]}
    server.respond(responses.status(200, first), responses.status(200, last))
    async with connect(page_size=2) as client:
        pages = [page async for page in client.pages(PODS, None, labels="a in (b, c)", fields="x=y")]
    assert [[json.loads(item)["a"] for item in page.items] for page in pages] == [[1, 2], [3]]
    assert {page.resource_version for page in pages} == {"7"}
    shared = {"limit": "2", "labelSelector": "a in (b, c)", "fieldSelector": "x=y"}
    assert [each.query for each in server.requests] == [shared, {**shared, "continue": "more&more"}]
    assert server.requests[0].path == "/api/v1/pods"


async def test_a_list_with_an_object_of_any_depth_is_read(server: ApiServer, connect: Connect, responses: Responses) -> None:
    deep = b'{"metadata":{"name":"deep"},"spec":' + b"[" * 9_900 + b"]" * 9_900 + b"}"
    server.respond(responses.status(200, b'{"items":[' + deep + b',{"metadata":{"name":"flat"}}]}'))
    async with connect() as client:
        items = [json.loads(item) async for page in client.pages(PODS, "ns") for item in page.items]
    assert [item["metadata"]["name"] for item in items] == ["deep", "flat"]


async def test_an_expired_continue_token_is_expired(server: ApiServer, connect: Connect, responses: Responses) -> None:
    server.respond(
        responses.status(200, {"metadata": {"resourceVersion": "7", "continue": "c"}, "items": []}),
        responses.status_error(410, "Expired"),
    )
    async with connect() as client:
        with pytest.raises(errors.Expired):
            [page async for page in client.pages(PODS, None)]
