"""A proxy between real clients and the real API server that records every request.

    python -m tests.differential.record [SESSION ...]

writes recordings/SESSION.jsonl for the sessions of sessions.py: kubectl, the SDK, the official client, the operator.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import functools
import json
import pathlib
import ssl
import sys
import tempfile
import threading
from collections.abc import Coroutine, Iterator, Mapping
from typing import Any, TypeVar

import aiohttp
import yarl
from aiohttp import web
from tests.differential import client_sessions, python_client_sessions, recording, servers
from tests.differential.recording import RecordedEntry
from tests.differential.target import Target
from tools.kube import certificates

T = TypeVar("T")
SESSIONS: dict[str, client_sessions.Session] = {
    "kubectl": client_sessions.kubectl,
    "kubectl-1.28": functools.partial(client_sessions.kubectl, version="1.28"),
    "operator": client_sessions.operator,
    "sdk": python_client_sessions.sdk,
    "official": python_client_sessions.official,
}
HOP_BY_HOP = (
    "connection",
    "keep-alive",
    "transfer-encoding",
    "content-length",
    "host",
    "authorization",
    "accept-encoding",
    "content-encoding",
)


class ScenarioRecorder:
    """Runs in a separate thread. Every client is authenticated as the administrator."""

    def __init__(self, target: Target, directory: pathlib.Path) -> None:
        self.entries: list[RecordedEntry] = []
        self._target = target
        authority = certificates.Authority(directory)
        self._tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._tls.load_cert_chain(*authority.server("recorder"))
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="recorder", daemon=True).start()
        self._runner, self._session = self._run(self._start())
        self.kubeconfig = directory / "recorder.kubeconfig"
        port = self._runner.addresses[0][1]
        self.kubeconfig.write_text(json.dumps(_kubeconfig(f"https://127.0.0.1:{port}", authority.path.read_text())))

    def close(self) -> None:
        self._run(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)

    async def _start(self) -> tuple[web.AppRunner, aiohttp.ClientSession]:
        app = web.Application(client_max_size=64 << 20)
        app.router.add_route("*", "/{path:.*}", self._handle)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=self._tls).start()
        connector = aiohttp.TCPConnector(limit=0, ssl=self._target.context)
        return runner, aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=None))

    async def _stop(self) -> None:
        await self._runner.cleanup()
        await self._session.close()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        url = yarl.URL(f"https://{self._target.host}:{self._target.port}{request.raw_path}", encoded=True)
        async with self._session.request(request.method, url, data=body or None, headers=_passed(request.headers)) as response:
            if "watch=" in request.query_string and response.status == 200:
                return await self._watched(request, response)
            content = await response.read()
            self.entries.append(_entry(request, body, response.status, content))
            return web.Response(status=response.status, body=content, headers=_passed(response.headers))

    async def _watched(self, request: web.Request, answer: aiohttp.ClientResponse) -> web.StreamResponse:
        response = web.StreamResponse(status=answer.status, headers=_passed(answer.headers))
        position = len(self.entries)
        self.entries.append(_entry(request, b"", answer.status, b"", 0))
        count = 0
        try:
            await response.prepare(request)
            while line := await answer.content.readuntil(b"\n"):
                count += b'"type":"BOOKMARK"' not in line
                await response.write(line)
        finally:
            self.entries[position] = _entry(request, b"", answer.status, b"", count, len(self.entries))
        return response


def _entry(request: web.Request, body: bytes, status: int, response: bytes, events: int = -1, until: int = 0) -> RecordedEntry:
    headers = {name: value for name, value in request.headers.items() if name.lower() in recording.HEADERS}
    decoded: Any = None
    with contextlib.suppress(ValueError):
        decoded = json.loads(response)
    found_identifiers = {} if "/openapi/" in request.path else recording.identifiers(decoded)
    return RecordedEntry(
        request.method, request.raw_path, recording.encode_body(body), headers, status, found_identifiers, events, until
    )


def _passed(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name.lower() not in HOP_BY_HOP}


def _kubeconfig(server: str, authority: str) -> dict[str, Any]:
    cluster = {"server": server, "certificate-authority-data": base64.b64encode(authority.encode()).decode()}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "recorder",
        "contexts": [{"name": "recorder", "context": {"cluster": "recorder", "user": "anybody"}}],
        "clusters": [{"name": "recorder", "cluster": cluster}],
        # The proxy ignores the token, but kubectl without one would prompt for a user name.
        "users": [{"name": "anybody", "user": {"token": "anybody"}}],
    }


@contextlib.contextmanager
def recording_of(target: Target) -> Iterator[ScenarioRecorder]:
    with tempfile.TemporaryDirectory(prefix="traincrew-recorder-") as directory:
        recorder = ScenarioRecorder(target, pathlib.Path(directory))
        try:
            yield recorder
        finally:
            recorder.close()


def main() -> None:
    for name in sys.argv[1:] or SESSIONS:
        # Each session has its own API server and sees only its own objects.
        with servers.real_kubeconfig() as kubeconfig:
            target = Target.from_kubeconfig("real", kubeconfig)
            with recording_of(target) as recorder:
                SESSIONS[name](recorder.kubeconfig, kubeconfig)
            recording.write(recording.RECORDINGS / f"{name}.jsonl", recorder.entries)
        print(f"{name}: {len(recorder.entries)} requests")


if __name__ == "__main__":
    main()
