"""`traincrew doctor`: check whether this machine can run the cluster, or whether a Kubernetes cluster can run jobs."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from traincrew.apimachinery.terminal_text import printable
from traincrew.cli import cluster_target, output_options
from traincrew.cli.render import serialization, terminal

if TYPE_CHECKING:
    from traincrew.cli.doctor.check_result import CheckResult

_COLOURS = {"ok": "green", "warn": "yellow", "fail": "red"}


@click.command()
@click.option("--cluster", is_flag=True, help="Check a Kubernetes cluster and the operator on it instead of this machine.")
@click.option(
    "--fix",
    is_flag=True,
    help="First remove the processes, mounts and networks of clusters whose data directory no longer exists.",
)
@output_options.option()
@cluster_target.options
def doctor(cluster: bool, fix: bool, form: str, target_options: cluster_target.TargetOptions) -> None:
    """Check whether this machine can run `traincrew up`. The checks change nothing and need no running cluster.

    With --cluster: check API access, CRDs, operators, their permissions, gang scheduler, clock and DNS of a cluster.

    --fix first removes processes, mounts, cgroups, memory volumes and networks of clusters whose data directory no longer
    exists, and says what it removed. It does not touch a cluster that exists, whether it is running or not.

    Each check prints ok, warn (works with restrictions) or fail, and what to do. The exit code is 1 if a check fails.
    -o name prints the names of the checks that are not ok.

    \b
    traincrew doctor
    traincrew doctor --fix
    traincrew doctor --cluster --kubeconfig ~/.kube/config
    """
    if cluster and fix:
        raise click.UsageError("--fix works on this machine. Do not combine it with --cluster.")
    show = _print if form == "text" else _ignore
    results = asyncio.run(_of_cluster(target_options, show)) if cluster else _of_machine(target_options, fix, show)
    if form in ("json", "yaml"):
        serialization.show([{**result._asdict(), "grade": str(result.grade)} for result in results], form)
    elif form == "name":
        terminal.echo("".join(f"{result.subject}\n" for result in results if result.grade != "ok"), nl=False)
    if any(result.grade == "fail" for result in results):
        raise SystemExit(1)


def _of_machine(
    target_options: cluster_target.TargetOptions, fix: bool, show: Callable[[CheckResult], None]
) -> list[CheckResult]:
    from traincrew.cli.doctor import checks, leftover_removal

    results = []
    for result in itertools.chain(leftover_removal.remove() if fix else (), checks.run(target_options.data_directory)):
        results.append(result)
        show(result)
    return results


async def _of_cluster(target_options: cluster_target.TargetOptions, show: Callable[[CheckResult], None]) -> list[CheckResult]:
    from traincrew.cli.doctor.cluster import checks
    from traincrew.client import retries
    from traincrew.client.remote import RemoteClient

    results = []
    connection = cluster_target.resolve(target_options).connection
    async with RemoteClient(connection, component="doctor", limits=retries.RetryLimits(attempts=1)) as client:
        async for result in checks.run(client):
            results.append(result)
            show(result)
    return results


def _ignore(result: CheckResult) -> None:
    """The results are printed together."""


def _print(result: CheckResult) -> None:
    grade = click.style(f"{result.grade:<4}", _COLOURS[result.grade])
    terminal.echo_unchanged(f"{grade}  {result.subject:<11} {printable(result.message)}")
    if result.remedy:
        terminal.echo(f"{'':<18}→ {result.remedy}")
