"""`traincrew run`: run jobs and show their logs until they end."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import click

from traincrew import errors
from traincrew.cli import cluster_target, completions, hang_options
from traincrew.cli.hang_options import HangOptions
from traincrew.cli.render import terminal
from traincrew.cli.whole_number import WholeNumber


@click.command()
@click.argument("arguments", nargs=-1, metavar="FILE... | -- COMMAND...")
@click.option(
    "--kind",
    metavar="KIND",
    default="",
    shell_complete=completions.kinds,
    help="Create a job of this kind, such as PyTorchJob, that runs COMMAND. Default for a Python script: the kind of "
    "the framework that it imports.",
)
@click.option(
    "--workers",
    type=WholeNumber(1, 20_000),
    metavar="N",
    help="Number of training replicas, the Master included. Default: 1, or the minimum of --elastic.",
)
@click.option("--elastic", metavar="MIN:MAX", default="", help="Create an elastic job with MIN to MAX workers.")
@click.option(
    "--idle",
    is_flag=True,
    help="Let the operator add workers to an elastic job on idle capacity, and remove them for pending pods.",
)
@click.option(
    "--image",
    metavar="NAME",
    default="",
    shell_complete=completions.images,
    help="Container image. On this machine, it selects an environment.",
)
@click.option(
    "--env-dir",
    metavar="DIR",
    default="",
    shell_complete=completions.environments,
    help="Python environment of the job on this machine. Default: that of the Python that the command names.",
)
@click.option(
    "--requirements",
    metavar="FILE",
    default="",
    help="Run the job in an environment with the packages of FILE. It is built once and cached.",
)
@click.option("--cpu", metavar="N", default="", help="CPU of each worker, such as 2 or 500m.")
@click.option("--memory", metavar="SIZE", default="", help="Memory of each worker, such as 4Gi.")
@click.option("--gpus", type=WholeNumber(0), default=0, metavar="N", help="Number of GPUs of each worker.")
@click.option(
    "-e",
    "--env",
    multiple=True,
    metavar="NAME=VALUE",
    help="Environment variable. May be repeated. NAME alone takes the value from the current environment.",
)
@click.option(
    "--retries", type=WholeNumber(0), metavar="N", help="Number of restarts after failures. Default: 0, or 3 for elastic jobs."
)
@click.option("--name", metavar="NAME", default="", help="Name of the job. Default: generated from the name of the script.")
@click.option("--no-mount", is_flag=True, help="Do not mount the current directory.")
@click.option("--dry-run", is_flag=True, help="Validate and print the objects without submitting them.")
@click.option(
    "-o",
    "form",
    type=click.Choice(["yaml", "json", "name"]),
    help="Output format of --dry-run (default: yaml), or print the created jobs of --detach.",
)
@click.option("-d", "--detach", is_flag=True, help="Submit the job and return.")
@click.option("--rm/--keep", "remove", default=False, help="Delete or keep the job when it ends.  [default: keep]")
@click.option(
    "--timeout",
    metavar="DURATION",
    default="",
    help="Delete the job if it has not finished after this time, such as 90s, 30m or 12h.",
)
@click.option("--wait-forever", is_flag=True, help="Keep waiting for a job that can never run on this cluster.")
@click.option("--replace", is_flag=True, help="Replace objects that already exist.")
@hang_options.options
@cluster_target.options
def run(
    arguments: tuple[str, ...], kind: str, hang_options: HangOptions, target_options: cluster_target.TargetOptions, **flags: Any
) -> None:
    """Run jobs and show their logs and state until they end.

    Submit all objects of the given FILEs (- is standard input), or a job of the given --kind that runs COMMAND. A Python script
    with options of its job, such as --workers or --name, needs no --kind if the framework that it imports decides; with
    --elastic it is otherwise a PyTorchJob. The command runs in the current directory, which is mounted in every replica at the
    same path, so its files are kept. Unless a kubeconfig is given, the job runs on the cluster of this machine, which is
    started if necessary.

    The exit code is 0 if all jobs succeeded, or with --detach; else that of the container whose failure ended the job. It is 1 if
    none is known, if the job can never run here or if the cluster cannot be reached, 2 for invalid input, 124 after --timeout,
    130 after Ctrl-C and 143 after SIGTERM.

    \b
    traincrew run job.yaml
    traincrew run --kind PyTorchJob --workers 3 -- python train.py --epochs 5
    traincrew run --kind PyTorchJob --workers 2 --elastic 1:4 -- python train.py
    traincrew run --elastic 1:4 --idle --gpus 1 -- python train.py
    traincrew run --kind MPIJob --workers 2 --dry-run -- python train.py
    """
    from traincrew.cli.jobs import run_input, run_job, run_options

    if not arguments and kind:
        raise errors.SettingsError(f"specify the command after --, such as: traincrew run --kind {kind} -- python train.py")
    if not arguments:
        raise errors.SettingsError("specify FILE... or --kind KIND -- COMMAND. Run `traincrew run --help` for examples.")
    flags["form"] = flags["form"] or ""
    chosen = {name: flags.pop(name) for name in run_options.OPTION_NAMES}
    options = run_options.RunOptions(**chosen, hang=hang_options, environment=run_input.environment_choice(flags))
    if chosen_kind := kind or run_input.guess_kind(arguments, flags):
        parsed = run_input.from_command(chosen_kind, arguments, target_options, flags)
    else:
        parsed = run_input.from_files(arguments, flags)
    try:
        sys.exit(asyncio.run(run_job.run(parsed, target_options, options)))
    except KeyboardInterrupt:
        terminal.echo("Interrupted. Nothing was created.", err=True)
        sys.exit(130)
