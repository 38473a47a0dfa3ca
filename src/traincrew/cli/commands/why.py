"""`traincrew why`: show why a job is waiting or why it failed."""

from __future__ import annotations

import asyncio

import click

from traincrew.cli import cluster_target, completions, hang_options, output_options, recording_options
from traincrew.cli.hang_options import HangOptions
from traincrew.cli.render import terminal


@click.command()
@click.argument("job", metavar="[JOB]", default="", shell_complete=completions.jobs)
@click.option(
    "--stacks",
    is_flag=True,
    help="Read the Python stacks of a job that seems to hang. Default on the cluster of this machine, if py-spy is installed.",
)
@recording_options.recording
@output_options.option()
@hang_options.options
@cluster_target.options_with_history
def why(
    job: str,
    form: str,
    stacks: bool,
    recording: str,
    hang_options: HangOptions,
    target_options: cluster_target.HistoryTargetOptions,
) -> None:
    """Show why a job is waiting or why it failed, and what to do. Without JOB: of the job that was created last.

    \b
    traincrew why
    traincrew why mnist
    traincrew why tfjob/mnist -n research
    traincrew why --recording mnist.recording.jsonl.gz
    """
    from traincrew.cli.jobs import inspection

    options = inspection.InspectionOptions(form, hang_options, stacks, recording)
    terminal.echo_unchanged(asyncio.run(inspection.explain(job, target_options, options)), nl=False)
