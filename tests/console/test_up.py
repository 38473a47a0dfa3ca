"""The console of `traincrew up`: it costs nothing until a browser comes, and gives a link at any time."""

from __future__ import annotations

import json
import os
import pathlib
import re
import signal
import subprocess
from collections.abc import Iterator
from typing import Any

import aiohttp
import pytest
from tests.cli.cluster_fixture import COMMAND
from tests.cluster.api import eventually
from tests.console.console_fixture import SECONDS, Browser

from traincrew.console import page_files

LINK = re.compile(r"http://127\.0\.0\.1:\d+/#token=\S+")


class Cluster:
    def __init__(self, data: pathlib.Path) -> None:
        self.data = data

    def traincrew(self, *arguments: str) -> str:
        env = {key: value for key, value in os.environ.items() if key != "KUBECONFIG"} | {"TRAINCREW_DATA": os.fspath(self.data)}
        done = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False, timeout=120, env=env)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def pid(self) -> int:
        return int(json.loads((self.data / "running.json").read_text())["pid"])

    def consoles(self) -> list[int]:
        """Processes of consoles that the cluster has started."""
        found = pathlib.Path(f"/proc/{self.pid()}/task").glob("*/children")
        children = [int(pid) for each in found for pid in each.read_text().split()]
        return [pid for pid in children if b"console_process" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()]


@pytest.fixture(scope="module")
def page() -> Iterator[None]:
    """As if it were built, unless it is."""
    if page_files.is_built():
        yield
        return
    page_files.DIRECTORY.mkdir()
    (page_files.DIRECTORY / "index.html").write_text("<!doctype html>")
    yield
    (page_files.DIRECTORY / "index.html").unlink()
    page_files.DIRECTORY.rmdir()


@pytest.fixture
def cluster(tmp_path: pathlib.Path, page: None) -> Iterator[Cluster]:
    found = Cluster(tmp_path / "data")
    yield found
    found.traincrew("down")


async def browser(http: aiohttp.ClientSession, printed: str) -> Browser:
    found = LINK.search(printed)
    assert found is not None, printed
    signed_in = Browser(http, found[0])
    await signed_in.sign_in()
    return signed_in


def session() -> aiohttp.ClientSession:
    return aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True))


async def test_the_console_of_up_starts_with_the_first_browser_and_ends_with_the_cluster(cluster: Cluster) -> None:
    printed = cluster.traincrew("up", "--detach", "--no-node")
    assert cluster.consoles() == []
    async with session() as http:
        first = await browser(http, printed)
        assert (await first.get("capabilities"))["mode"] == "embedded"
        (process,) = cluster.consoles()
        again = cluster.traincrew("console")
        assert "is running" in again
        await browser(http, again)
        assert cluster.consoles() == [process]
    os.kill(cluster.pid(), signal.SIGKILL)
    eventually(lambda: not os.path.exists(f"/proc/{process}/exe"), SECONDS)


async def test_a_console_that_was_killed_is_started_again_by_the_next_browser(cluster: Cluster) -> None:
    cluster.traincrew("up", "--detach", "--no-node")
    cluster.traincrew("console")
    (process,) = cluster.consoles()
    os.kill(process, signal.SIGKILL)
    async with session() as http:
        await browser(http, cluster.traincrew("console"))
    assert process not in cluster.consoles()


def test_up_without_a_console(cluster: Cluster) -> None:
    assert LINK.search(cluster.traincrew("up", "--detach", "--no-node", "--no-console")) is None
    assert not (cluster.data / "consoles").exists()


async def test_links_are_for_the_user_who_started_the_console(visitor: Browser) -> None:
    async def ask(headers: dict[str, str]) -> tuple[int, Any]:
        async with visitor.http.post(f"{visitor.origin}/api/v1/link", headers=headers) as response:
            return response.status, await response.json()

    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Bearer "}):
        status, error = await ask(headers)
        assert (status, error["reason"]) == (401, "SignInRequired")
    assert (await ask({"Authorization": "Bearer secret", "Origin": "http://evil.example"}))[0] == 403
    status, link = await ask({"Authorization": "Bearer secret"})
    assert status == 200
    visitor.token = link["token"]
    await visitor.sign_in()
    assert (await visitor.get("capabilities"))["mode"] == "embedded"


async def test_a_page_that_is_not_built_says_how_to_build_it_and_is_served_once_it_is(
    visitor: Browser, tmp_path: pathlib.Path
) -> None:
    index = tmp_path / "page" / "index.html"
    content = index.read_text()
    index.unlink()
    async with visitor.http.get(visitor.origin) as response:
        assert response.status == 503
        assert "Run `make console`" in await response.text()
    index.write_text(content)
    async with visitor.http.get(visitor.origin) as response:
        assert response.status == 200
