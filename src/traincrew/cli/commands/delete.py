"""`traincrew delete`: jobs, with everything that belongs to them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import click

from traincrew import errors
from traincrew.cli import target as cli_target

if TYPE_CHECKING:
    from traincrew.cli.jobs.deletion import Gone


@click.command()
@click.argument("jobs", metavar="[JOB]...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Delete all jobs in the namespace.")
@click.option("--finished", is_flag=True, help="Delete only finished jobs. Use with --all.")
@click.option("--wait/--no-wait", default=False, show_default=True, help="Wait until the jobs and their pods are deleted.")
@click.option("--timeout", default=120.0, show_default=True, metavar="SECONDS", help="Maximum time to wait with --wait.")
@cli_target.options
def delete(jobs: tuple[str, ...], everything: bool, finished: bool, reach: cli_target.TargetOptions, **waiting: float) -> None:
    """Delete jobs with their pods, services and config maps. PersistentVolumeClaims and their data are kept.

    \b
    traincrew delete mnist --wait
    traincrew delete --all --finished
    """
    if bool(jobs) == everything:
        raise errors.SettingsError("specify the jobs to delete, or --all")
    asyncio.run(_delete(jobs, finished, reach, waiting["timeout"] if waiting["wait"] else 0.0))


async def _delete(names: tuple[str, ...], finished: bool, where: cli_target.TargetOptions, patience: float) -> None:
    from traincrew.cli.jobs import deletion, query
    from traincrew.cli.jobs import names as jobs_names

    async with query.connected(where) as (client, target):
        if names:
            found = [await jobs_names.find(client, target.namespace, name) for name in names]
        else:
            found = [jobs_names.Found(kind, raw) for kind, raw in await jobs_names.names(client, target.namespace)]
        chosen = [gone for each in found if (gone := deletion.gone(each.kind, each.raw)).finished or not finished]
        for each in chosen:
            await deletion.delete(client, each)
            click.echo(f"{each.reference} deleted")
        if patience:
            await _waited(client, chosen, patience)
    if not chosen:
        click.echo("No jobs to delete.", err=True)


async def _waited(client: object, chosen: list[Gone], patience: float) -> None:
    from traincrew.cli.jobs import deletion
    from traincrew.client.remote import RemoteClient

    assert isinstance(client, RemoteClient)
    try:
        async with asyncio.timeout(patience):
            for each in chosen:
                await deletion.until_gone(client, each)
    except TimeoutError:
        raise errors.NoJob(
            f"timed out after {patience:.0f} s waiting for deletion. Run `kubectl get pods` to see the remaining pods."
        ) from None
