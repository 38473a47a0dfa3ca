"""The daemon is killed at any moment: the pod continues, the next daemon adopts it, and nothing is lost or repeated."""

from __future__ import annotations

import asyncio
import os
import pathlib
import sys

import pytest
from tests.embedded.kubelet.runtime import daemon
from tests.embedded.kubelet.runtime.shim_harness import ShimHarness, exists, wait_for_exit, wait_until

from traincrew.embedded.kubelet.runtime import runtime

WORDS = ("", "template", "shim", "started", "exec")


async def killed(harness: ShimHarness, directory: pathlib.Path, word: str, seconds: float) -> None:
    """Starts a daemon and kills it so many seconds after it has printed the word."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, daemon.__file__, str(harness.data), harness.isolation, str(directory)),
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert process.stdout is not None
    while word and (line := await process.stdout.readline()).strip() != word.encode():
        assert line, "the daemon has ended"
    await asyncio.sleep(seconds)  # the test is about the moment, for which there is no event
    process.kill()
    await process.wait()


@pytest.mark.parametrize("seconds", [0.0, 0.003, 0.01, 0.03])
@pytest.mark.parametrize("word", WORDS[1:])
async def test_nothing_is_lost_or_repeated_whenever_the_daemon_is_killed(harness: ShimHarness, word: str, seconds: float) -> None:
    directory = harness.data / "node/pods/7d0e"
    directory.mkdir(parents=True)
    await killed(harness, directory, word, seconds)
    try:
        shim = await runtime.ShimClient.connect(directory)
    except runtime.ShimGone:
        assert word == "template", "a reported shim must exist"
        shim = await harness.template.fork(daemon.pod(directory))
    harness.keep(shim)
    await shim.start(daemon.container(harness))
    assert (await wait_for_exit(shim)).code == 42
    assert [int(text) for _, _, text in harness.log()] == list(range(daemon.COUNT))


async def test_a_container_that_exits_without_a_daemon_has_an_exit_record(harness: ShimHarness) -> None:
    directory = harness.data / "node/pods/7d0e"
    directory.mkdir(parents=True)
    await killed(harness, directory, "started", 0.0)
    while runtime.read_exit(directory, "main", 0) is None:  # noqa: ASYNC110 -- there is no event for it
        await asyncio.sleep(0.01)
    shim = harness.keep(await runtime.ShimClient.connect(directory))
    assert (await wait_for_exit(shim)).code == 42
    assert not (await shim.container_statuses())["main"].running


async def test_the_template_exits_with_its_daemon(harness: ShimHarness) -> None:
    directory = harness.data / "node/pods/7d0e"
    directory.mkdir(parents=True)
    await killed(harness, directory, "shim", 0.0)
    harness.keep(await runtime.ShimClient.connect(directory))
    template = int((directory / "template.pid").read_text())
    await wait_until(lambda: not exists(f"/proc/{template}"))
