"""`traincrew node`: join this machine to a Kubernetes cluster as a node."""

from __future__ import annotations

import pathlib
import socket
from typing import Any

import click

from traincrew import errors, settings
from traincrew.app import log_format
from traincrew.cli import cluster_config, node_options
from traincrew.cli.render import terminal
from traincrew.client import kubeconfig
from traincrew.embedded import data_directory


@click.command("node")
@click.option("--kubeconfig", metavar="FILE", help="Kubeconfig of the cluster to join. Default: $KUBECONFIG.")
@click.option("--context", metavar="NAME", help="Kubeconfig context to use.")
@click.option("--name", default=lambda: socket.gethostname().lower(), help="Name of the node. Default: the host name.")
@click.option(
    "--address",
    default=settings.JoinedNode.address,
    show_default=True,
    help="Address at which the API server connects to the node.",
)
@click.option(
    "--data", metavar="DIR", default="", help="Data directory of pods and logs. Default: next to that of `traincrew up`."
)
@click.option("--client-ca-file", metavar="FILE", default="", help="CA of the API server's client certificate.")
@click.option(
    "--api-server-client-cn",
    "callers",
    multiple=True,
    metavar="CN",
    default=settings.JoinedNode.callers,
    show_default=True,
    help="Common name of the API server's client certificate. May be repeated.",
)
@click.option("--stop-pods", is_flag=True, help="Stop the pods when the node stops. Default: the pods keep running.")
@node_options.options
@node_options.log_options
def node(**flags: Any) -> None:
    """Join this machine to a Kubernetes cluster as a node. Pods run as processes, as with `traincrew up`.

    \b
    traincrew node --kubeconfig admin.conf --name gpu-1 --address 10.0.0.7
    """
    log_format.configure(flags["log_format"], flags["log_level"])
    data = pathlib.Path(flags["data"] or f"{data_directory.data_directory()}-node").absolute()
    flags = cluster_config.applied(click.get_current_context(), flags, data)
    options = settings.JoinedNode(
        data=str(data),
        node=node_options.node(flags, flags["name"]),
        address=flags["address"],
        callers=flags["callers"],
        client_ca=_content(flags["client_ca_file"]),
        stop_pods=flags["stop_pods"],
    )
    from traincrew.app import node as app_node  # not above: the command line starts without the kubelet

    target = kubeconfig.discover(flags["kubeconfig"], flags["context"])
    app_node.run(options, target, lambda name: terminal.echo(f"Node {name} is ready."))


def _content(path: str) -> str:
    try:
        return pathlib.Path(path).read_text() if path else ""
    except OSError as error:
        raise errors.SettingsError(f"cannot read --client-ca-file {path}: {error.strerror}") from None
