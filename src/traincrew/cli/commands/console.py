"""`traincrew console`: serve the web console of a cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from traincrew.cli import cluster_target
from traincrew.cli.whole_number import WholeNumber

F = TypeVar("F", bound=Callable[..., Any])


def listen_options(command: F) -> F:
    """--port and --address."""
    return _port(_address(command))


_port = click.option(
    "--port",
    type=WholeNumber(0, 65535),
    metavar="N",
    help="Port of the console. 0: any free port. Default: that of a console that runs already, else 8470.",
)
_address = click.option(
    "--address",
    metavar="HOST",
    default="127.0.0.1",
    show_default=True,
    help="Address at which the console listens. It must be one of this machine: 127.0.0.1, ::1 or localhost.",
)


@click.command()
@click.option("--open", "open_browser", is_flag=True, help="Open the link in the browser, as `traincrew open` does.")
@listen_options
@cluster_target.options
def console(open_browser: bool, port: int | None, address: str, target_options: cluster_target.TargetOptions) -> None:
    """Serve the web console of a cluster and print its link. Ctrl-C stops it.

    If a console with the same kubeconfig runs already, such as that of `traincrew up`, only another link of it is printed. The
    console acts with the credentials of the kubeconfig. The link is valid once: whoever opens it first is signed in.

    \b
    traincrew console --open
    traincrew console --port 0 --kubeconfig ~/.kube/config --context research
    """
    from traincrew.cli.local_cluster import web_console

    web_console.serve(target_options, (address, port), open_browser=open_browser)
