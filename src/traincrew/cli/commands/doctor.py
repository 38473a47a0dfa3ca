"""`traincrew doctor`: check whether this machine can run the cluster."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from traincrew.apimachinery.terminal_text import printable
from traincrew.cli.render import terminal
from traincrew.embedded import data_directory

if TYPE_CHECKING:
    from traincrew.cli.doctor.finding import Finding

_COLOURS = {"ok": "green", "warn": "yellow", "fail": "red"}


@click.command()
@click.option("--data", metavar="DIR", default="", help="Data directory of the cluster.")
@click.option("-o", "output", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Output format.")
def doctor(data: str, output: str) -> None:
    """Check whether this machine can run `traincrew up`. The checks change nothing and need no running cluster.

    Each check prints ok, warn (works with restrictions) or fail, and what to do. The exit code is 1 if a check fails.
    """
    from traincrew.cli.doctor import checks

    directory = data_directory.DataDirectory(data_directory.data_directory(data))
    findings = []
    for finding in checks.run(directory):
        findings.append(finding)
        if output == "text":
            _print(finding)
    if output == "json":
        terminal.echo_unchanged(json.dumps([finding._asdict() for finding in findings], indent=2))
    if any(finding.grade == "fail" for finding in findings):
        raise SystemExit(1)


def _print(finding: Finding) -> None:
    grade = click.style(f"{finding.grade:<4}", _COLOURS[finding.grade])
    terminal.echo_unchanged(f"{grade}  {finding.subject:<11} {printable(finding.message)}")
    if finding.remedy:
        terminal.echo(f"{'':<18}→ {finding.remedy}")
