"""Runs a command in a container and connects it to this terminal, which is set to raw mode and restored."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import os
import re
import signal
import sys
import termios
import tty
from collections.abc import AsyncIterator, Iterator

from traincrew import errors
from traincrew.cli import cluster_target
from traincrew.cli.jobs import query, replica_selection, stdin
from traincrew.cli.render.terminal import echo
from traincrew.client import exec_websocket

NOT_EXECUTABLE, NOT_FOUND = 126, 127


@dataclasses.dataclass(frozen=True)
class ExecRequest:
    replica: str = ""
    container: str = ""
    stdin: bool = False
    no_tty: bool = False


async def exec_command(
    name: str, command: tuple[str, ...], target_options: cluster_target.TargetOptions, request: ExecRequest
) -> int:
    terminal = sys.stdin.isatty() and sys.stdout.isatty() and not request.no_tty
    async with query.connected(target_options) as (client, target):
        job, _ = await query.get_job(client, target.namespace, name)
        pod = replica_selection.running_pods(job, request.replica)[0]
        position = replica_selection.container(job, pod, request.container)
        wanted = exec_websocket.Command(command, stdin=terminal or request.stdin, tty=terminal)
        try:
            async with exec_websocket.opened(client, position, wanted) as session:
                return await _run_session(session, wanted)
        except errors.ServerError as error:
            if (code := start_failure(error.message)) is None:
                raise
            reason = "not found" if code == NOT_FOUND else "permission denied"
            echo(f"error: {command[0]}: {reason} in container {position.container} of pod {position.pod}", err=True)
            return code


def start_failure(message: str) -> int | None:
    """The exit code of a shell for a command that could not be started. None: the error is another one."""
    if re.search(r'exec: "[^"]*": (executable file not found|stat .*no such file or directory)', message):
        return NOT_FOUND
    return NOT_EXECUTABLE if re.search(r'exec: "[^"]*": permission denied', message) else None


async def _run_session(session: exec_websocket.ExecWebSocket, wanted: exec_websocket.Command) -> int:
    with _raw_terminal() if wanted.tty else contextlib.nullcontext():
        async with _terminal_size_sent(session) if wanted.tty else contextlib.nullcontext():
            forwarding = asyncio.create_task(_forward_stdin(session)) if wanted.stdin else None
            try:
                return await session.run(_write_output)
            finally:
                if forwarding is not None:
                    forwarding.cancel()
                    with contextlib.suppress(asyncio.CancelledError):
                        await forwarding


async def _write_output(channel: int, data: bytes) -> None:
    # os.write instead of sys.stdout: output must reach the terminal before the next key press.
    descriptor = 1 if channel == exec_websocket.STDOUT else 2
    remaining = memoryview(data)
    while remaining:
        try:
            remaining = remaining[os.write(descriptor, remaining) :]
        except BlockingIOError:
            await asyncio.sleep(0.01)


async def _forward_stdin(session: exec_websocket.ExecWebSocket) -> None:
    with contextlib.suppress(OSError):  # the terminal was closed
        while data := await stdin.read():
            await session.write(data)
    await session.end_input()


@contextlib.contextmanager
def _raw_terminal() -> Iterator[None]:
    saved = termios.tcgetattr(0)
    try:
        tty.setraw(0, termios.TCSADRAIN)  # keeps input that is already typed
        yield
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, saved)


@contextlib.asynccontextmanager
async def _terminal_size_sent(session: exec_websocket.ExecWebSocket) -> AsyncIterator[None]:
    """Send the size of the terminal now and on every change."""
    loop, tasks = asyncio.get_running_loop(), set[asyncio.Task[None]]()

    def send_size() -> None:
        size = os.get_terminal_size(1)
        task = loop.create_task(session.resize(size.columns, size.lines))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    loop.add_signal_handler(signal.SIGWINCH, send_size)
    send_size()
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGWINCH)
