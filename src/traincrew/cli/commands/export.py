"""`traincrew export`: write a recording of a job to a file."""

from __future__ import annotations

import asyncio

import click

from traincrew.cli import cluster_target, completions


@click.command()
@click.argument("job", metavar="[JOB]", default="", shell_complete=completions.jobs)
@click.option("-o", "--output", metavar="FILE", default="",
              help="File to write. -: standard output. Default: NAMESPACE-JOB.recording.jsonl.gz.")  # fmt: skip
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
@cluster_target.options_with_history
def export(job: str, output: str, force: bool, target_options: cluster_target.HistoryTargetOptions) -> None:
    """Write a recording of a job to a file: its spec, statuses, pods, events, samples and logs. Without JOB: of the job that was
    created last.

    The file can be opened on any machine, without the cluster: `traincrew open FILE`. Deleted jobs are exported from the history.
    Values of environment variables whose names say that they are secret are not exported.

    \b
    traincrew export mnist
    traincrew export tfjob/mnist -n research -o mnist.recording.jsonl.gz
    traincrew export mnist -o - | ssh HOST 'cat > mnist.recording.jsonl.gz'
    """
    from traincrew.cli.jobs import export as export_job

    asyncio.run(export_job.export(job, target_options, output, force=force))
