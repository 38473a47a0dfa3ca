"""A terminal in a replica: a command in its container, with the rights of the user, over a WebSocket of its own."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses

import msgspec
from aiohttp import WSMsgType, web

from traincrew import errors
from traincrew.client import exec_websocket, pod_logs
from traincrew.client.remote import RemoteClient
from traincrew.console import job_reader
from traincrew.console.contract import terminal
from traincrew.console.job_reader import JobAddress
from traincrew.console.view import job_filters, problems
from traincrew.model import objects

PROTOCOL = "traincrew.terminal.v1"
MAX_INPUT = 1 << 20
MAX_SIZE = 10_000
"""Columns or rows."""
SHELL = ("sh", "-c", "export TERM=xterm-256color; if command -v bash > /dev/null 2>&1; then exec bash; else exec sh; fi")
SEND_SECONDS = 60.0

_decoder: msgspec.json.Decoder[terminal.TerminalInput] = msgspec.json.Decoder(terminal.TerminalInput)


@dataclasses.dataclass(frozen=True)
class TerminalRequest:
    replica: str
    container: str = ""
    command: tuple[str, ...] = SHELL
    tty: bool = True
    columns: int = 80
    rows: int = 24


def parse(request: web.Request) -> TerminalRequest:
    """Raise SettingsError for values that are not valid."""
    query = request.query
    columns, rows = (_size(name, query.get(name) or default) for name, default in (("columns", "80"), ("rows", "24")))
    command = tuple(query.getall("command", ()))
    return TerminalRequest(
        request.match_info["replica"], query.get("container", ""), command or SHELL, query.get("tty") != "0", columns, rows
    )


def _size(name: str, text: str) -> int:
    number = job_filters.whole_number(name, text)
    if not 0 < number < MAX_SIZE:
        raise errors.SettingsError(f"{name}: {number} is not between 1 and {MAX_SIZE - 1}")
    return number


async def run(client: RemoteClient, job: JobAddress, wanted: TerminalRequest, socket: web.WebSocketResponse) -> None:
    """Until the command ends or the page disconnects."""
    tried = f"open a terminal in {wanted.replica} of {job.reference} in namespace {job.namespace}"
    try:
        position = await _position(client, job, wanted)
        async with exec_websocket.opened(client, position, _command(wanted)) as session:
            message: terminal.TerminalOutput = terminal.Exited(code=await _converse(session, wanted, socket))
    except _Left:
        return
    except errors.TraincrewError as error:
        message = terminal.TerminalError(error=problems.of(error, tried))
    with contextlib.suppress(ConnectionError):
        await socket.send_str(msgspec.json.encode(message).decode())


class _Left(Exception):
    """The page has disconnected."""


def _command(wanted: TerminalRequest) -> exec_websocket.Command:
    return exec_websocket.Command(wanted.command, stdin=True, tty=wanted.tty)


async def _position(client: RemoteClient, job: JobAddress, wanted: TerminalRequest) -> pod_logs.ContainerReference:
    observed = (await job_reader.read(client, job)).observed
    pod = next((each for each in observed.pods if observed.replica(each) == wanted.replica and not each.finished), None)
    if pod is None:
        raise errors.NoJob(f"{job.reference} has no running replica {wanted.replica!r}")
    container = wanted.container or observed.training_container(pod)
    _require_running(pod, container)
    return pod_logs.ContainerReference(job.namespace, pod.name, container)


def _require_running(pod: objects.Pod, container: str) -> None:
    status = next((each for each in pod.status.container_statuses if each.name == container), None)
    if status is None or status.state.running is None:
        raise problems.problem(
            "NotPossible", 409, f"open a terminal in pod {pod.name}", f"container {container!r} of pod {pod.name} does not run"
        )


async def _converse(session: exec_websocket.ExecWebSocket, wanted: TerminalRequest, socket: web.WebSocketResponse) -> int:
    """The exit code. Raise _Left if the page disconnects."""

    async def output(channel: int, data: bytes) -> None:
        async with asyncio.timeout(SEND_SECONDS):
            await socket.send_bytes(data)

    if wanted.tty:
        await session.resize(wanted.columns, wanted.rows)
    running, reading = asyncio.create_task(session.run(output)), asyncio.create_task(_send_input(session, socket))
    try:
        await asyncio.wait({running, reading}, return_when=asyncio.FIRST_COMPLETED)
        if not running.done():
            raise _Left
        return await running
    except (ConnectionError, TimeoutError):
        raise _Left from None
    finally:
        for task in (running, reading):
            task.cancel()
        await asyncio.gather(running, reading, return_exceptions=True)


async def _send_input(session: exec_websocket.ExecWebSocket, socket: web.WebSocketResponse) -> None:
    """Until the page disconnects."""
    async for message in socket:
        if message.type == WSMsgType.BINARY:
            await session.write(message.data)
        elif message.type == WSMsgType.TEXT:
            with contextlib.suppress(msgspec.DecodeError):  # an unknown message of another version of the page
                await _control(session, _decoder.decode(message.data))


async def _control(session: exec_websocket.ExecWebSocket, message: terminal.TerminalInput) -> None:
    if isinstance(message, terminal.EndOfInput):
        await session.end_input()
    elif 0 < message.columns < MAX_SIZE and 0 < message.rows < MAX_SIZE:
        await session.resize(message.columns, message.rows)
