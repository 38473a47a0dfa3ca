"""`traincrew open`: open the web console of a cluster in the browser."""

from __future__ import annotations

import click

from traincrew.cli import cluster_target
from traincrew.cli.commands import console


@click.command()
@console.file_argument
@console.listen_options
@cluster_target.options
def open(file: str, port: int | None, address: str, target_options: cluster_target.TargetOptions) -> None:
    """Open the web console of a cluster, or a recording, in the browser.

    The same as `traincrew console --open`. If no console is running, this command serves one until
    Ctrl-C. Jobs keep running.

    FILE is a recording that `traincrew export` has written. It is shown without a cluster.

    \b
    traincrew open
    traincrew open mnist.recording.jsonl.gz
    traincrew open --kubeconfig ~/.kube/config --context research
    """
    if file:
        console.show_recording(file, (address, port), open_browser=True)
        return
    from traincrew.cli.local_cluster import web_console

    web_console.serve(target_options, (address, port), open_browser=True)
