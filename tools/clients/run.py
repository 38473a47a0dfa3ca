"""Runs other people's tests and examples against `traincrew up`, and prints one line for each client.

    python -m tools.clients.run [CLIENT...]

Failed tests are listed below. docs/clients.md describes what is run, and what cannot be.
"""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Callable, Mapping
from functools import partial

from tools.clients import helm, local_cluster, python_suites, stern
from tools.clients.results import ClientResult
from tools.frameworks.commands import BuildFailed
from tools.kube import build

Run = Callable[[Mapping[str, str]], ClientResult]
CLIENTS: dict[str, Run] = {suite.client: partial(python_suites.run, suite) for suite in python_suites.SUITES}
CLIENTS |= {"helm": helm.run, "stern": stern.run}


def run_all(clients: Mapping[str, Run], cluster: Mapping[str, str]) -> list[ClientResult]:
    """What goes wrong with one client is its failure, and does not hide the results of the others."""
    return [_run(name, client, cluster) for name, client in clients.items()]


def _run(name: str, client: Run, cluster: Mapping[str, str]) -> ClientResult:
    try:
        return client(cluster)
    except (BuildFailed, build.BuildFailed) as error:
        problem = f"not built: {error}"
    except Exception as error:
        traceback.print_exc()
        problem = f"{type(error).__name__}: {error}"
    return ClientResult(name, "(version unknown)", failed=(problem,))


def main(names: list[str]) -> int:
    if unknown := set(names) - set(CLIENTS):
        print(f"unknown: {', '.join(sorted(unknown))}; known are {', '.join(CLIENTS)}", file=sys.stderr)
        return 2
    started = time.monotonic()
    with local_cluster.started() as cluster:
        results = run_all({name: CLIENTS[name] for name in names or CLIENTS}, cluster)
        # Before the cluster is stopped: an error there hides no result, either.
        for result in results:
            print(result.line())
            for failure in result.failed:
                print(f"  failed: {failure}")
        print(f"all clients: {time.monotonic() - started:.0f} s with their builds", flush=True)
    return 1 if any(result.failed for result in results) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
