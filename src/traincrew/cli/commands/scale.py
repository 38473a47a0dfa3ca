"""`traincrew scale`: another number of workers."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import click

from traincrew import errors
from traincrew.cli import target as cli_target

if TYPE_CHECKING:
    from traincrew.cli.render.view import View

ROLE = "Worker"


@click.command()
@click.argument("job", metavar="JOB")
@click.argument("replicas", type=click.IntRange(0), metavar="N")
@click.option(
    "--force", is_flag=True, help="Scale beyond the limits of the elastic policy, and scale running jobs that are not elastic."
)
@cli_target.options
def scale(job: str, replicas: int, force: bool, reach: cli_target.TargetOptions) -> None:
    """Change the number of workers of a job to N. N does not include the master, chief or launcher.

    An elastic job continues with the new number of workers, within the limits of its policy. Suspend any other job first: its
    pods learn the number of replicas only when they start.

    \b
    traincrew scale mnist 4
    """
    asyncio.run(_scale(job, replicas, reach, force))


async def _scale(name: str, replicas: int, where: cli_target.TargetOptions, force: bool) -> None:
    import msgspec

    from traincrew.cli.jobs import query

    async with query.connected(where) as (client, target):
        seen, found = await query.job(client, target.namespace, name)
        if seen.job.status.finished:
            raise errors.SettingsError(f"{seen.reference} is already finished ({seen.state})")
        key = _key(msgspec.json.decode(found.raw), seen)
        if not force and (objection := _beyond(seen, replicas) or _left_behind(seen, replicas)):
            raise errors.SettingsError(f"{seen.reference} {objection} Use --force to scale anyway.")
        change: dict[str, Any] = {"spec": {"replicas": replicas}}
        subresource = "scale"
        if not found.kind.crd.scalable or key != ROLE:  # /scale looks for the role in its canonical spelling
            change, subresource = {"spec": {found.kind.replicas_field: {key: {"replicas": replicas}}}}, ""
        body = msgspec.json.encode(change)
        await client.patch(found.kind.resource, target.namespace, seen.job.name, body, subresource=subresource)
    click.echo(f"{seen.reference} scaled from {seen.job.count(ROLE)} to {replicas} workers{_others(seen)}")


def _key(job: dict[str, Any], seen: View) -> str:
    """The name that the manifest gives to its workers."""
    for key in job["spec"].get(seen.kind.replicas_field) or ():
        if key.lower() == ROLE.lower():
            return str(key)
    raise errors.SettingsError(f"{seen.reference} has no workers to scale")


def _beyond(seen: View, replicas: int) -> str:
    from traincrew.kinds import autoscaling

    policy = getattr(seen.job.spec, "elastic_policy", None)
    if policy is None:
        return ""
    low, high = autoscaling.bounds(seen.job, policy)
    return f"allows {low} to {high} workers by its elastic policy, not {replicas}." if not low <= replicas <= high else ""


def _left_behind(seen: View, replicas: int) -> str:
    """What becomes of the pods that there are."""
    made = [pod for pod in seen.pods if not pod.finished and not pod.terminating]
    if not made or replicas == seen.job.count(ROLE) or not seen.kind.lifecycle.fixed_size(seen.job):
        return ""
    return (
        f"is not elastic: its {len(made)} running pods expect {seen.job.total} replicas and cannot adapt. Run `traincrew suspend "
        f"{seen.reference}`, scale, then `traincrew resume {seen.reference}` to restart it with {replicas} workers"
        f"{_others(seen)}."
    )


def _others(seen: View) -> str:
    rest = [f"{seen.job.count(role)} {role}" for role in seen.job.roles if role != ROLE]
    return f" (plus {', '.join(rest)})" if rest else ""
