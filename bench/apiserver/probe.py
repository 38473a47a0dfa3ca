"""`traincrew up` with a task in its event loop that measures how late it is woken.

    python -m bench.apiserver.probe up --data DIR

SIGUSR1 forgets what was measured so far, SIGUSR2 writes it to DIR/lag.json.
"""

from __future__ import annotations

import asyncio
import json
import logging
import pathlib
import signal
import sys
import time

from traincrew import settings
from traincrew.app import cluster, log_format
from traincrew.embedded import data_directory

EVERY = 0.002
LINES = 0.05
"""Seconds between lines in the log that the followers follow."""
log = logging.getLogger("bench")


class Probe:
    def __init__(self, report: pathlib.Path) -> None:
        self._report = report
        self._late: list[float] = []
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGUSR1, self._late.clear)
        loop.add_signal_handler(signal.SIGUSR2, self._write)
        self._tasks = [loop.create_task(self._measure()), loop.create_task(_talk())]

    async def _measure(self) -> None:
        while True:
            due = time.perf_counter() + EVERY
            await asyncio.sleep(EVERY)
            self._late.append(time.perf_counter() - due)

    def _write(self) -> None:
        late = sorted(each * 1000 for each in self._late)
        results = {"samples": len(late), "p50": late[len(late) // 2], "p99": late[int(len(late) * 0.99)], "worst": late[-1]}
        fresh = self._report.with_suffix(".new")
        fresh.write_text(json.dumps(results))
        fresh.replace(self._report)


async def _talk() -> None:
    while True:
        await asyncio.sleep(LINES)
        log.info("a line for those who follow")


def main(data: pathlib.Path) -> None:
    where = data_directory.DataDirectory(data)
    data.mkdir(parents=True, exist_ok=True, mode=0o700)
    log_format.configure("text", "info")
    handler = logging.FileHandler(where.log)
    handler.setFormatter(log_format.TextFormatter())
    logging.getLogger().handlers = [handler]
    probe = Probe(data / "lag.json")
    cluster.run(settings.Cluster(data=str(data)), where, cluster.StatusCallbacks(lambda url: probe.start()))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[sys.argv.index("--data") + 1]))
