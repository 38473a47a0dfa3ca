"""`traincrew doctor`: check whether this machine can run the cluster."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import click

from traincrew.apimachinery.terminal_text import printable
from traincrew.cli import output_options
from traincrew.cli.render import serialization, terminal
from traincrew.embedded import data_directory

if TYPE_CHECKING:
    from traincrew.cli.doctor.finding import Finding

_COLOURS = {"ok": "green", "warn": "yellow", "fail": "red"}


@click.command()
@click.option("--data", metavar="DIR", default="", help="Data directory of the cluster.")
@click.option("--fix", is_flag=True, help="First remove what clusters whose data directory is gone have left.")
@output_options.option()
def doctor(data: str, fix: bool, form: str) -> None:
    """Check whether this machine can run `traincrew up`. The checks change nothing and need no running cluster.

    --fix first removes processes, mounts, cgroups, memory volumes and networks of clusters whose data directory no longer
    exists, and says what it removed. It does not touch a cluster that exists, whether it is running or not.

    Each check prints ok, warn (works with restrictions) or fail, and what to do. The exit code is 1 if a check fails.
    -o name prints the names of the checks that are not ok.
    """
    from traincrew.cli.doctor import checks, leftover_removal

    directory = data_directory.DataDirectory(data_directory.data_directory(data))
    findings = []
    for finding in itertools.chain(leftover_removal.remove() if fix else (), checks.run(directory)):
        findings.append(finding)
        if form == "text":
            _print(finding)
    if form in ("json", "yaml"):
        serialization.show([{**finding._asdict(), "grade": str(finding.grade)} for finding in findings], form)
    elif form == "name":
        terminal.echo("".join(f"{finding.subject}\n" for finding in findings if finding.grade != "ok"), nl=False)
    if any(finding.grade == "fail" for finding in findings):
        raise SystemExit(1)


def _print(finding: Finding) -> None:
    grade = click.style(f"{finding.grade:<4}", _COLOURS[finding.grade])
    terminal.echo_unchanged(f"{grade}  {finding.subject:<11} {printable(finding.message)}")
    if finding.remedy:
        terminal.echo(f"{'':<18}→ {finding.remedy}")
