"""`traincrew scale`: another number of workers."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import click

from traincrew import errors
from traincrew.cli import reach

if TYPE_CHECKING:
    from traincrew.cli.telling.view import View

ROLE = "Worker"


@click.command()
@click.argument("job", metavar="JOB")
@click.argument("replicas", type=click.IntRange(0), metavar="N")
@reach.options
def scale(job: str, replicas: int, reach: reach.Reach) -> None:
    """Change the number of a job's workers to N. What a running job makes of it depends on its framework: elastic ones go on.

    \b
    traincrew scale mnist 4
    """
    asyncio.run(_scale(job, replicas, reach))


async def _scale(name: str, replicas: int, where: reach.Reach) -> None:
    import msgspec

    from traincrew.cli import gathering, jobnames
    from traincrew.cli.telling import view

    async with gathering.connected(where) as (client, target):
        found = await jobnames.find(client, target.namespace, name)
        seen = view.view(found.kind, found.raw)
        key = _key(msgspec.json.decode(found.raw), seen)
        change: dict[str, Any] = {"spec": {"replicas": replicas}}
        subresource = "scale"
        if not found.kind.scalable or key != ROLE:  # /scale looks for the role in its canonical spelling
            change, subresource = {"spec": {found.kind.replicas_field: {key: {"replicas": replicas}}}}, ""
        body = msgspec.json.encode(change)
        await client.patch(found.kind.resource, target.namespace, seen.job.name, body, subresource=subresource)
    click.echo(f"{seen.reference}: {seen.job.count(ROLE)} → {replicas} workers{_advice(seen, replicas)}")


def _key(job: dict[str, Any], seen: View) -> str:
    """The name that the manifest gives to its workers."""
    for key in job["spec"].get(seen.kind.replicas_field) or ():
        if key.lower() == ROLE.lower():
            return str(key)
    raise errors.SettingsError(f"{seen.reference} has no workers: there is nothing to scale")


def _advice(seen: View, replicas: int) -> str:
    policy = getattr(seen.job.spec, "elastic_policy", None)
    low, high = getattr(policy, "min_replicas", None), getattr(policy, "max_replicas", None)
    if (low is not None and replicas < low) or (high is not None and replicas > high):
        return f" (its elastic policy says {low} to {high})"
    return ""
