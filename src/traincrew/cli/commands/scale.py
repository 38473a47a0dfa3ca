"""`traincrew scale`: change the number of workers of a job."""

from __future__ import annotations

import asyncio
import re

import click

from traincrew import errors
from traincrew.cli import cluster_target, completions, output_options
from traincrew.cli.whole_number import WholeNumber


class _Scale(click.Command):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        # click would take a negative number for an option.
        if negative := next((word for word in args if re.fullmatch(r"-\d+", word)), ""):
            raise errors.SettingsError(f"{negative}: the number of workers must be 0 or more")
        return super().parse_args(ctx, args)


@click.command(cls=_Scale)
@click.argument("job", metavar="JOB", shell_complete=completions.jobs)
@click.argument("replicas", type=WholeNumber(0), metavar="N")
@click.option(
    "--force", is_flag=True, help="Scale beyond the limits of the elastic policy, and scale running jobs that are not elastic."
)
@output_options.option()
@cluster_target.options
def scale(job: str, replicas: int, force: bool, form: str, target_options: cluster_target.TargetOptions) -> None:
    """Change the number of workers of a job to N. N does not include the master, chief or launcher.

    An elastic job continues with the new number of workers, within the limits of its policy. Suspend any other job first: its
    pods learn the number of replicas only when they start.

    \b
    traincrew scale mnist 4
    """
    from traincrew.cli.jobs import scaling

    asyncio.run(scaling.scale(job, replicas, target_options, force=force, form=form))
