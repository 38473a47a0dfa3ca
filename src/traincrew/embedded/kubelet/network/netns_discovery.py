"""Finding the holder, or starting one. Whoever comes second finds the first one's."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import pathlib
import subprocess
import sys
from typing import Any

import traincrew
from traincrew.embedded.kubelet.network import netns_state
from traincrew.embedded.kubelet.network.netns_connection import NetnsConnection, NetnsDaemonGone

_PATIENCE = 15.0
_PAUSE = 0.02
_SOURCE = pathlib.Path(traincrew.__file__).parent.parent
_START = "import sys; sys.path.insert(0, sys.argv.pop(1)); from traincrew.embedded.kubelet.network.netns_launcher import {}; {}()"


async def find_or_start(
    directory: pathlib.Path, isolation: str, subnet: str, space: int
) -> tuple[NetnsConnection, dict[str, Any]]:
    """space: a descriptor of the user namespace that a new one is to join, or -1. Raises OSError with the reason."""
    os.makedirs(directory, 0o700, exist_ok=True)
    failure: Exception = NetnsDaemonGone("the holder of the network does not answer")
    try:
        async with asyncio.timeout(_PATIENCE):
            while True:
                try:
                    return await _greeted(directory)
                except NetnsDaemonGone as error:
                    failure = error
                outcome = await _run("main", directory, isolation, subnet, str(space))
                if "failed" in outcome:
                    raise OSError(f"the cluster's network cannot be had: {outcome['failed']}")
                if "busy" in outcome:
                    # Another daemon is at it, or one is about to end.
                    await asyncio.sleep(_PAUSE)
    except TimeoutError:
        raise failure from None


async def _greeted(directory: pathlib.Path) -> tuple[NetnsConnection, dict[str, Any]]:
    connection = await NetnsConnection.open(directory)
    try:
        known, _ = await connection.ask("hello")
        if known.get("protocol") != netns_state.PROTOCOL:
            spoken = known.get("protocol")
            raise OSError(
                f"the holder of the network speaks protocol {spoken}, this version {netns_state.PROTOCOL}: stop it first"
            )
    except BaseException:
        connection.close()
        raise
    return connection, known


async def stop(directory: pathlib.Path) -> None:
    with contextlib.suppress(NetnsDaemonGone):
        connection, known = await _greeted(directory)
        ended = _end_of(int(known["pid"]))
        with contextlib.suppress(NetnsDaemonGone):
            await connection.ask("stop")
        connection.close()
        await ended
        return
    if _leavings(directory):
        await _run("clear", directory)


def _leavings(directory: pathlib.Path) -> bool:
    return any((directory / name).exists() for name in (netns_state.RECORD, netns_state.LOCK))


def _end_of(pid: int) -> asyncio.Future[None]:
    """Done when that process has ended: then its namespaces are no one's any more."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        ended.set_result(None)
        return ended

    def seen() -> None:
        loop.remove_reader(process)
        os.close(process)
        if not ended.done():
            ended.set_result(None)

    loop.add_reader(process, seen)
    return ended


async def _run(function: str, directory: pathlib.Path, *arguments: str) -> dict[str, Any]:
    """Without site-packages and the caller's environment: nothing of it should stay in the holder's memory."""
    environment = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    command = [sys.executable, "-I", "-S", "-c", _START.format(function, function), str(_SOURCE), str(directory), *arguments]
    passed = [int(each) for each in arguments[2:] if int(each) >= 0]
    log = os.open(directory / netns_state.LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        # Not by the loop: uvloop's way leaves the holder with a copy of the pipe, whose end then never comes.
        done = await asyncio.to_thread(
            subprocess.run, command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, start_new_session=True,
            env=environment, cwd="/", check=False, pass_fds=passed,
        )  # fmt: skip
    finally:
        os.close(log)
    try:
        outcome = json.loads(done.stdout)
    except ValueError:
        outcome = None
    return outcome if isinstance(outcome, dict) else {"failed": f"its start failed; {directory / netns_state.LOG} says why"}
