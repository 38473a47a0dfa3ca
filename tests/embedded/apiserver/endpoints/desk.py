"""A daemon without network, asked as its HTTP server would ask it."""

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
from traincrew.embedded.apiserver.requests.request import Request
from traincrew.embedded.bootstrap import BootstrapObjects, bootstrap
from traincrew.embedded.control_plane import ControlPlane, Options

TYPES = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}


@dataclasses.dataclass
class Told:
    code: int
    body: dict[str, Any]
    warnings: tuple[str, ...] = ()

    @property
    def message(self) -> str:
        return str(self.body.get("message", ""))


class Desk:
    def __init__(self, daemon: ControlPlane) -> None:
        self.daemon = daemon
        self.user = users.administrator()

    async def ask(self, verb: str, path: str, body: Any = None, content_type: str = "", **query: str) -> Told:
        """path: `configmaps/a/status`, or `batch/v1:jobs/j`."""
        where, _, rest = path.rpartition(":")
        group, _, version = where.rpartition("/")
        plural, name, sub = [*rest.split("/"), "", ""][:3]
        served = self.daemon.registry.find(group, version or "v1", plural)
        assert served is not None
        text = b"" if body is None else body.encode() if isinstance(body, str) else json.dumps(body).encode()
        asked = Query({key: [value] for key, value in query.items()})
        namespace = "default" if served.namespaced else ""
        call = Request(self.user, verb, served, namespace, name, sub, asked, text, content_type, agent="test")
        try:
            answer = await self.daemon.handler.handle(call)
        except api_errors.StatusError as refusal:
            return Told(refusal.code, refusal.status())
        return Told(answer.code, json.loads(answer.body), answer.warnings)

    async def create(self, plural: str, name: str, body: dict[str, Any] | None = None, **meta: Any) -> Told:
        return await self.ask("create", plural, {"metadata": {"name": name, **meta}, **(body or {})})

    async def patch(self, how: str, path: str, body: Any, **query: str) -> Told:
        return await self.ask("patch", path, body, TYPES[how], **query)


@contextlib.asynccontextmanager
async def desk(data: pathlib.Path) -> AsyncIterator[Desk]:
    daemon = ControlPlane(Options(data, "127.0.0.1", 0, BootstrapObjects((), (), ()), data / "log", "0"))
    try:
        await bootstrap(daemon.system_client("bootstrap"), daemon.options.bootstrap)
        yield Desk(daemon)
    finally:
        await daemon.close()
