"""`traincrew env`: what a shell needs to reach the cluster of this machine."""

from __future__ import annotations

import shlex

import click

from traincrew import errors
from traincrew.embedded import data_directory


@click.command()
@click.option("--data", metavar="DIR", default="", help="Where the cluster keeps everything.")
@click.option("--shell", type=click.Choice(["sh", "fish"]), default="sh", show_default=True)
def env(data: str, shell: str) -> None:
    """Print the line that points kubectl at the cluster: eval "$(traincrew env)"."""
    where = data_directory.DataDirectory(data_directory.data_directory(data))
    if not where.made():
        raise errors.NotRunning(f"there is no cluster in {where.data} yet: start one with `traincrew up --detach`")
    path = shlex.quote(str(where.kubeconfig))
    click.echo(f"set -x KUBECONFIG {path}" if shell == "fish" else f"export KUBECONFIG={path}")
