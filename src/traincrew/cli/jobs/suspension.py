"""What `suspend` and `resume` share."""

from __future__ import annotations

import click

from traincrew.cli import target as cli_target


async def suspend(names: tuple[str, ...], where: cli_target.TargetOptions, on: bool) -> None:
    import msgspec

    from traincrew import errors
    from traincrew.cli.jobs import names as jobs_names
    from traincrew.cli.jobs import query
    from traincrew.cli.render import view

    async with query.connected(where) as (client, target):
        for name in names:
            found = await jobs_names.find(client, target.namespace, name)
            seen = view.view(found.kind, found.raw)
            if seen.job.status.finished:
                raise errors.SettingsError(f"{seen.reference} is already finished ({seen.state})")
            if seen.job.suspended is on:
                click.echo(f"{seen.reference} is {'already suspended' if on else 'not suspended'}")
                continue
            body = msgspec.json.encode({"spec": {"runPolicy": {"suspend": on}}})
            await client.patch(found.kind.resource, target.namespace, seen.job.name, body)
            click.echo(f"{seen.reference} {'suspended' if on else 'resumed'}")
