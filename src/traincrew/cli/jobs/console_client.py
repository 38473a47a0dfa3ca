"""Reads from the REST API of a console, with the credentials of the user."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import TypeVar

import aiohttp
import msgspec

from traincrew import errors
from traincrew.cli import cluster_target
from traincrew.cli.jobs import console_addresses
from traincrew.cli.jobs.console_addresses import ConsoleAddress
from traincrew.client import pod_logs
from traincrew.console.contract.cluster import SessionInfo
from traincrew.console.contract.problems import ApiError
from traincrew.history.records import PodRecord

T = TypeVar("T", bound=msgspec.Struct)
TIMEOUT = aiohttp.ClientTimeout(total=None, connect=10.0, sock_read=60.0)


class ConsoleClient:
    def __init__(self, http: aiohttp.ClientSession, address: str, csrf_token: str) -> None:
        self._http, self._address = http, address
        self._headers = {"X-CSRF-Token": csrf_token}

    async def get(self, path: str, parameters: Mapping[str, str], kind: type[T]) -> T:
        async with self._http.get(f"{self._address}/api/v1/{path}", params=parameters, headers=self._headers) as response:
            await _check(response)
            return msgspec.json.decode(await response.read(), type=kind)

    async def download(self, path: str) -> AsyncIterator[bytes]:
        async with self._http.get(f"{self._address}/api/v1/{path}", headers=self._headers) as response:
            await _check(response)
            async for chunk in response.content.iter_any():
                yield chunk

    async def lines(self, path: str, parameters: Mapping[str, str]) -> AsyncIterator[list[pod_logs.PodLogLine]]:
        splitter = pod_logs.LineSplitter()
        async with self._http.get(f"{self._address}/api/v1/{path}", params=parameters, headers=self._headers) as response:
            await _check(response)
            async for chunk in response.content.iter_any():
                yield [pod_logs.parse(raw) for raw in splitter.feed(chunk)]
        if splitter.partial:
            yield [pod_logs.parse(bytes(splitter.partial))._replace(whole=False)]


class ConsoleLogs:
    """The logs of a recorded job."""

    def __init__(self, client: ConsoleClient, job: str) -> None:
        self._client, self._path = client, f"history/recordings/{job}/log"

    def lines(self, pod: PodRecord, container: str, wanted: pod_logs.PodLogOptions) -> AsyncIterator[list[pod_logs.PodLogLine]]:
        return self._client.lines(self._path, {**wanted.query(container), "pod": pod.uid})


async def _check(response: aiohttp.ClientResponse) -> None:
    """Raise the error of the console."""
    if response.status < 400:
        return
    try:
        found = msgspec.json.decode(await response.read(), type=ApiError)
    except msgspec.DecodeError:
        raise errors.ServerError(f"the console responds with status {response.status}", code=response.status) from None
    if found.reason == "Forbidden":
        raise errors.Forbidden(found.message, code=403, reason="Forbidden")
    if found.reason == "NotFound":
        raise errors.NoJob(found.message)
    raise errors.SettingsError(" ".join(filter(None, (f"{found.message.rstrip('.')}.", found.next_step))))


@contextlib.asynccontextmanager
async def connected(
    target_options: cluster_target.HistoryTargetOptions, target: cluster_target.ClusterTarget
) -> AsyncIterator[ConsoleClient]:
    """Signed in to the console that has the history. Raise NoConsole."""
    async with console_addresses.found(target_options, target) as console:
        # Through the API server, the pod is known without its certificate.
        connector = aiohttp.TCPConnector(ssl=not console.forwarded)
        jar = aiohttp.CookieJar(unsafe=True)  # accepts cookies of 127.0.0.1
        async with aiohttp.ClientSession(connector=connector, cookie_jar=jar, timeout=TIMEOUT) as http:
            try:
                async with _signed_in(http, console) as client:
                    yield client
            except (aiohttp.ClientError, TimeoutError) as error:
                raise _unreachable(console, error) from None


@contextlib.asynccontextmanager
async def _signed_in(http: aiohttp.ClientSession, console: ConsoleAddress) -> AsyncIterator[ConsoleClient]:
    path = f"{console.address}/api/v1/session"
    async with http.post(path, json=console.sign_in, allow_redirects=False) as response:
        await _check(response)
        session = msgspec.json.decode(await response.read(), type=SessionInfo)
    try:
        yield ConsoleClient(http, console.address, session.csrf_token)
    finally:
        async with http.delete(path, headers={"X-CSRF-Token": session.csrf_token}):
            pass


def _unreachable(console: ConsoleAddress, error: BaseException) -> errors.TraincrewError:
    if console.problems:
        return console_addresses.NoConsole(
            f"{console_addresses.THROUGH}: {console.problems[0]}. Ask for this right, or {console_addresses.NAME_ONE}."
        )
    return errors.Unreachable(f"the console at {console.address} does not respond: {error or 'timeout'}")
