"""`traincrew cp`: copy files to and from a replica of a job."""

from __future__ import annotations

import asyncio

import click

from traincrew.cli import cluster_target, completions, replica_options


@click.command()
@click.argument("source", metavar="SOURCE", shell_complete=completions.remote_paths)
@click.argument("destination", metavar="DESTINATION", shell_complete=completions.remote_paths)
@replica_options.replica()
@replica_options.container()
@cluster_target.options
def cp(source: str, destination: str, target_options: cluster_target.TargetOptions, **chosen: str) -> None:
    """Copy a file or directory from a replica to this machine, or from this machine to a replica.

    SOURCE or DESTINATION is JOB:PATH. A relative PATH starts in the working directory of the container. A file is copied into
    DESTINATION if that is a directory. The container needs `tar` and `sh`.

    \b
    traincrew cp mnist:checkpoints ./checkpoints
    traincrew cp mnist:/tmp/trace.json . --replica worker-1
    traincrew cp data.csv mnist:/tmp/
    """
    from traincrew.cli.jobs import file_copy

    asyncio.run(file_copy.copy(file_copy.CopyRequest(source, destination, **chosen), target_options))
