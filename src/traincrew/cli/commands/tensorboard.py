"""`traincrew tensorboard`: show the TensorBoard of a job."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import click

from traincrew.cli import cluster_target, completions, output_options
from traincrew.cli.whole_number import WholeNumber


@click.command()
@click.argument("job", metavar="JOB", shell_complete=completions.jobs)
@click.option(
    "--logdir",
    metavar="DIR",
    default="",
    help="Log directory in the replicas, or a URL. Default: from the command of the job, else its working directory or volume.",
)
@click.option(
    "--image",
    metavar="NAME",
    default="",
    shell_complete=completions.images,
    help="Image that has TensorBoard. Default: the image of the job.",
)
@click.option(
    "--port", type=WholeNumber(0, 65535), default=6006, show_default=True, metavar="N", help="Local port. 0: any free port."
)
@output_options.option()
@cluster_target.options
def tensorboard(job: str, target_options: cluster_target.TargetOptions, **chosen: Any) -> None:
    """Run TensorBoard in a pod beside the job and show its address. Ctrl-C stops it.

    The pod has the volumes of the job, read-only, and is deleted with the command or with the job. It also works after the job
    has ended.

    \b
    traincrew tensorboard mnist
    traincrew tensorboard mnist --logdir runs --port 0
    """
    from traincrew.cli.jobs import tensorboard

    request = tensorboard.TensorBoardRequest(**chosen)
    sys.exit(asyncio.run(tensorboard.show(job, target_options, request)))
