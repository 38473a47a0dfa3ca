"""The same kubectl command lines on a real API server and on the embedded one.

    python -m tests.embedded.clients.run [--record] [--only SCRIPT] [--version 1.28]

compares what both answer now and prints every difference; `--record` keeps what the real one answers, which is what
the test suite compares with. TRAINCREW_REAL and TRAINCREW_OURS name kubeconfigs of servers that run already.
"""

from __future__ import annotations

import argparse
import contextlib
import pathlib

from tests.differential import sides
from tests.embedded.clients import scripts, transcripts
from tests.embedded.clients.player import VERSIONS, play_all
from tests.embedded.clients.transcripts import Difference


def record(kubeconfig: pathlib.Path, names: list[str], versions: list[str]) -> None:
    for version in versions:
        for name, entries in play_all(kubeconfig, version, names):
            transcripts.write(name, version, entries)


def compare(kubeconfig: pathlib.Path, names: list[str], versions: list[str]) -> tuple[int, list[Difference]]:
    """The number of commands, and where the server of the kubeconfig differs from what is recorded."""
    commands, found = 0, []
    for version in versions:
        for name, entries in play_all(kubeconfig, version, names):
            commands += len(entries)
            found += transcripts.differences(name, version, transcripts.read(name, version), entries)
    return commands, found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--only", action="append", metavar="SCRIPT")
    parser.add_argument("--version", action="append", choices=VERSIONS)
    asked = parser.parse_args()
    names, versions = asked.only or scripts.names(), asked.version or list(VERSIONS)
    with contextlib.ExitStack() as stack:
        if asked.record:
            record(stack.enter_context(sides.real_kubeconfig()), names, versions)
        ours = stack.enter_context(sides.embedded_kubeconfig())
        commands, found = compare(ours, names, versions)
    for each in found:
        print(each)
    print(f"{commands} commands, {len(found)} differences")


if __name__ == "__main__":
    main()
