"""`traincrew up`: start the cluster on this machine."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

import click
from click.core import ParameterSource

from traincrew import errors, settings
from traincrew.cli import cluster_config, node_options, output_options, sharing_options
from traincrew.cli.local_cluster import background, foreground
from traincrew.cli.render import serialization, terminal
from traincrew.embedded import data_directory


@click.command()
@click.option("--detach", "-d", is_flag=True, help="Run the cluster in the background and return when it is ready.")
@click.option(
    "--data",
    metavar="DIR",
    default="",
    help="Data directory of the cluster. Default: $TRAINCREW_DATA or ~/.local/state/traincrew.",
)
@click.option(
    "--listen",
    metavar="HOST:PORT",
    default=f"{settings.Cluster.listen}:{settings.Cluster.port}",
    show_default=True,
    help="Address of the API server. Port 0 reuses the last port or selects a free one.",
)
@click.option(
    "--namespace", "namespaces", multiple=True, metavar="NAME", help="Create this namespace at the start. May be repeated."
)
@click.option("--no-operator", is_flag=True, help="Do not run the operator.")
@click.option("--no-controllers", is_flag=True, help="Do not run the controllers and the scheduler.")
@click.option("--no-console", is_flag=True, help="Do not serve the web console, and do not record the history of jobs.")
@click.option("--no-node", is_flag=True, help="Do not run pods: start without kubelet and scheduler.")
@node_options.options
@click.option(
    "--overcommit",
    type=click.Choice(node_options.OVERCOMMIT),
    multiple=True,
    default=settings.Cluster.overcommit,
    show_default=True,
    help="Allow pods to request more of this resource than the machine has. May be repeated.",
)
@sharing_options.options
@click.option("--audit-log", metavar="FILE", default="", help="Write an audit log in the format of kube-apiserver.")
@node_options.log_options
@output_options.option()
def up(detach: bool, data: str, form: str, **flags: Any) -> None:
    """Start the cluster on this machine: Kubernetes API server, scheduler, kubelet and operator in one process.

    \b
    traincrew up --detach
    eval "$(traincrew env)"
    kubectl create -f job.yaml
    """
    if form != "text" and not detach and not background.in_background():
        raise errors.SettingsError("--output requires --detach")
    directory = data_directory.DataDirectory(data_directory.data_directory(data))
    flags = cluster_config.applied(click.get_current_context(), flags, directory.data)
    foreground.validate(flags)  # also if a cluster is running, on which the flags have no effect
    if _is_running(directory, form):
        return
    with _file_errors(directory):
        directory.data.mkdir(parents=True, exist_ok=True, mode=0o700)
        if detach:
            announced = background.start(directory, [each for each in sys.argv[1:] if each not in ("--detach", "-d")])
            _print(directory, announced, form)
        else:
            foreground.serve(directory, flags)


def _print(directory: data_directory.DataDirectory, announced: dict[str, object], form: str) -> None:
    if form in ("json", "yaml"):
        paths = {"data": str(directory.data), "kubeconfig": str(directory.kubeconfig)}
        serialization.show({"running": True, **announced, **paths}, form)
    elif form == "name":
        terminal.echo(f"node/{announced['node']}\n" if announced.get("node") else "", nl=False)
    else:
        terminal.echo("\n".join(background.ready_message(directory, announced)))


@contextlib.contextmanager
def _file_errors(directory: data_directory.DataDirectory) -> Iterator[None]:
    """Turn errors of the file system into errors of the user who chose the directory."""
    try:
        yield
    except OSError as error:
        message = f"{error.filename or directory.data}: {error.strerror or error}"
        raise errors.StoreError(f"{message}. Fix the problem or choose another directory with --data DIR.") from None


def _is_running(directory: data_directory.DataDirectory, form: str) -> bool:
    pid = directory.owner_pid()
    if not pid:
        return False
    announced = directory.running()
    address = f" at {announced['server']}" if announced else ""
    process = f"(process {pid})" if pid > 0 else "(starting)"
    sentences = [f"The cluster in {directory.data} is already running{address} {process}. Nothing was changed."]
    if given := _start_options():
        sentences.append(
            f"Options not applied: {', '.join(given)}. Run `traincrew down` first, then `traincrew up` with these options."
        )
    terminal.echo("\n".join(sentences), err=form != "text")
    if form != "text" and announced is not None:
        _print(directory, announced, form)
    return True


def _start_options() -> list[str]:
    """Options of the command line that apply only when a cluster starts."""
    context = click.get_current_context()
    return [
        parameter.opts[0]
        for parameter in context.command.params
        if parameter.name not in ("detach", "data", "form")
        and context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE
    ]
