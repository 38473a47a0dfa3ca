"""The same kubectl command lines on a real API server and on the embedded one.

    python -m tests.embedded.clients.kubectl_comparison [--record] [--only SCRIPT] [--version 1.28]

compares the recorded output of the real API server with the output of the embedded one and prints every difference;
`--record` records the output of the real one anew.

TRAINCREW_REAL and TRAINCREW_OURS name kubeconfigs of servers that run already.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import pathlib

from tests.differential import servers
from tests.embedded.clients import model_lifecycle, scripts, transcripts
from tests.embedded.clients.accepted_differences import ACCEPTED, Accepted
from tests.embedded.clients.kubectl_runner import VERSIONS, run_all
from tests.embedded.clients.transcripts import Difference


def record(kubeconfig: pathlib.Path, names: list[str], versions: list[str]) -> None:
    for version in versions:
        for name, entries in run_all(kubeconfig, version, names):
            transcripts.write(name, version, entries)


@dataclasses.dataclass(frozen=True)
class TranscriptReport:
    commands: int
    differences: tuple[Difference, ...]

    @property
    def open(self) -> list[Difference]:
        return [difference for difference in self.differences if not any(each.covers(difference) for each in ACCEPTED)]

    @property
    def stale(self) -> list[Accepted]:
        return [each for each in ACCEPTED if not any(each.covers(difference) for difference in self.differences)]

    def summary(self) -> str:
        accepted = len(self.differences) - len(self.open)
        totals = f"{self.commands} commands, {len(self.differences)} differences, {accepted} of them accepted"
        return "\n".join([*map(str, self.open), totals])


def compare(kubeconfig: pathlib.Path, names: list[str], versions: list[str]) -> TranscriptReport:
    """The differences between the recorded output and that of the server of the kubeconfig."""
    commands, differences = 0, []
    for version in versions:
        for name, entries in run_all(kubeconfig, version, names):
            commands += len(entries)
            differences += transcripts.differences(name, version, transcripts.read(name, version), entries)
    return TranscriptReport(commands, tuple(differences))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--only", action="append", metavar="SCRIPT")
    parser.add_argument("--version", action="append", choices=VERSIONS)
    options = parser.parse_args()
    names, versions = options.only or scripts.names(), options.version or list(VERSIONS)
    with contextlib.ExitStack() as stack:
        if options.record:
            real = stack.enter_context(servers.real_kubeconfig())
            record(real, names, versions)
            model_lifecycle.record(real)
        ours = stack.enter_context(servers.embedded_kubeconfig())
        print(compare(ours, names, versions).summary())


if __name__ == "__main__":
    main()
