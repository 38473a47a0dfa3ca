"""Runs other people's tests and examples against `traincrew up`, and prints one line for each client.

    python -m tools.clients.run [CLIENT...]

Failed tests are listed below. docs/clients.md describes what is run, and what cannot be.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from functools import partial

from tools.clients import helm, local_cluster, python_suites, stern
from tools.clients.results import ClientResult
from tools.frameworks.commands import BuildFailed
from tools.kube import build

Run = Callable[[Mapping[str, str]], ClientResult]
CLIENTS: dict[str, Run] = {suite.client: partial(python_suites.run, suite) for suite in python_suites.SUITES}
CLIENTS |= {"helm": helm.run, "stern": stern.run}


def main(names: list[str]) -> int:
    if unknown := set(names) - set(CLIENTS):
        print(f"unknown: {', '.join(sorted(unknown))}; known are {', '.join(CLIENTS)}", file=sys.stderr)
        return 2
    started, results, broken = time.monotonic(), [], False
    with local_cluster.started() as cluster:
        for name in names or CLIENTS:
            try:
                results.append(CLIENTS[name](cluster))
            except (BuildFailed, build.BuildFailed) as error:
                print(f"{name}: not built: {error}", file=sys.stderr)
                broken = True
    for result in results:
        print(result.line())
        for failure in result.failed:
            print(f"  failed: {failure}")
    print(f"all clients: {time.monotonic() - started:.0f} s with their builds")
    return 1 if broken or any(result.failed for result in results) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
