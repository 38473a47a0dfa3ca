"""A proxy between operators and the API server that counts requests and injects network faults.

    with proxy.running(kube.kubeconfig) as served, served.proxy_port() as proxy_port:
        operators.running(served.kubeconfig(proxy_port), ...)
        proxy_port.fault_for = lambda call: proxy.InjectedResponse(500) if call.verb == "create" else None

The operator connects by plain HTTP; the proxy connects to the API server by TLS, as the administrator.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import dataclasses
import json
import logging
import os
import pathlib
import ssl
import tempfile
import threading
import uuid
from collections.abc import Callable, Coroutine, Iterator, Mapping
from typing import Any, TypeVar

import aiohttp
import yaml
import yarl
from aiohttp import web

T = TypeVar("T")

HOP_BY_HOP = ("connection", "keep-alive", "transfer-encoding", "content-length", "content-encoding", "host")
VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


@dataclasses.dataclass(frozen=True)
class ProxiedCall:
    number: int
    """Counted from 1."""
    verb: str
    resource: str
    """With the subresource, such as pytorchjobs/status."""
    name: str
    query: str

    def __str__(self) -> str:
        return f"{self.verb} {self.resource} {self.name}".strip()


@dataclasses.dataclass(frozen=True)
class InjectedResponse:
    """Respond without a request to the API server."""

    code: int
    reason: str = "Induced"
    headers: tuple[tuple[str, str], ...] = ()


@dataclasses.dataclass(frozen=True)
class DelayedResponse:
    """Forward the request, but delay the response; watches are not delayed."""

    seconds: float


@dataclasses.dataclass(frozen=True)
class DroppedConnection:
    """Close the connection before the request is forwarded, or after the API server has processed it. Then call `then`."""

    after: bool
    then: Callable[[], None] = lambda: None


Fault = InjectedResponse | DelayedResponse | DroppedConnection | None


class ProxyPort:
    """A port of the proxy for one operator."""

    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy
        self.tag = uuid.uuid4().hex[:12]
        """Part of the User-Agent, which identifies the requests of this operator in the audit log."""
        self.calls: list[ProxiedCall] = []
        self.fault_for: Callable[[ProxiedCall], Fault] = lambda call: None
        self.expired = 0
        """Watches that the API server ended with 410."""
        self._closed = False
        self._watches: list[web.Request] = []
        self.port = 0

    def close(self) -> None:
        """Reject all further requests."""
        self._closed = True
        self.cut_watches()

    def open(self) -> None:
        self._closed = False

    def cut_watches(self) -> None:
        def cut() -> None:
            for request in list(self._watches):
                _abort(request)

        self._proxy.loop.call_soon_threadsafe(cut)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        if self._closed:
            return _abort(request)
        call = _call(len(self.calls) + 1, request)
        self.calls.append(call)
        fault = self.fault_for(call)
        match fault:
            case InjectedResponse():
                return _status(fault)
            case DroppedConnection(after=False):
                fault.then()
                return _abort(request)
        try:
            if call.verb == "watch":
                return await self._watch(request, fault)
            # A request that was sent is processed even if the operator dies meanwhile.
            return await asyncio.shield(asyncio.ensure_future(self._ask(request, body, fault)))
        except (aiohttp.ClientError, OSError):
            return _abort(request)

    async def _ask(self, request: web.Request, body: bytes, fault: Fault) -> web.StreamResponse:
        async with self._forwarded(request, body) as answer:
            whole = await answer.read()
        if isinstance(fault, DelayedResponse):
            await asyncio.sleep(fault.seconds)
        if isinstance(fault, DroppedConnection):
            fault.then()
            return _abort(request)
        return web.Response(status=answer.status, body=whole, headers=_kept(answer.headers))

    async def _watch(self, request: web.Request, fault: Fault) -> web.StreamResponse:
        async with self._forwarded(request, b"") as answer:
            if isinstance(fault, DroppedConnection):
                fault.then()
                return _abort(request)
            response = web.StreamResponse(status=answer.status, headers=_kept(answer.headers))
            self._watches.append(request)
            try:
                await response.prepare(request)
                async for chunk in answer.content.iter_any():
                    self.expired += b'"type":"ERROR"' in chunk and b'"code":410' in chunk
                    await response.write(chunk)
            finally:
                self._watches.remove(request)
        return response

    def _forwarded(self, request: web.Request, body: bytes) -> Any:
        headers = _kept(request.headers)
        headers["User-Agent"] = f"{headers.get('User-Agent', '')} {self.tag}"
        if self._proxy.token:
            headers["Authorization"] = f"Bearer {self._proxy.token}"
        url = yarl.URL(self._proxy.server + request.raw_path, encoded=True)
        return self._proxy.session.request(request.method, url, data=body or None, headers=headers)


class Proxy:
    """Runs in a thread of its own, for any number of ports."""

    def __init__(self, kubeconfig: str | os.PathLike[str]) -> None:
        config = yaml.safe_load(pathlib.Path(kubeconfig).read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self.server: str = cluster["server"]
        self._tls = _context(cluster, user)
        self.token = str(user.get("token", ""))
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name="proxy", daemon=True)
        self._thread.start()
        self._directory = tempfile.TemporaryDirectory(prefix="traincrew-proxy-")
        self.session: aiohttp.ClientSession = self.run(self._open())

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(60)

    @contextlib.contextmanager
    def proxy_port(self) -> Iterator[ProxyPort]:
        proxy_port = ProxyPort(self)
        runner = self.run(self._listen(proxy_port))
        try:
            yield proxy_port
        finally:
            self.run(runner.cleanup())

    def kubeconfig(self, proxy_port: ProxyPort) -> pathlib.Path:
        path = pathlib.Path(self._directory.name, f"{proxy_port.tag}.kubeconfig")
        server = {"name": "proxy", "cluster": {"server": f"http://127.0.0.1:{proxy_port.port}"}}
        context = {"name": "proxy", "context": {"cluster": "proxy", "user": "nobody"}}
        users = [{"name": "nobody", "user": {}}]
        config = {"apiVersion": "v1", "kind": "Config", "current-context": "proxy"}
        path.write_text(json.dumps({**config, "clusters": [server], "contexts": [context], "users": users}))
        return path

    def close(self) -> None:
        self.run(self.session.close())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(10)
        self.loop.close()
        self._directory.cleanup()

    async def _open(self) -> aiohttp.ClientSession:
        logging.getLogger("aiohttp.server").setLevel(logging.ERROR)  # it logs the connections that are closed on purpose
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=self._tls),
            timeout=aiohttp.ClientTimeout(total=None),
            auto_decompress=False,
        )

    async def _listen(self, proxy_port: ProxyPort) -> web.AppRunner:
        app = web.Application(client_max_size=64 << 20)
        app.router.add_route("*", "/{path:.*}", proxy_port.handle)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        proxy_port.port = runner.addresses[0][1]
        return runner


@contextlib.contextmanager
def running(kubeconfig: str | os.PathLike[str]) -> Iterator[Proxy]:
    proxy = Proxy(kubeconfig)
    try:
        yield proxy
    finally:
        proxy.close()


def _call(number: int, request: web.Request) -> ProxiedCall:
    """The request, with verb and resource as in an audit log."""
    parts = request.path.strip("/").split("/")
    parts = parts[2:] if parts[0] == "api" else parts[3:]
    if parts[:1] == ["namespaces"] and len(parts) > 2:
        parts = parts[2:]
    plural, name, sub = (*parts, "", "", "")[:3]
    verb = VERBS.get(request.method) or ("watch" if "watch=" in request.query_string else "get" if name else "list")
    return ProxiedCall(number, verb, f"{plural}/{sub}" if sub else plural, name, request.query_string)


def _kept(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name.lower() not in HOP_BY_HOP}


def _status(fault: InjectedResponse) -> web.Response:
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": fault.reason, "code": fault.code}
    return web.json_response({**body, "message": f"{fault.reason} on purpose"}, status=fault.code, headers=dict(fault.headers))


def _abort(request: web.Request) -> web.Response:
    if isinstance(request.transport, asyncio.Transport):
        request.transport.abort()
    return web.Response(status=500)


def _context(cluster: dict[str, Any], user: dict[str, Any]) -> ssl.SSLContext:
    authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
    context = ssl.create_default_context(cadata=authority)
    if "client-certificate-data" not in user:
        return context
    with tempfile.TemporaryDirectory(prefix="traincrew-proxy-") as directory:
        for part in ("client-certificate", "client-key"):
            pathlib.Path(directory, part).write_bytes(base64.b64decode(user[f"{part}-data"]))
        context.load_cert_chain(pathlib.Path(directory, "client-certificate"), pathlib.Path(directory, "client-key"))
    return context
