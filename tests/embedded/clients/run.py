"""The same kubectl command lines on a real API server and on the embedded one.

    python -m tests.embedded.clients.run [--record] [--only SCRIPT] [--version 1.28]

compares what both answer now and prints every difference; `--record` keeps what the real one answers, which is what
the test suite compares with. TRAINCREW_REAL and TRAINCREW_OURS name kubeconfigs of servers that run already.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import pathlib

from tests.differential import servers
from tests.embedded.clients import models, scripts, transcripts
from tests.embedded.clients.accepted import ACCEPTED, Accepted
from tests.embedded.clients.player import VERSIONS, play_all
from tests.embedded.clients.transcripts import Difference


def record(kubeconfig: pathlib.Path, names: list[str], versions: list[str]) -> None:
    for version in versions:
        for name, entries in play_all(kubeconfig, version, names):
            transcripts.write(name, version, entries)


@dataclasses.dataclass(frozen=True)
class Report:
    commands: int
    differences: tuple[Difference, ...]

    @property
    def open(self) -> list[Difference]:
        return [found for found in self.differences if not any(each.covers(found) for each in ACCEPTED)]

    @property
    def stale(self) -> list[Accepted]:
        return [each for each in ACCEPTED if not any(each.covers(found) for found in self.differences)]

    def tell(self) -> str:
        accepted = len(self.differences) - len(self.open)
        told = f"{self.commands} commands, {len(self.differences)} differences, {accepted} of them accepted"
        return "\n".join([*map(str, self.open), told])


def compare(kubeconfig: pathlib.Path, names: list[str], versions: list[str]) -> Report:
    """Where the server of the kubeconfig differs from what is recorded."""
    commands, found = 0, []
    for version in versions:
        for name, entries in play_all(kubeconfig, version, names):
            commands += len(entries)
            found += transcripts.differences(name, version, transcripts.read(name, version), entries)
    return Report(commands, tuple(found))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--only", action="append", metavar="SCRIPT")
    parser.add_argument("--version", action="append", choices=VERSIONS)
    asked = parser.parse_args()
    names, versions = asked.only or scripts.names(), asked.version or list(VERSIONS)
    with contextlib.ExitStack() as stack:
        if asked.record:
            real = stack.enter_context(servers.real_kubeconfig())
            record(real, names, versions)
            models.record(real)
        ours = stack.enter_context(servers.embedded_kubeconfig())
        print(compare(ours, names, versions).tell())


if __name__ == "__main__":
    main()
