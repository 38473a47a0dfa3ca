"""A console of a cluster on this machine, and a browser's part of the conversation with it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import pathlib
import signal
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import aiohttp
from tests.cli.cluster_fixture import COMMAND

from traincrew.client import kubeconfig
from traincrew.client.remote import RemoteClient
from traincrew.console import links, page_files, run
from traincrew.console.settings import ConsoleTarget, LocalMachine
from traincrew.history.database_thread import DatabaseThread
from traincrew.model.resources import Resource

SECONDS = 60
INDEX = '<!doctype html><style nonce="__CSP_NONCE__"></style><script type="module" src="/assets/main-abcdefgh.js"></script>'


class Machine:
    """`traincrew up` with its kubelet."""

    def __init__(self, data: pathlib.Path) -> None:
        self.data = data

    @property
    def kubeconfig(self) -> pathlib.Path:
        return self.data / "kubeconfig"

    def traincrew(self, *arguments: str) -> str:
        command = [*COMMAND, *arguments, "--data", os.fspath(self.data)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def up(self) -> None:
        self.traincrew("up", "--detach")

    def down(self) -> None:
        self.traincrew("down")

    async def delete(self, resource: Resource, *names: str) -> None:
        """Objects that belong to no namespace, as an administrator."""
        async with RemoteClient(kubeconfig.load(os.fspath(self.kubeconfig)), component="test") as client:
            for name in names:
                await client.delete(resource, None, name)

    def kill(self) -> None:
        os.kill(json.loads((self.data / "running.json").read_text())["pid"], signal.SIGKILL)


@contextlib.contextmanager
def running_machine(data: pathlib.Path) -> Iterator[Machine]:
    machine = Machine(data)
    machine.up()
    try:
        yield machine
    finally:
        machine.down()


def job(name: str, script: str, workers: int = 1, **more: Any) -> dict[str, Any]:
    """A JAXJob whose replicas run a shell script."""
    container = {"name": "jax", "image": "any", "command": ["sh", "-c", script]}
    worker = {"replicas": workers, "restartPolicy": "Never", "template": {"spec": {"containers": [container]}}}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "JAXJob",
        "metadata": {"name": name, **more},
        "spec": {"jaxReplicaSpecs": {"Worker": worker}},
    }


class Stream:
    """A WebSocket of the page."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket

    async def subscribe(self, topic: str, **more: Any) -> None:
        await self.socket.send_json({"type": "subscribe", "topic": topic, **more})

    async def next(self, *types: str) -> dict[str, Any]:
        """The next message of one of these types."""
        async with asyncio.timeout(SECONDS):
            while True:
                message: dict[str, Any] = await self.socket.receive_json()
                if message["type"] in types:
                    return message

    async def until(self, claim: Callable[[dict[str, Any]], Any], *types: str) -> dict[str, Any]:
        while True:
            message = await self.next(*types)
            if claim(message):
                return message


class Browser:
    def __init__(self, http: aiohttp.ClientSession, link: str) -> None:
        self.http = http
        self.origin, _, self.token = link.partition("/#token=")
        self.csrf = ""

    async def sign_in(self) -> None:
        async with self.http.post(f"{self.origin}/api/v1/session", json={"token": self.token}) as response:
            assert response.status == 200, await response.text()
            self.csrf = (await response.json())["csrfToken"]

    async def call(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        data = json.dumps(body) if isinstance(body, dict) else body
        sent = {"X-CSRF-Token": self.csrf, **{name.replace("_", "-"): value for name, value in headers.items()}}
        async with self.http.request(method, f"{self.origin}/api/v1/{path}", data=data, headers=sent) as response:
            text = await response.text()
            return response.status, json.loads(text) if response.content_type == "application/json" else text

    async def get(self, path: str) -> Any:
        status, found = await self.call("GET", path)
        assert status == 200, found
        return found

    async def create(self, *documents: dict[str, Any]) -> None:
        status, found = await self.call("POST", "jobs", "\n---\n".join(json.dumps(each) for each in documents))
        assert status == 200, found

    async def until(self, path: str, claim: Callable[[Any], Any]) -> Any:
        """Read until the claim holds."""
        async with asyncio.timeout(SECONDS):
            while True:
                found = await self.get(path)
                if claim(found):
                    return found
                await asyncio.sleep(0.1)

    @contextlib.asynccontextmanager
    async def stream(self) -> AsyncIterator[Stream]:
        protocols = ("traincrew.v1", f"csrf.{self.csrf}")
        async with self.http.ws_connect(f"{self.origin}/api/v1/stream", protocols=protocols, max_msg_size=0) as socket:
            yield Stream(socket)


def page(directory: pathlib.Path) -> page_files.PageFiles:
    """A page as the build leaves it."""
    (directory / "assets").mkdir(parents=True)
    (directory / "index.html").write_text(INDEX)
    (directory / "assets" / "main-abcdefgh.js").write_text("export {}")
    (directory / "assets" / "main-abcdefgh.js.gz").write_bytes(b"compressed")
    (directory / "icon.svg").write_text("<svg/>")
    return page_files.PageFiles(directory)


@contextlib.asynccontextmanager
async def console(
    config: pathlib.Path,
    directory: pathlib.Path,
    data: pathlib.Path | None = None,
    machine: LocalMachine | None = None,
    prometheus: str = "",
    history: pathlib.Path | None = None,
) -> AsyncIterator[Browser]:
    """A browser before the sign-in. data: the data directory of the machine, if the console may read its logs and its history.
    machine: if it is this one. prometheus: its address. history: one of a recorder elsewhere."""
    recorded = history or (data / "history.db" if data is not None else None)
    cluster = kubeconfig.load(os.fspath(config))
    target = ConsoleTarget(
        server=cluster.server,
        namespace=cluster.namespace,
        embedded=True,
        log_root=os.fspath(data / "logs") if data is not None else "",
        history=DatabaseThread(os.fspath(recorded), writable=False) if recorded is not None else None,
        machine=machine,
        prometheus=prometheus,
    )
    jar = aiohttp.CookieJar(unsafe=True)  # accepts cookies of 127.0.0.1, as browsers do
    known, listening = links.Links("secret"), run.Listen().socket()
    link = f"http://127.0.0.1:{listening.getsockname()[1]}/#token={known.new_token()}"
    async with run.running(cluster, target, listening, page(directory), known), aiohttp.ClientSession(cookie_jar=jar) as http:
        yield Browser(http, link)
