"""`traincrew open`: open the web console of a cluster in the browser."""

from __future__ import annotations

import click

from traincrew.cli import cluster_target
from traincrew.cli.commands import console


@click.command()
@console.listen_options
@cluster_target.options
def open(port: int | None, address: str, target_options: cluster_target.TargetOptions) -> None:
    """Open the web console of a cluster in the browser.

    The same as `traincrew console --open`. If no console runs yet, it is served until Ctrl-C; jobs go on.

    \b
    traincrew open
    traincrew open --kubeconfig ~/.kube/config --context research
    """
    from traincrew.cli.local_cluster import web_console

    web_console.serve(target_options, (address, port), open_browser=True)
