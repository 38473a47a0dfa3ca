"""`traincrew scale`: change the number of workers of a job, or who chooses it."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import click

from traincrew import errors, settings
from traincrew.cli import cluster_target, completions, output_options
from traincrew.cli.whole_number import WholeNumber


class _Scale(click.Command):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        # click would take a negative number for an option.
        if negative := next((word for word in args if re.fullmatch(r"-\d+", word)), ""):
            raise errors.SettingsError(f"{negative}: the number of workers must be 0 or more")
        return super().parse_args(ctx, args)


class _NumberOrMode(WholeNumber):
    name = "whole number or mode"

    def __init__(self) -> None:
        super().__init__(0)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from traincrew.apimachinery import suggestions

        if value in settings.SCALING_MODES:
            return value
        if isinstance(value, str) and not value.isdecimal():
            modes, meant = ", ".join(settings.SCALING_MODES), suggestions.did_you_mean(value, settings.SCALING_MODES)
            self.fail(f"{value!r} is neither a number of workers nor one of {modes}{meant}.", param, ctx)
        return super().convert(value, param, ctx)


@click.command(cls=_Scale)
@click.argument("job", metavar="JOB", shell_complete=completions.jobs)
@click.argument("number_or_mode", type=_NumberOrMode(), metavar="N|MODE")
@click.option(
    "--force", is_flag=True, help="Scale beyond the limits of the elastic policy, and scale running jobs that are not elastic."
)
@output_options.option()
@cluster_target.options
def scale(job: str, number_or_mode: int | str, force: bool, form: str, target_options: cluster_target.TargetOptions) -> None:
    """Change the number of workers of a job to N. N does not include the master, chief or launcher.

    An elastic job continues with the new number of workers, within the limits of its policy. Suspend any other job first: its
    pods learn the number of replicas only when they start.

    MODE lets the operator choose the number of workers of an elastic job, within its bounds: `idle` uses idle capacity and gives
    it back, `yield` gives way to pending pods, `manual` returns to the number of the spec.

    \b
    traincrew scale mnist 4
    traincrew scale mnist idle
    """
    from traincrew.cli.jobs import scaling

    if isinstance(number_or_mode, str):
        asyncio.run(scaling.set_mode(job, number_or_mode, target_options, force=force, form=form))
    else:
        asyncio.run(scaling.scale(job, number_or_mode, target_options, force=force, form=form))
