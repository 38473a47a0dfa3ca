"""`traincrew node`: this machine as a node of some cluster."""

from __future__ import annotations

import pathlib
import socket
from typing import Any

import click

from traincrew import errors, settings
from traincrew.app import log_format, operator
from traincrew.cli import cluster_config
from traincrew.cli.commands import node_flags
from traincrew.embedded import data_directory


@click.command("node")
@click.option("--kubeconfig", metavar="FILE", help="The cluster to join [default: $KUBECONFIG].")
@click.option("--context", metavar="NAME", help="The kubeconfig context to use.")
@click.option("--name", default=lambda: socket.gethostname().lower(), help="The node's name [default: this machine's].")
@click.option("--address", default="127.0.0.1", show_default=True, help="Where the API server reaches the node.")
@click.option("--data", metavar="DIR", default="", help="Where it keeps pods and logs [default: beside that of `traincrew up`].")
@click.option("--client-ca-file", metavar="FILE", default="", help="Authority of the API server's own certificate as a client.")
@click.option(
    "--api-server-name",
    "callers",
    multiple=True,
    metavar="CN",
    default=("kube-apiserver-kubelet-client",),
    show_default=True,
    help="Common name of that certificate; may be repeated.",
)
@click.option("--drain", is_flag=True, help="End the pods when the agent is stopped; without, they run on.")
@node_flags.options
@click.option("--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--log-level", type=click.Choice(["debug", "info", "warning", "error"]), default="info", show_default=True)
def node(**flags: Any) -> None:
    """Make this machine a node of a Kubernetes cluster: its pods are processes here, as with `traincrew up`.

    \b
    traincrew node --kubeconfig admin.conf --name gpu-1 --address 10.0.0.7
    """
    log_format.configure(flags["log_format"], flags["log_level"])
    data = pathlib.Path(flags["data"] or f"{data_directory.data_directory()}-node").absolute()
    flags = cluster_config.applied(click.get_current_context(), flags, data)
    options = settings.Joined(
        data=str(data),
        node=node_flags.node(flags, flags["name"]),
        address=flags["address"],
        callers=flags["callers"],
        client_ca=_content(flags["client_ca_file"]),
        drain=flags["drain"],
    )
    target = operator.connect(flags["kubeconfig"], flags["context"])
    operator.run_node(options, target, lambda name: click.echo(f"node {name} is ready"))


def _content(path: str) -> str:
    try:
        return pathlib.Path(path).read_text() if path else ""
    except OSError as error:
        raise errors.SettingsError(f"--client-ca-file {path}: {error.strerror}") from None
