"""`traincrew kubeconfig`: print the path of the cluster's kubeconfig."""

from __future__ import annotations

import click

from traincrew import errors
from traincrew.cli.render import terminal
from traincrew.embedded import data_directory


@click.command()
@click.option("--data", metavar="DIR", default="", help="Data directory of the cluster.")
@click.option("--content", is_flag=True, help="Print the content of the file. It contains the administrator's token.")
def kubeconfig(data: str, content: bool) -> None:
    """Print the path of the cluster's kubeconfig: `kubectl --kubeconfig "$(traincrew kubeconfig)" get pods`."""
    directory = data_directory.DataDirectory(data_directory.data_directory(data))
    if not directory.exists():
        raise errors.NotRunning(f"no cluster exists in {directory.data}. Run `traincrew up --detach` to start one.")
    terminal.echo_unchanged(directory.kubeconfig.read_text() if content else str(directory.kubeconfig), nl=not content)
