"""`traincrew run`: a job from its submission to its outcome."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import click
from click.core import ParameterSource

from traincrew import errors
from traincrew.cli import target


@click.command()
@click.argument("arguments", nargs=-1, metavar="FILE... | -- COMMAND...")
@click.option("--kind", metavar="KIND", default="", help="Make a job of this kind, such as PyTorchJob, that runs COMMAND.")
@click.option("--workers", type=click.IntRange(1, 20_000), default=1, metavar="N", show_default=True, help="How many train.")
@click.option("--elastic", metavar="MIN:MAX", default="", help="Workers may come and go between these numbers.")
@click.option("--image", metavar="NAME", default="", help="On this machine: default, the environment `up` was started from.")
@click.option("--cpu", metavar="N", default="", help="For each worker, such as 2 or 500m.")
@click.option("--memory", metavar="SIZE", default="", help="For each worker, such as 4Gi.")
@click.option("--gpus", type=click.IntRange(0), default=0, metavar="N", help="For each worker.")
@click.option("-e", "--env", multiple=True, metavar="NAME=VALUE", help="A variable; may be repeated. NAME alone: yours.")
@click.option("--retries", type=click.IntRange(0), metavar="N", help="Failures to go on after; default: 0, elastic: 3.")
@click.option("--name", metavar="NAME", default="", help="Of the job; default: made of the script's name.")
@click.option("--no-mount", is_flag=True, help="Do not mount the current directory.")
@click.option("--dry-run", is_flag=True, help="Check and print, but submit nothing.")
@click.option("-o", "form", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True, help="With --dry-run.")
@click.option("-d", "--detach", is_flag=True, help="Submit, and do not stay.")
@click.option("--rm/--keep", "remove", default=False, help="Delete the job when it has ended, or keep it.  [default: keep]")
@click.option("--replace", is_flag=True, help="In the place of objects that exist already.")
@target.options
def run(arguments: tuple[str, ...], kind: str, reach: target.TargetOptions, **chosen: Any) -> None:
    """Run jobs and stay with them: logs of all replicas, what they wait for, their outcome as exit code.

    Jobs come from FILEs (- is standard input), with whatever else is in these, or are made of a COMMAND. A command runs in the
    current directory, which is mounted in every replica at its own path, so that what it writes there remains. Unless a
    kubeconfig is given, the cluster of this machine is used, and started if it does not run.

    Exit code: 0 if every job succeeded, else that of the container that failed first; 1 if there is none; 2 for
    faults in the input; 130 after Ctrl-C.

    \b
    traincrew run job.yaml
    traincrew run --kind PyTorchJob --workers 3 -- python train.py --epochs 5
    traincrew run --kind PyTorchJob --workers 2 --elastic 1:4 -- python train.py
    traincrew run --kind MPIJob --workers 2 --dry-run -- python train.py
    """
    from traincrew.cli.jobs import run as jobs_run

    if not arguments:
        raise errors.SettingsError("say what to run: FILE..., or --kind KIND -- COMMAND; `traincrew run --help` has examples")
    if click.get_current_context().get_parameter_source("form") is ParameterSource.COMMANDLINE and not chosen["dry_run"]:
        raise errors.SettingsError(
            "-o prints the job without running it: add --dry-run; `traincrew ls -o json` shows jobs that run"
        )
    options = jobs_run.Options(**{name: chosen.pop(name) for name in jobs_run.OPTIONS})
    if kind:
        wanted = jobs_run.of_command(kind, arguments, reach, chosen)
    else:
        wanted = jobs_run.of_files(arguments, chosen)
    sys.exit(asyncio.run(jobs_run.run(wanted, reach, options)))
