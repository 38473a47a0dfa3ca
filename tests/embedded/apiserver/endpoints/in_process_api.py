"""A control plane without network. Requests are passed to its handler as the HTTP server passes them."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import pathlib
from collections.abc import AsyncIterator
from typing import Any

from traincrew.apimachinery import api_errors
from traincrew.embedded.apiserver.authn import users
from traincrew.embedded.apiserver.requests.query_parameters import Query
from traincrew.embedded.apiserver.requests.request import ApiRequest
from traincrew.embedded.bootstrap import BootstrapObjects, bootstrap
from traincrew.embedded.control_plane import ControlPlane, Options

PATCH_CONTENT_TYPES = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}


@dataclasses.dataclass
class ApiResponse:
    code: int
    body: dict[str, Any]
    warnings: tuple[str, ...] = ()

    @property
    def message(self) -> str:
        return str(self.body.get("message", ""))


class InProcessApi:
    def __init__(self, control_plane: ControlPlane) -> None:
        self.control_plane = control_plane
        self.user = users.administrator()
        self.namespace = "default"

    async def send(self, verb: str, path: str, body: Any = None, content_type: str = "", **query: str) -> ApiResponse:
        """path: `configmaps/a/status`, or `batch/v1:jobs/j`."""
        where, _, rest = path.rpartition(":")
        group, _, version = where.rpartition("/")
        plural, name, sub = [*rest.split("/"), "", ""][:3]
        info = self.control_plane.registry.find(group, version or "v1", plural)
        assert info is not None
        text = b"" if body is None else body.encode() if isinstance(body, str) else json.dumps(body).encode()
        parameters = Query({key: [value] for key, value in query.items()})
        namespace = self.namespace if info.namespaced else ""
        request = ApiRequest(self.user, verb, info, namespace, name, sub, parameters, text, content_type, agent="test")
        try:
            response = await self.control_plane.handler.handle(request)
        except api_errors.StatusError as error:
            return ApiResponse(error.code, error.status())
        return ApiResponse(response.code, json.loads(response.body), response.warnings)

    async def create(self, plural: str, name: str, body: dict[str, Any] | None = None, **meta: Any) -> ApiResponse:
        return await self.send("create", plural, {"metadata": {"name": name, **meta}, **(body or {})})

    async def patch(self, type: str, path: str, body: Any, **query: str) -> ApiResponse:
        return await self.send("patch", path, body, PATCH_CONTENT_TYPES[type], **query)


@contextlib.asynccontextmanager
async def in_process_api(data: pathlib.Path) -> AsyncIterator[InProcessApi]:
    control_plane = ControlPlane(Options(data, "127.0.0.1", 0, BootstrapObjects((), (), ()), data / "log", "0"))
    try:
        await bootstrap(control_plane.system_client("bootstrap"), control_plane.options.bootstrap)
        yield InProcessApi(control_plane)
    finally:
        await control_plane.close()
