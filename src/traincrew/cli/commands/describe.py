"""`traincrew describe`: show the details of a job."""

from __future__ import annotations

import asyncio

import click

from traincrew.cli import cluster_target, completions, hang_options, output_options, recording_options
from traincrew.cli.hang_options import HangOptions
from traincrew.cli.render import terminal


@click.command()
@click.argument("job", metavar="[JOB]", default="", shell_complete=completions.jobs)
@recording_options.recording
@output_options.option()
@hang_options.options
@cluster_target.options_with_history
def describe(
    job: str, form: str, recording: str, hang_options: HangOptions, target_options: cluster_target.HistoryTargetOptions
) -> None:
    """Show the details of a job: replicas, pods, conditions, failures and events. Without JOB: of the job that was created last.

    \b
    traincrew describe mnist
    traincrew describe tfjob/mnist -n research
    traincrew describe --recording mnist.recording.jsonl.gz
    """
    from traincrew.cli.jobs import inspection

    options = inspection.InspectionOptions(form, hang_options, recording=recording)
    terminal.echo_unchanged(asyncio.run(inspection.describe(job, target_options, options)), nl=False)
