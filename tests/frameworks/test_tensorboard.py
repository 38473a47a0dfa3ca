"""`traincrew tensorboard` with the real TensorBoard, for a job that writes summaries with TensorFlow."""

from __future__ import annotations

import asyncio
import json
import pathlib
import signal
import urllib.request
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.cli.test_real_pods import Machine
from tools.frameworks import cache_paths, packages
from tools.frameworks.recipes import named

pytestmark = pytest.mark.frameworks
SECONDS = 300
TRAIN = """
import tensorflow as tf
with tf.summary.create_file_writer("runs/first").as_default():
    for step in range(3):
        tf.summary.scalar("loss", 1.0 / (step + 1), step=step)
"""


@pytest.fixture
async def machine(tmp_path: pathlib.Path) -> AsyncIterator[Machine]:
    recipe = named("tensorflow")
    environment = cache_paths.environment(recipe, packages.python(recipe)[0])
    if cache_paths.built(environment) is None:
        pytest.skip("make framework-tensorflow")
    found = Machine(tmp_path)
    (found.work / "train.py").write_text(TRAIN)
    assert (await found("up", "--detach"))[0] == 0
    assert (await found("image", "set", "tensorflow", "--env-dir", str(environment), "--cluster"))[0] == 0
    yield found
    await found("delete", "--all", "--wait")
    await found("down")


async def test_the_scalars_of_a_finished_job_are_shown(machine: Machine) -> None:
    command = ("run", "--image", "tensorflow", "--kind", "TFJob", "--name", "j", "--", "python", "train.py")
    process = await machine.start(*command)
    _, err = await asyncio.wait_for(process.communicate(), SECONDS)
    assert process.returncode == 0, err
    process = await machine.start("tensorboard", "j", "--logdir", "runs", "--port", "0", "-o", "name")
    assert process.stdout is not None
    try:
        url = (await asyncio.wait_for(process.stdout.readline(), SECONDS)).decode().strip().rstrip("/")
        async with asyncio.timeout(SECONDS):
            while not (runs := await _read(f"{url}/data/runs")):  # TensorBoard reads the files in the background
                pass
        assert runs == ["first"]
        tags = await _read(f"{url}/data/plugin/scalars/tags")
        assert list(tags["first"]) == ["loss"]
    finally:
        process.send_signal(signal.SIGINT)
        await asyncio.wait_for(process.communicate(), SECONDS)


async def _read(url: str) -> Any:
    def get() -> Any:
        with urllib.request.urlopen(url, timeout=SECONDS) as response:
            return json.load(response)

    return await asyncio.to_thread(get)
