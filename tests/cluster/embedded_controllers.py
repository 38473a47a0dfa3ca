"""The embedded controllers as a process: python -m tests.cluster.embedded_controllers KUBECONFIG VOLUMES NAME..."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import pathlib
import sys
import tempfile
from collections.abc import Iterator

from tools.kube import cluster
from tools.kube.process import Process

from traincrew.client import kubeconfig
from traincrew.client.remote import RemoteClient
from traincrew.embedded.controllers.nodes.health import Timing
from traincrew.embedded.controllers.run import Controllers

TIMING = Timing(period=1.0, grace=8.0, startup_grace=8.0, deaf=4.0)
ROOT = pathlib.Path(__file__).parents[2]


@contextlib.contextmanager
def running(kube: cluster.Cluster, *names: str) -> Iterator[Process]:
    """Run only these controllers within the block."""
    with tempfile.TemporaryDirectory() as directory:
        place = pathlib.Path(directory)
        command: list[str | pathlib.Path] = [
            sys.executable,
            "-m",
            "tests.cluster.embedded_controllers",
            kube.kubeconfig,
            place / "volumes",
        ]
        process = Process("controllers", [*command, *names], place, {"PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"})
        try:
            yield process
        finally:
            process.kill()
            output = process.last_lines()
            print(output)  # pytest shows it where a test failed
            assert "Traceback" not in output, output


async def _serve(path: str, volumes: str, names: list[str]) -> None:
    async with RemoteClient(kubeconfig.load(path), component="controllers") as client:
        await Controllers(lambda _: client, pathlib.Path(volumes), names, period=1.0, nodes=TIMING).run()


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    asyncio.run(_serve(sys.argv[1], sys.argv[2], sys.argv[3:]))
