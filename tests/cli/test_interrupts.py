"""Ctrl-C on a terminal: asked once, taken at its word the second time."""

from __future__ import annotations

import asyncio
import pathlib

from tests.cli.house import PATIENCE, House, written
from tests.cluster import manifests
from tests.embedded.kubelet.server.workshop import Running

JOB = manifests.job("PyTorchJob", Master=1)
QUESTION = "Delete pytorchjob/j? [Y/n/detach]"


async def until(running: Running, text: str) -> str:
    assert running.stdout is not None
    found, deadline = "", asyncio.get_running_loop().time() + PATIENCE
    while text not in found:
        try:
            async with asyncio.timeout_at(deadline):
                piece = await running.stdout.read(4096)
        except TimeoutError:
            piece = b""
        assert piece, f"{text!r} was not shown: {found!r}"
        found += piece.decode(errors="replace")
    return found


async def typed(running: Running, text: str) -> None:
    assert running.stdin is not None
    running.stdin.write(text.encode())
    await running.stdin.drain()


async def begun(house: House, directory: pathlib.Path) -> Running:
    running = await house.in_terminal("run", written(directory, JOB))
    await house.run("j-master-0")
    await house.say("j-master-0", "hello")
    assert "\x1b[36mmaster-0 |\x1b[0m hello" in await until(running, "hello")
    await typed(running, "\x03")
    await until(running, QUESTION)
    return running


async def test_no_goes_on(house: House, tmp_path: pathlib.Path) -> None:
    running = await begun(house, tmp_path)
    await house.say("j-master-0", "held back")
    await typed(running, "n\n")
    await until(running, "held back")
    await house.succeed("j-master-0")
    await until(running, "pytorchjob/j succeeded")
    assert await running.wait() == 0


async def test_detach_leaves_the_job(house: House, tmp_path: pathlib.Path) -> None:
    running = await begun(house, tmp_path)
    await typed(running, "detach\n")
    await until(running, "traincrew logs -f pytorchjob/j")
    assert await running.wait() == 0
    assert house.job() is not None


async def test_yes_deletes_and_waits_for_the_pods(house: House, tmp_path: pathlib.Path) -> None:
    running = await begun(house, tmp_path)
    await typed(running, "\n")
    await until(running, "Deleting pytorchjob/j")
    await house.do(house.kubelet.gone, "j-master-0")
    assert await running.wait() == 130
    assert house.job() is None


async def test_a_second_ctrl_c_deletes(house: House, tmp_path: pathlib.Path) -> None:
    running = await begun(house, tmp_path)
    await typed(running, "\x03")
    await until(running, "Deleting pytorchjob/j")
    await house.do(house.kubelet.gone, "j-master-0")
    assert await running.wait() == 130
