"""Finds the running netns daemon of a cluster, or starts one."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
from typing import Any

import traincrew
from traincrew.embedded import process_identity
from traincrew.embedded.kubelet.network import former_netns_daemon, netns_state
from traincrew.embedded.kubelet.network.netns_connection import NetnsConnection, NetnsDaemonGone

_START_SECONDS = 15.0
_STOP_SECONDS = 10.0
_KILL_SECONDS = 5.0
_PAUSE = 0.02
_SOURCE = pathlib.Path(traincrew.__file__).parent.parent
_START = "import sys; sys.path.insert(0, sys.argv.pop(1)); from traincrew.embedded.kubelet.network.netns_launcher import {}; {}()"


async def find_or_start(
    directory: pathlib.Path, isolation: str, subnet: str, userns: int
) -> tuple[NetnsConnection, dict[str, Any]]:
    """userns: descriptor of a user namespace that a new netns daemon joins, or -1. Raises OSError."""
    os.makedirs(directory, 0o700, exist_ok=True)
    failure: Exception = NetnsDaemonGone("the netns daemon does not answer. Run `traincrew down`, which stops it.")
    try:
        async with asyncio.timeout(_START_SECONDS):
            while True:
                try:
                    return await _connect(directory)
                except NetnsDaemonGone as error:
                    failure = error
                outcome = await _run("main", directory, isolation, subnet, str(userns))
                if "failed" in outcome:
                    raise OSError(f"cannot set up the cluster's network: {outcome['failed']}")
                if "busy" in outcome:
                    # Another process starts the netns daemon, or one is stopping.
                    await asyncio.sleep(_PAUSE)
    except TimeoutError:
        raise failure from None


async def _connect(directory: pathlib.Path) -> tuple[NetnsConnection, dict[str, Any]]:
    connection = await NetnsConnection.open(directory)
    try:
        hello, _ = await connection.request("hello")
        if (spoken := hello.get("protocol")) != connection.protocol:
            raise OSError(
                f"the netns daemon speaks protocol {spoken}, this release {connection.protocol}. "
                "Run `traincrew down` with the release that started it."
            )
    except BaseException:
        connection.close()
        raise
    return connection, hello


async def stop(directory: pathlib.Path) -> None:
    """A netns daemon that does not answer is killed. Raises OSError."""
    try:
        async with asyncio.timeout(_STOP_SECONDS):
            await _request_stop(directory)
    except (NetnsDaemonGone, TimeoutError):
        await asyncio.to_thread(_kill, directory)
    if has_files(directory):
        await _run("clear", directory)


def has_files(directory: pathlib.Path) -> bool:
    """Whether a netns daemon runs, or was killed and left files."""
    files = (netns_state.RECORD, netns_state.LOCK, former_netns_daemon.RECORD, former_netns_daemon.LOCK)
    return any((directory / name).exists() for name in files)


async def _request_stop(directory: pathlib.Path) -> None:
    connection, hello = await _connect(directory)
    ended = _wait_for_exit(int(hello["pid"]))
    try:
        with contextlib.suppress(NetnsDaemonGone):
            await connection.request("stop")
    finally:
        connection.close()
    await ended


def _kill(directory: pathlib.Path) -> None:
    present, former = (netns_state.read(str(directory / each.RECORD)) for each in (netns_state, former_netns_daemon))
    record = present or former
    until = time.monotonic() + _KILL_SECONDS
    while process_identity.is_alive(record):
        if time.monotonic() > until:
            raise OSError(f"the netns daemon cannot be killed: process {record['pid']}")
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(record["pid"]), signal.SIGKILL)
        time.sleep(_PAUSE)


def _wait_for_exit(pid: int) -> asyncio.Future[None]:
    """Done when that process has exited, and with it its namespaces."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        ended.set_result(None)
        return ended

    def on_exit() -> None:
        loop.remove_reader(process)
        os.close(process)
        if not ended.done():
            ended.set_result(None)

    loop.add_reader(process, on_exit)
    return ended


async def _run(function: str, directory: pathlib.Path, *arguments: str) -> dict[str, Any]:
    """Runs the launcher without site-packages and with a minimal environment, to keep the netns daemon small."""
    environment = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    command = [sys.executable, "-I", "-S", "-c", _START.format(function, function), str(_SOURCE), str(directory), *arguments]
    passed = [int(each) for each in arguments[2:] if int(each) >= 0]
    log = os.open(directory / netns_state.LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        # In a thread: uvloop would leak the pipe into the netns daemon, and its end would never come.
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
    return outcome if isinstance(outcome, dict) else {"failed": f"the launcher failed. See {directory / netns_state.LOG}."}
