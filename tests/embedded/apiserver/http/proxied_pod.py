"""A pod with an HTTP server, and the objects that lead to it through pods/proxy and services/proxy of an API server."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import pathlib
import ssl
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
from aiohttp import web
from tests.embedded.kubelet.server.process_runtime import ProcessRuntime

NAMESPACE, NODE, POD, SERVICE = "default", "node-of-web", "web", "web"
PAGE = (
    '<html><head><link rel="stylesheet" href="/style.css"><base target="x"></head><!-- <a href="/no"> -->'
    "<script src='/app.js?a=1&amp;b=2'>if (a < b) document.write(\"<a href=/no>\")</script>"
    '<body background="/back"><a href="relative">r</a><a href="/abs/">a</a><a href="http://other.example/x">o</a>'
    '<img src="/i.png" alt="/i.png"><p>ümlaut &lt;a href="/no"&gt;</p></body></html>'
)


class PodServer:
    """The server in the pod."""

    def __init__(self) -> None:
        self.port = 0
        self.go_on = asyncio.Event()
        """The second half of /slow is sent when it is set."""
        self.waiting = 0
        self.app = web.Application(client_max_size=1 << 30)
        self.app.router.add_get("/redirect", self._redirect)
        self.app.router.add_get("/page", self._page)
        self.app.router.add_get("/slow", self._slow)
        self.app.router.add_get("/never", self._never)
        self.app.router.add_get("/broken", self._broken)
        self.app.router.add_get("/socket", self._socket)
        self.app.router.add_get("/headers", self._headers)
        self.app.router.add_route("*", "/{rest:.*}", self._echo)

    async def _echo(self, request: web.Request) -> web.StreamResponse:
        digest, size = hashlib.sha256(), 0
        async for piece in request.content.iter_any():
            digest.update(piece)
            size += len(piece)
        headers = sorted([name.lower(), value] for name, value in request.headers.items())
        seen = {"method": request.method, "path": request.raw_path, "headers": headers, "size": size, "sha": digest.hexdigest()}
        return web.json_response(seen, status=int(request.query.get("status", 200)))

    async def _redirect(self, request: web.Request) -> web.StreamResponse:
        return web.Response(status=302, headers={"Location": request.query["to"]})

    async def _page(self, request: web.Request) -> web.StreamResponse:
        response = web.Response(text=PAGE, content_type="text/html")
        if encoding := request.query.get("encoding"):
            response.enable_compression(web.ContentCoding(encoding))
        return response

    async def _slow(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": request.query.get("type", "text/event-stream")})
        await response.prepare(request)
        await response.write(b"first\n")
        await self.go_on.wait()
        await response.write(b"second\n")
        return response

    async def _never(self, request: web.Request) -> web.StreamResponse:
        self.waiting += 1
        try:
            await asyncio.Event().wait()
        finally:
            self.waiting -= 1
        raise AssertionError

    async def _broken(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "100"})
        await response.prepare(request)
        await response.write(b"half")
        assert request.transport is not None
        request.transport.abort()
        return response

    async def _socket(self, request: web.Request) -> web.StreamResponse:
        if request.query.get("refuse"):
            return web.Response(status=403, text="not you", headers={"Connection": "close"})
        socket = web.WebSocketResponse(protocols=("chat",))
        await socket.prepare(request)
        await socket.send_str(json.dumps([request.raw_path, sorted(name.lower() for name in request.headers)]))
        async for message in socket:
            await socket.send_bytes(message.data)
        return socket

    async def _headers(self, request: web.Request) -> web.StreamResponse:
        response = web.Response(text="x", headers={"Access-Control-Allow-Origin": "*", "X-Kept": "1", "X-Dropped": "1"})
        response.headers.update({"Connection": "X-Dropped", "Keep-Alive": "timeout=5", "Cache-Control": "max-age=9"})
        response.headers.add("Set-Cookie", "a=1")
        response.headers.add("Set-Cookie", "b=2")
        return response


@contextlib.asynccontextmanager
async def pod_server(context: ssl.SSLContext | None = None) -> AsyncIterator[PodServer]:
    server = PodServer()
    # handler_cancellation: so that the handler notices a client that has disconnected.
    runner = web.AppRunner(server.app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    try:
        await web.TCPSite(runner, "0.0.0.0", 0, ssl_context=context).start()  # noqa: S104  a real API server connects from outside
        server.port = runner.addresses[0][1]
        yield server
    finally:
        await runner.cleanup()


def runtime(directory: pathlib.Path, *ports: int) -> ProcessRuntime:
    """A runtime whose pod listens on these ports of this machine."""
    found = ProcessRuntime(directory)
    found.add(NAMESPACE, POD, "main")
    found.ports = {(POD, port): port for port in ports}
    return found


async def create_objects(api: aiohttp.ClientSession, address: str, port: int, kubelet_port: int) -> str:
    """Node, pod, Services and Endpoints; returns the UID of the pod. The Services have no selector."""
    core = f"/api/v1/namespaces/{NAMESPACE}"
    await _send(api, "POST", "/api/v1/nodes", {"kind": "Node", "metadata": {"name": NODE}})
    kubelet = {"addresses": [{"type": "InternalIP", "address": "127.0.0.1"}]}
    endpoint = {"daemonEndpoints": {"kubeletEndpoint": {"Port": kubelet_port}}}
    await _send(api, "PATCH", f"/api/v1/nodes/{NODE}/status", {"status": kubelet | endpoint})
    container = {"name": "main", "image": "i", "ports": [{"containerPort": port}]}
    for name in (POD, "without-address"):
        spec = {"nodeName": NODE, "containers": [container], "automountServiceAccountToken": False}
        await _send(api, "POST", f"{core}/pods", {"kind": "Pod", "metadata": {"name": name}, "spec": spec})
    status = {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}]}
    uid: str = (await _send(api, "PATCH", f"{core}/pods/{POD}/status", {"status": status}))["metadata"]["uid"]
    ready = {"ip": address, "targetRef": {"kind": "Pod", "namespace": NAMESPACE, "name": POD}}
    await _service(api, SERVICE, {"addresses": [ready], "ports": [{"name": "http", "port": port}]})
    await _service(api, "empty", None)
    await _service(api, "not-ready", {"notReadyAddresses": [ready], "ports": [{"name": "http", "port": port}]})
    await _service(api, "elsewhere", {"addresses": [{"ip": address}], "ports": [{"name": "http", "port": port}]})
    await _service(api, "wrong-ip", {"addresses": [ready | {"ip": "10.99.99.99"}], "ports": [{"name": "http", "port": port}]})
    return uid


async def _service(api: aiohttp.ClientSession, name: str, subset: dict[str, Any] | None) -> None:
    core = f"/api/v1/namespaces/{NAMESPACE}"
    spec = {"clusterIP": "None", "ports": [{"name": "http", "port": 80}]}
    await _send(api, "POST", f"{core}/services", {"kind": "Service", "metadata": {"name": name}, "spec": spec})
    subsets = {"subsets": [subset]} if subset else {}
    await _send(api, "POST", f"{core}/endpoints", {"kind": "Endpoints", "metadata": {"name": name}, **subsets})


async def _send(api: aiohttp.ClientSession, method: str, path: str, body: dict[str, Any]) -> Any:
    kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
    data = json.dumps({"apiVersion": "v1", **body} if method == "POST" else body)
    async with api.request(method, path, data=data, headers={"Content-Type": kind}) as response:
        assert response.status < 300, await response.text()
        return await response.json()
