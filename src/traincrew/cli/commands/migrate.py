"""`traincrew migrate`: take over the jobs of a Go operator on a cluster, or give them back."""

from __future__ import annotations

import asyncio
import functools
from typing import TYPE_CHECKING

import click

from traincrew import errors
from traincrew.cli import cluster_target, output_options

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from traincrew.cli.installation.migration_plan import MigrationBlocked, MigrationStep
    from traincrew.cli.installation.migration_report import MigrationReport
    from traincrew.client import interfaces

    FindSteps = Callable[[interfaces.Client], Awaitable[list[MigrationStep] | MigrationBlocked]]


@click.command()
@click.option("--apply", "apply_", is_flag=True, help="Execute the steps. Default: print them.")
@click.option("--back", is_flag=True, help="Give the jobs back to the Go operator.")
@click.option(
    "--start", multiple=True, metavar="[NAMESPACE/]NAME",
    help="With --back: start this Deployment of a Go operator. May be repeated. Default: those that migrate has stopped.",
)  # fmt: skip
@output_options.option()
@cluster_target.options
def migrate(apply_: bool, back: bool, start: tuple[str, ...], form: str, target_options: cluster_target.TargetOptions) -> None:
    """Take over the jobs of training-operator or mpi-operator on a cluster. Without --apply, nothing is changed.

    Running jobs keep their pods. The Go operator is scaled to zero and not deleted; --back restores it. At no time do two
    operators act on one job: traincrew waits until the pods of the Go operator are gone.

    \b
    traincrew migrate
    traincrew migrate --apply
    traincrew migrate --back --apply
    """
    if start and not back:
        raise click.UsageError("--start needs --back.")
    from traincrew.cli.installation import migration, migration_report

    report = migration_report.MigrationReport(form)
    find = functools.partial(migration.steps_back, named=start) if back else migration.steps
    asyncio.run(_migrate(report, apply_, find, target_options))
    if apply_ and not back:
        report.removal()
    report.close()


async def _migrate(report: MigrationReport, apply_: bool, find: FindSteps, target_options: cluster_target.TargetOptions) -> None:
    from traincrew.cli.installation import migration, migration_plan
    from traincrew.client.remote import RemoteClient

    async with RemoteClient(cluster_target.resolve(target_options).connection, component="migrate") as client:
        report.summary(await migration.summary(client))
        steps = await find(client)
        if isinstance(steps, migration_plan.MigrationBlocked):
            raise errors.NotRunning(f"{steps.reason}. {steps.remedy}")
        before = await migration.running_pods(client)
        for number, step in enumerate(steps, 1):
            report.step(number, step, executed=apply_)
            if apply_:
                await migration.execute(client, step)
        if apply_:
            kept = before.keys() & (await migration.running_pods(client)).keys()
            report.done(len(kept), [before[uid] for uid in sorted(before.keys() - kept)])
        else:
            report.sentence("Nothing was changed. Run the same command with --apply to execute these steps.")
