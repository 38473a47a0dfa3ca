"""`traincrew status`: show the state of the cluster on this machine."""

from __future__ import annotations

import asyncio
from typing import Any

import click

from traincrew.cli import output_options
from traincrew.cli.render import serialization, terminal
from traincrew.embedded import data_directory


@click.command()
@click.option("--data", metavar="DIR", default="", help="Data directory of the cluster.")
@output_options.option()
def status(data: str, form: str) -> None:
    """Show the state of the cluster on this machine: node, free resources, jobs and pods.

    The exit code is 1 if the cluster is not running. Run `traincrew doctor` to check this machine.

    \b
    traincrew status
    traincrew status -o json
    """
    directory = data_directory.DataDirectory(data_directory.data_directory(data))
    announced = directory.running()
    if announced is None:
        _print_stopped(directory, form)
        raise SystemExit(1)
    from traincrew.cli.local_cluster import status_query
    from traincrew.cli.render import cluster_status

    state: dict[str, Any] = {"running": True, **announced, "data": str(directory.data), "kubeconfig": str(directory.kubeconfig)}
    state |= asyncio.run(status_query.read(directory, str(announced.get("node", ""))))
    if form == "name":
        terminal.echo(f"node/{state['node']['name']}\n" if state["node"] is not None else "", nl=False)
    elif form != "text":
        serialization.show(state, form)
    else:
        terminal.echo(cluster_status.text(state))


def _print_stopped(directory: data_directory.DataDirectory, form: str) -> None:
    pid = directory.owner_pid()
    if form in ("json", "yaml"):
        serialization.show({"running": False, "data": str(directory.data)}, form)
    elif pid:
        terminal.echo(f"The cluster in {directory.data} is starting or stopping (process {pid}).")
    else:
        terminal.echo(f"No cluster is running in {directory.data}. Run `traincrew up --detach` to start one.")
