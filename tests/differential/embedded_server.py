"""The embedded API server with the same controllers as the real one. Others would change objects in the middle of a scenario.

python -m tests.differential.embedded_server DIRECTORY
"""

from __future__ import annotations

import asyncio
import pathlib
import signal
import sys

from traincrew import __version__, settings
from traincrew.app import cluster, log_format
from traincrew.embedded import control_plane, daemon

CONTROLLERS = ("persistentvolume-protection",)
"""In addition to garbage collection, namespaces and quotas."""


async def serve(data: pathlib.Path) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    bootstrap = cluster.bootstrap_objects(settings.Cluster())
    options = control_plane.Options(data, "127.0.0.1", 0, bootstrap, data / "log", __version__, controller_names=CONTROLLERS)
    async with daemon.run(options):
        await stop.wait()


if __name__ == "__main__":
    log_format.configure("text", "info")
    asyncio.run(serve(pathlib.Path(sys.argv[1])))
