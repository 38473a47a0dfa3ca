"""The `traincrew` command."""

from __future__ import annotations

import importlib
import os
import signal
import sys
from typing import TYPE_CHECKING, Any

import click

from traincrew import __version__, errors
from traincrew.cli.render import terminal

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

VERBS = {
    "run": "Run a job and show its logs until it ends.",
    "ls": "List jobs.",
    "top": "Show the CPU, memory and devices that jobs use.",
    "logs": "Print the logs of a job, including those of deleted pods.",
    "why": "Show why a job is waiting or why it failed.",
    "stacks": "Show the Python stacks of the replicas of a job.",
    "describe": "Show the details of a job.",
    "scale": "Change the number of workers of a job.",
    "suspend": "Stop the pods of a job and keep the job.",
    "resume": "Resume a suspended job.",
    "delete": "Delete jobs and the objects they own.",
    "exec": "Run a command in a replica of a job.",
    "cp": "Copy files to and from a replica of a job.",
    "port-forward": "Forward ports of this machine to a replica of a job.",
    "export": "Write a recording of a job to a file, which any console opens.",
    "tensorboard": "Show the TensorBoard of a job.",
    "open": "Open the web console in the browser.",
    "console": "Serve the web console and print its link.",
    "up": "Start the cluster on this machine.",
    "down": "Stop the cluster. Its data is kept.",
    "status": "Show the state of the cluster: node, resources, jobs and pods.",
    "doctor": "Check whether this machine, or a Kubernetes cluster, can run jobs.",
    "kubeconfig": "Print the path of the cluster's kubeconfig.",
    "env": "Print the shell command that points kubectl at the cluster.",
    "image": "Map image names to environments on this machine.",
    "node": "Join this machine to a Kubernetes cluster as a node.",
    "operator": "Run the operator on a Kubernetes cluster.",
    "recorder": "Record the history of the jobs of a Kubernetes cluster.",
    "migrate": "Take over the jobs of a Go operator on a cluster, or give them back.",
    "validate": "Validate manifests without a cluster.",
    "completion": "Print the completion script of a shell.",
    "manifests": "Print the CRDs and RBAC rules that a Kubernetes cluster needs.",
}


_SYNONYMS = {
    "list": "ls", "get": "ls", "ps": "ls", "jobs": "ls", "log": "logs", "rm": "delete", "kill": "delete", "stop": "down",
    "start": "up", "submit": "run", "create": "run", "apply": "run", "train": "run", "events": "describe", "show": "describe",
    "images": "image", "shell": "exec", "ssh": "exec", "pause": "suspend", "config": "kubeconfig", "check": "doctor",
    "explain": "why", "version": "--version", "help": "--help",
}  # fmt: skip
"""Verbs of other tools, and those of ours."""


class _Verbs(click.Group):
    """Imports a verb only when it is used: `traincrew validate` does not need the HTTP library."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in VERBS and not name.startswith("-"):
            from traincrew.apimachinery import suggestions

            meant = _SYNONYMS.get(name) or suggestions.nearest(name, VERBS)
            remedy = f"Did you mean `traincrew {meant}`?" if meant else "Run `traincrew --help` to list the commands."
            raise errors.SettingsError(f"unknown command {name!r}. {remedy}")
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in VERBS:
            return None
        identifier = name.replace("-", "_")
        module = importlib.import_module(f"traincrew.cli.commands.{identifier}")
        command: click.Command = getattr(module, identifier)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Without the import of every verb."""
        from click.shell_completion import CompletionItem

        verbs = [CompletionItem(name, help=text) for name, text in VERBS.items() if name.startswith(incomplete)]
        return [*verbs, *click.Command.shell_complete(self, ctx, incomplete)]

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            sys.exit(128 + signal.SIGINT)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))


def _colour() -> bool | None:
    """False: no colours. None: colours on terminals."""
    return False if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" else None


@click.command(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"], "color": _colour()})
@click.version_option(__version__, prog_name="traincrew")
def traincrew() -> None:
    """Run distributed training jobs of the kubeflow.org API on this machine or on a Kubernetes cluster."""


def main() -> None:
    try:
        _run()
    except SystemExit as end:
        _exit(end)


def _run() -> None:
    """Ends with SystemExit."""
    try:
        sys.exit(traincrew(standalone_mode=False, prog_name="traincrew"))
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(2)
    except click.ClickException as error:
        _report_usage(error)
        sys.exit(2)
    except click.Abort:
        sys.exit(128 + signal.SIGINT)
    except (errors.NotRunning, errors.UnsuitableState) as error:
        terminal.echo(f"error: {error}", err=True)
        sys.exit(1)
    except errors.UserError as error:
        terminal.echo(f"error: {error}", err=True)
        sys.exit(2)
    except errors.TraincrewError as error:
        terminal.echo(f"error: {error}", err=True)
        sys.exit(1)


def _report_usage(error: click.ClickException) -> None:
    """In the words of the other errors, without the usage, which `--help` prints."""
    message = error.format_message().rstrip(".")
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "traincrew"
    end = "" if message.endswith("?") else "."
    terminal.echo(f"error: {message[:1].lower()}{message[1:]}{end} Run `{path} --help` for the arguments.", err=True)


def _exit(end: SystemExit) -> None:
    """Exit without the cleanup of the interpreter, which takes 50 ms."""
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
