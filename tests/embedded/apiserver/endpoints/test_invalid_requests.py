"""Invalid requests are client errors, also those to which a real API server responds with 500 (docs/compatibility.md)."""

from __future__ import annotations

import json
import pathlib
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import pytest
from tests.embedded.apiserver.endpoints.in_process_api import ApiResponse, InProcessApi, in_process_api

MAP: dict[str, Any] = {"metadata": {"name": "a"}}
APPLIED = {"apiVersion": "v1", "kind": "ConfigMap", **MAP}


@pytest.fixture
async def api(tmp_path: pathlib.Path) -> AsyncIterator[InProcessApi]:
    async with in_process_api(tmp_path) as in_process:
        await in_process.create("configmaps", "a", {"data": {"b": "c"}})
        yield in_process


class InvalidRequest(NamedTuple):
    verb: str
    path: str
    body: Any
    message: str

    async def send(self, api: InProcessApi) -> ApiResponse:
        if self.verb in ("apply", "strategic"):
            return await api.patch(self.verb, self.path, self.body, fieldManager="m")
        return await api.send(self.verb, self.path, self.body)


CASES = {
    "a number that is not finite, applied": InvalidRequest(
        "apply", "configmaps/a", json.dumps(APPLIED)[:-1] + ', "data": 1e999}', "expected map, got &{1e999}"
    ),
    "an unknown field, applied": InvalidRequest(
        "apply", "configmaps/a", APPLIED | {"spec": 1}, "failed to create typed patch object"
    ),
    "a wrong type, applied": InvalidRequest(
        "apply", "configmaps/a", APPLIED | {"data": []}, "failed to create typed patch object"
    ),
    "a version that is not a number": InvalidRequest(
        "update", "configmaps/a", {"metadata": {"name": "a", "resourceVersion": "abc"}}, 'strconv.ParseUint: parsing "abc"'
    ),
    "a version that is too large": InvalidRequest(
        "update", "configmaps/a", {"metadata": {"name": "a", "resourceVersion": "9" * 30}}, "value out of range"
    ),
    "a new object with a version": InvalidRequest(
        "create", "configmaps", {"metadata": {"name": "b", "resourceVersion": "7"}}, "resourceVersion should not be set"
    ),
    "options that are a number": InvalidRequest("delete", "configmaps/a", "1e999", "cannot unmarshal"),
    "options that are cut off": InvalidRequest("delete", "configmaps/a", '{"a":', ""),
    "options of another kind": InvalidRequest("delete", "configmaps/a", {"kind": "Pod", "apiVersion": "v1"}, ""),
    "a patch of an unknown type": InvalidRequest("strategic", "configmaps/a", {"$patch": "frob"}, "unknown patch type: frob"),
    "a binding without a target": InvalidRequest(
        "create", "pods/p/binding", {"metadata": {"name": "p"}, "target": {}}, "target.name"
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
async def test_an_invalid_request_is_a_client_error(api: InProcessApi, case: InvalidRequest) -> None:
    pod = {"spec": {"containers": [{"name": "main", "image": "train:1"}]}}
    await api.create("pods", "p", pod)
    response = await case.send(api)
    assert (response.code, response.body["reason"]) in ((400, "BadRequest"), (422, "Invalid")), response.body
    assert case.message in response.message
    assert (await api.send("get", "configmaps/a")).body["data"] == {"b": "c"}
