"""The `traincrew` command: one file a verb."""

from __future__ import annotations

import importlib
import os
import sys

import click

from traincrew import __version__, errors

VERBS = {
    "run": "run a job here, with its logs, to its end",
    "ls": "list the jobs",
    "logs": "the logs of a job's replicas, also of those that are gone",
    "why": "what a job waits for or has failed of, and what to do",
    "describe": "everything about a job",
    "scale": "change the number of a job's workers",
    "suspend": "end a job's pods and keep the job",
    "resume": "start a suspended job again",
    "delete": "delete jobs with everything that belongs to them",
    "exec": "run a command in a replica",
    "up": "start the cluster of this machine",
    "down": "stop it; what it holds is kept",
    "status": "tell whether it runs, what is free, and what is in it",
    "doctor": "look whether this machine is fit for it",
    "kubeconfig": "the file that leads other programs to it",
    "env": "the line that points kubectl at it",
    "image": "say which environment an image's name stands for",
    "node": "make this machine a node of a Kubernetes cluster",
    "operator": "run the operator on a Kubernetes cluster",
    "validate": "check manifests before they are submitted",
    "manifests": "print what a cluster needs: CRDs and rights",
}


class _Verbs(click.Group):
    """Imports a verb only when it is used: `traincrew validate` need not wait for an HTTP library."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in VERBS:
            return None
        module = importlib.import_module(f"traincrew.cli.commands.{name}")
        command: click.Command = getattr(module, name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))


@click.command(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="traincrew")
def traincrew() -> None:
    """Distributed training jobs of the kubeflow.org API: TFJob, PyTorchJob, MPIJob, XGBoostJob, PaddleJob, JAXJob."""


def main() -> None:
    try:
        traincrew()
    except SystemExit as end:
        _leave(end)
    except errors.UserError as error:
        click.echo(f"traincrew: {error}", err=True)
        sys.exit(2)
    except errors.TraincrewError as error:
        click.echo(f"traincrew: {error}", err=True)
        sys.exit(1)


def _leave(end: SystemExit) -> None:
    """At once: to take down, piece by piece, what was imported takes a twentieth of a second, and nobody is served by it."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        raise end from None
    if end.code is not None and not isinstance(end.code, int):
        raise end
    os._exit(end.code or 0)


if __name__ == "__main__":
    main()
