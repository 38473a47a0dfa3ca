"""`traincrew console`: serve the web console of a cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from traincrew import errors
from traincrew.cli import cluster_target, console_server, history_options
from traincrew.cli.whole_number import WholeNumber

F = TypeVar("F", bound=Callable[..., Any])

LINK_FLAGS = (
    "file",
    "open_browser",
    "port",
    "address",
    "authentication_mode",
    "namespace",
    "kubeconfig",
    "context",
    "data",
    "history",
    "prometheus",
)
"""Names of the flags that a console with links has."""


def listen_options(command: F) -> F:
    """--port and --address."""
    return _port(_address(command))


_port = click.option(
    "--port",
    type=WholeNumber(0, 65535),
    metavar="N",
    help="Port of the console. 0: any free port. Default: the port of a console that is already running, else 8470.",
)
_address = click.option(
    "--address",
    metavar="HOST",
    default="127.0.0.1",
    show_default=True,
    help="Address at which the console listens; :: for all addresses, of IPv4 and IPv6. With links it must be one of this "
    "machine: 127.0.0.1, ::1 or localhost.",
)


file_argument = click.argument("file", metavar="[FILE]", default="", type=click.Path())


def show_recording(file: str, address: tuple[str, int | None], *, open_browser: bool) -> None:
    from traincrew.cli.local_cluster import recording_console

    recording_console.serve(file, address, open_browser=open_browser)


@click.command()
@file_argument
@click.option("--open", "open_browser", is_flag=True, help="Open the link in the browser, as `traincrew open` does.")
@listen_options
@console_server.options
@cluster_target.options
def console(
    file: str, open_browser: bool, port: int | None, address: str, target_options: cluster_target.TargetOptions, **flags: Any
) -> None:
    """Serve the web console of a cluster, or of a recording, and print its link. Ctrl-C stops it.

    If a console with the same kubeconfig is already running, such as that of `traincrew up`, the command prints a new link to it.
    The console acts with the credentials of the kubeconfig. A link can be used once: the first browser to open it is signed in.

    FILE is a recording that `traincrew export` has written. It is shown without a cluster.

    With --authentication-mode token or proxy the console is for many users, such as in a cluster: each signs in, and the console
    acts with the rights of that user alone. In a pod it uses the API server of the cluster. The flags for certificates,
    the public URL, the name and addresses of the API server, proxies, sessions, shutdown and the log require one of these modes.

    \b
    traincrew console --open
    traincrew console mnist.recording.jsonl.gz
    traincrew console --port 0 --kubeconfig ~/.kube/config --context research
    traincrew console --authentication-mode token --address :: --public-url https://console.example.com
    """
    if flags["authentication_mode"] == "link":
        from traincrew.cli.local_cluster import web_console

        _refuse_flags(click.get_current_context())
        if file:
            show_recording(file, (address, port), open_browser=open_browser)
            return
        location = history_options.checked(flags["history"])
        sources = web_console.Sources(location, flags["prometheus"])
        web_console.serve(target_options, (address, port), open_browser=open_browser, sources=sources)
    else:
        if file:
            raise errors.SettingsError("a recording is shown with a link: it is for --authentication-mode link")
        if open_browser:
            raise errors.SettingsError("--open needs a link: it is for --authentication-mode link")
        console_server.serve(target_options, (address, port), flags)


def _refuse_flags(context: click.Context) -> None:
    """Flags of a console with several users would have no effect."""
    for name in context.params:
        if name not in LINK_FLAGS and context.get_parameter_source(name) == ParameterSource.COMMANDLINE:
            raise errors.SettingsError(f"--{name.replace('_', '-')} needs --authentication-mode token or proxy")
