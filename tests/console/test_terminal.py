"""Terminals in replicas."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from tests.console.console_fixture import SECONDS, Browser, job

PATH = "jobs/default/jaxjob/shell"


class Terminal:
    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket
        self.output = b""

    async def until(self, text: bytes) -> None:
        async with asyncio.timeout(SECONDS):
            while text not in self.output:
                message = await self.socket.receive()
                assert message.type == aiohttp.WSMsgType.BINARY, message
                self.output += message.data

    async def end(self) -> dict[str, Any]:
        async with asyncio.timeout(SECONDS):
            async for message in self.socket:
                if message.type == aiohttp.WSMsgType.TEXT:
                    found: dict[str, Any] = json.loads(message.data)
                    return found
                self.output += message.data
        raise AssertionError("the connection ended without an outcome")


@contextlib.asynccontextmanager
async def terminal(browser: Browser, query: str = "", replica: str = "worker-0", **headers: str) -> AsyncIterator[Terminal]:
    url = f"{browser.origin}/api/v1/{PATH}/replicas/{replica}/exec?{query}"
    protocols = ("traincrew.terminal.v1", f"csrf.{browser.csrf}")
    sent = {"Origin": browser.origin, **headers}
    async with browser.http.ws_connect(url, protocols=protocols, headers=sent) as socket:
        yield Terminal(socket)


@pytest.fixture
async def shell(browser: Browser) -> AsyncIterator[Browser]:
    await browser.create(job("shell", "sleep 1000"))
    await browser.until(PATH, lambda found: found["summary"]["status"] == "Running")
    yield browser
    await browser.call("DELETE", PATH)
    await browser.until("jobs?q=shell", lambda found: found["total"] == 0)


async def test_a_shell_has_the_size_of_the_page_and_reports_its_exit_code(shell: Browser) -> None:
    async with terminal(shell, "columns=91&rows=31") as opened:
        await opened.socket.send_bytes(b"stty size; hostname\n")
        await opened.until(b"31 91")
        await opened.until(b"shell-worker-0")
        await opened.socket.send_str('{"type": "resize", "columns": 55, "rows": 22}')
        await opened.socket.send_bytes(b"stty size\n")
        await opened.until(b"22 55")
        await opened.socket.send_bytes(b"exit 7\n")
        assert await opened.end() == {"type": "exit", "code": 7}


async def test_a_command_without_a_terminal_reads_its_input_to_the_end(shell: Browser) -> None:
    async with terminal(shell, "command=sh&command=-c&command=cat&tty=0") as opened:
        await opened.socket.send_bytes(b"\x00\xffbytes")
        await opened.socket.send_str('{"type": "end-of-input"}')
        assert await opened.end() == {"type": "exit", "code": 0}
    assert opened.output == b"\x00\xffbytes"


async def wait_until_running(browser: Browser, wanted: bool) -> None:
    async with asyncio.timeout(SECONDS):
        while True:
            if await is_running(browser) is wanted:
                return
            await asyncio.sleep(0.1)


async def is_running(browser: Browser) -> bool:
    looking = "command=sh&command=-c&command=grep -aq 5432[1] /proc/[0-9]*/cmdline || echo none&tty=0"
    async with terminal(browser, looking) as looked:
        await looked.end()
    return b"none" not in looked.output


async def test_a_page_that_leaves_ends_its_shell(shell: Browser) -> None:
    async with terminal(shell) as opened:
        await opened.socket.send_bytes(b"sleep 54321\n")
        await wait_until_running(shell, True)
    await wait_until_running(shell, False)


@pytest.mark.parametrize(
    ("replica", "query", "reason"),
    [
        ("worker-7", "", "NotFound"),
        ("worker-0", "container=none", "NotPossible"),
        ("worker-0", "command=/no/such", "ServerError"),
    ],
)
async def test_a_terminal_that_cannot_be_opened_says_why(shell: Browser, replica: str, query: str, reason: str) -> None:
    async with terminal(shell, query, replica) as opened:
        found = await opened.end()
    assert (found["type"], found["error"]["reason"]) == ("error", reason)
    assert found["error"]["tried"].startswith("open a terminal in")


async def refused(browser: Browser, **headers: str) -> int:
    with pytest.raises(aiohttp.WSServerHandshakeError) as found:
        async with terminal(browser, **headers):
            pass
    return found.value.status


async def test_terminals_are_refused_without_a_session_and_to_other_pages(shell: Browser) -> None:
    assert await refused(shell, Origin="http://evil.example") == 403
    assert await refused(shell, Origin="null") == 403
    assert await refused(shell, Host="evil.example") == 403
    token, shell.csrf = shell.csrf, "wrong"
    assert await refused(shell) == 401
    shell.csrf = token
    url = f"{shell.origin}/api/v1/{PATH}/replicas/worker-0/exec"
    with pytest.raises(aiohttp.WSServerHandshakeError) as found:
        await shell.http.ws_connect(url, protocols=("traincrew.terminal.v1", f"csrf.{token}"))
    assert found.value.status == 403
