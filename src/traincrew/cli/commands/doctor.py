"""`traincrew doctor`: whether this machine is fit for a cluster, and what to do where it is not."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import click

from traincrew import errors
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
    where = data_directory.DataDirectory(data_directory.data_directory(data))
    found = []
    for each in _findings(where):
        found.append(each)
        if output == "text":
            _say(each)
    if output == "json":
        click.echo(json.dumps([each._asdict() for each in found], indent=2))
    if any(each.grade == "fail" for each in found):
        raise SystemExit(1)


def _findings(where: data_directory.DataDirectory) -> Iterator[Finding]:
    # Imported here: only this verb needs them.
    from traincrew.cli.doctor import egress, isolation, leftovers, programs, storage
    from traincrew.cli.doctor.finding import fail

    kept = list(storage.check(where.data))
    yield from kept
    if all(each.grade != "fail" for each in kept):
        yield from isolation.check(storage.nearest(where.data))
    yield egress.check()
    try:
        yield from programs.check(where)
    except errors.NotRunning as closed:
        yield fail("data", str(closed), "Choose another directory with --data DIR.")
    yield from _each_once(leftovers.check())


def _each_once(found: Iterable[Finding]) -> Iterator[Finding]:
    yield from dict.fromkeys(found)


def _say(found: Finding) -> None:
    click.echo(f"{click.style(f'{found.grade:<4}', _COLOURS[found.grade])}  {found.subject:<11} {found.message}")
    if found.remedy:
        click.echo(f"{'':<18}→ {found.remedy}")
