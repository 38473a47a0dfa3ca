"""An API server with discovery, pods and their streams only, which is sufficient for kubectl."""

from __future__ import annotations

import asyncio
import contextlib
import json
import pathlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from aiohttp import web
from tests.embedded.kubelet.server.nodes import Node
from tools.kube import certificates

from traincrew.apimachinery.api_errors import StatusError
from traincrew.embedded.apiserver.streams import location, log_relay, tunnel
from traincrew.serving import shutdown

SUBRESOURCES = {"exec": location.exec, "attach": location.attach, "portforward": location.port_forward}
DISCOVERY: dict[str, Any] = {
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": []},
    "/api/v1": {
        "kind": "APIResourceList",
        "groupVersion": "v1",
        "resources": [{"name": "pods", "singularName": "pod", "namespaced": True, "kind": "Pod", "verbs": ["get", "list"]}],
    },
}


class StreamingApiServer:
    """All pods are on one node."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.host, self.port = "127.0.0.1", node.port
        self.pods: dict[tuple[str, str], dict[str, Any]] = {}
        self.url = ""
        self.create_only = False
        """Rejects `get` of streams, and with it WebSockets."""
        self.lost_streams = 0
        """The number of streams whose connection is lost when they are open."""
        self.app = web.Application(middlewares=[_status_errors])
        self.app.on_shutdown.append(self._cancel_streams)
        self._open: set[asyncio.Task[object]] = set()
        for path, document in DISCOVERY.items():
            self.app.router.add_get(path, _respond_with(document))
        self.app.router.add_get("/api/v1/namespaces/{namespace}/pods/{name}", self._get)
        self.app.router.add_get("/api/v1/namespaces/{namespace}/pods/{name}/log", self._log)
        for method in ("GET", "POST"):
            self.app.router.add_route(method, "/api/v1/namespaces/{namespace}/pods/{name}/{sub}", self._tunnel)

    def add(self, namespace: str, name: str, *containers: str, tty: bool = False) -> None:
        listed = [{"name": each, "image": "x", "stdin": True, "tty": tty} for each in containers]
        metadata = {"namespace": namespace, "name": name, "uid": f"uid-{name}"}
        pod = {"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": {"nodeName": "n", "containers": listed}}
        self.pods[namespace, name] = pod | {"status": {"phase": "Running"}}

    def kubeconfig(self, path: pathlib.Path) -> pathlib.Path:
        cluster = {"server": self.url, "certificate-authority": str(self.node.authority.path)}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": cluster}],
            "users": [{"name": "u", "user": {"token": "t"}}],
        }
        path.write_text(json.dumps(config))
        return path

    async def _get(self, request: web.Request) -> web.StreamResponse:
        return web.json_response(self._pod(request))

    async def _log(self, request: web.Request) -> web.StreamResponse:
        log_location = location.log(self._pod(request), list(request.query.items()))
        assert log_location
        return await log_relay.relay(request, self._target(log_location), request.match_info["name"])

    async def _tunnel(self, request: web.Request) -> web.StreamResponse:
        if self.create_only and request.method == "GET":
            message = {"kind": "Status", "status": "Failure", "reason": "Forbidden", "message": "no right to get", "code": 403}
            return web.json_response(message, status=403)
        if self.lost_streams:
            self.lost_streams -= 1
            return await _lose(request)
        ask = SUBRESOURCES[request.match_info["sub"]]
        target = self._target(ask(self._pod(request), list(request.query.items())))
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            return await tunnel.tunnel(request, target)
        finally:
            self._open.discard(task)

    async def _cancel_streams(self, app: web.Application) -> None:
        """Open streams would delay the shutdown of the server."""
        for task in list(self._open):
            task.cancel()

    def _pod(self, request: web.Request) -> dict[str, Any]:
        return self.pods[request.match_info["namespace"], request.match_info["name"]]

    def _target(self, stream: location.Location) -> tunnel.KubeletEndpoint:
        return tunnel.KubeletEndpoint(self.host, self.port, stream.path, stream.query, self.node.ssl, self.node.headers)


async def _lose(request: web.Request) -> web.StreamResponse:
    opened = web.WebSocketResponse(protocols=("v5.channel.k8s.io",))
    await opened.prepare(request)
    assert request.transport is not None
    request.transport.abort()
    return opened


def _respond_with(document: dict[str, Any]) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def respond(request: web.Request) -> web.StreamResponse:
        return web.json_response(document)

    return respond


def _compact(document: object) -> str:
    return json.dumps(document, separators=(",", ":"))


@web.middleware
async def _status_errors(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    try:
        return await handler(request)
    except StatusError as error:
        return web.json_response(error.status(), status=error.code, dumps=_compact)


@contextlib.asynccontextmanager
async def serve(node: Node, authority: certificates.Authority) -> AsyncIterator[StreamingApiServer]:
    api_server = StreamingApiServer(node)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*authority.server("front"))
    runner = web.AppRunner(api_server.app, access_log=None, shutdown_timeout=30)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
        api_server.url = f"https://127.0.0.1:{runner.addresses[0][1]}"
        yield api_server
    finally:
        await shutdown.shut_down(runner)
