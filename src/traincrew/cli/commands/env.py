"""`traincrew env`: print the command that sets KUBECONFIG in a shell."""

from __future__ import annotations

import shlex

import click

from traincrew import errors
from traincrew.cli.render import terminal
from traincrew.embedded import data_directory


@click.command()
@click.option("--data", metavar="DIR", default="", help="Data directory of the cluster.")
@click.option("--shell", type=click.Choice(["sh", "fish"]), default="sh", show_default=True, help="Shell syntax to print.")
def env(data: str, shell: str) -> None:
    """Print the command that sets KUBECONFIG in a shell: eval "$(traincrew env)"."""
    directory = data_directory.DataDirectory(data_directory.data_directory(data))
    if not directory.exists():
        raise errors.NotRunning(f"no cluster exists in {directory.data}. Run `traincrew up --detach` to start one.")
    path = shlex.quote(str(directory.kubeconfig))
    terminal.echo_unchanged(f"set -x KUBECONFIG {path}" if shell == "fish" else f"export KUBECONFIG={path}")
