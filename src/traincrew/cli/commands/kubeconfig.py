"""`traincrew kubeconfig`: the file that leads other programs to the cluster of this machine."""

from __future__ import annotations

import click

from traincrew import errors
from traincrew.embedded import data_directory


@click.command()
@click.option("--data", metavar="DIR", default="", help="Where the cluster keeps everything.")
@click.option("--content", is_flag=True, help="Print the file itself. It holds the administrator's token.")
def kubeconfig(data: str, content: bool) -> None:
    """Print the path of the cluster's kubeconfig: `kubectl --kubeconfig "$(traincrew kubeconfig)" get pods`."""
    where = data_directory.DataDirectory(data_directory.data_directory(data))
    if not where.made():
        raise errors.NotRunning(f"there is no cluster in {where.data} yet: start one with `traincrew up --detach`")
    click.echo(where.kubeconfig.read_text() if content else str(where.kubeconfig), nl=not content)
