"""Runs the web console for the cluster that the options select."""

from __future__ import annotations

import asyncio
import os
import pathlib
import socket
import webbrowser

import traincrew.cli.aiohttp_import  # noqa: F401 - before other modules import aiohttp
from traincrew import errors
from traincrew.app import log_format
from traincrew.cli import cluster_target
from traincrew.cli.local_cluster import console_listener, console_records
from traincrew.cli.render import terminal
from traincrew.client.remote import RemoteClient
from traincrew.console import page_files, run, sessions
from traincrew.console.run import Listen
from traincrew.console.settings import ConsoleTarget


def serve(target_options: cluster_target.TargetOptions, address: tuple[str, int | None], *, open_browser: bool) -> None:
    """address: the host and the port; None: that of a console which runs already, else the default."""
    host, port = address
    listen = Listen(host, console_listener.DEFAULT_PORT if port is None else port)
    listen.check()
    page_files.require_built()
    target = cluster_target.resolve(target_options)
    data, kubeconfig = target_options.data_directory.data, _kubeconfig(target, target_options)
    if link := console_records.running_link(data, kubeconfig, target_options.context or "", port):
        _print_link(f"The console of {target.connection.server} is running.", link, open_browser=open_browser)
        return
    log_format.configure("text", "warning")
    listening = listen.socket()
    record = console_records.ConsoleRecord(
        pid=os.getpid(),
        host=host,
        port=listening.getsockname()[1],
        kubeconfig=kubeconfig,
        context=target_options.context or "",
        secret=console_records.new_secret(),
    )
    asyncio.run(_serve(target, record, listening, data, open_browser))


def _kubeconfig(target: cluster_target.ClusterTarget, target_options: cluster_target.TargetOptions) -> str:
    """The file with the credentials. A console of other credentials has other rights."""
    if target_options.names_cluster():
        return target_options.kubeconfig or os.environ.get("KUBECONFIG") or os.path.expanduser("~/.kube/config")
    return os.fspath(target.local.kubeconfig) if target.local is not None else os.path.expanduser("~/.kube/config")


async def _serve(
    target: cluster_target.ClusterTarget,
    record: console_records.ConsoleRecord,
    listening: socket.socket,
    data: pathlib.Path,
    open_browser: bool,
) -> None:
    await _require_server(target)
    shown = ConsoleTarget(
        server=target.connection.server,
        namespace=target.namespace,
        context=record.context,
        embedded=target.local is not None,
        log_root=os.fspath(target.log_root) if target.log_root is not None else "",
    )
    known = sessions.Sessions(record.secret)

    def on_ready() -> None:
        console_records.write(data, record)
        ready = f"The console of {target.connection.server} is ready."
        _print_link(ready, record.link(known.new_token()), open_browser=open_browser)
        terminal.echo("Press Ctrl-C to stop the console. Jobs go on.")

    try:
        await run.run(target.connection, shown, listening, known, on_ready)
    finally:
        console_records.remove(data, record)


def _print_link(state: str, link: str, *, open_browser: bool) -> None:
    terminal.echo(f"{state} Open this link; it is valid once:\n\n  {link}\n")
    if open_browser and not webbrowser.open(link):
        terminal.echo("No browser was found on this machine. Open the link yourself.", err=True)


async def _require_server(target: cluster_target.ClusterTarget) -> None:
    """Raise Unreachable, with a hint, if the API server does not respond at the start."""
    try:
        async with RemoteClient(target.connection, component="cli", limits=run.LIMITS) as client:
            await client.fetch("/version")
    except errors.Unreachable as error:
        raise errors.Unreachable(error.message + cluster_target.start_hint(target), reason=error.reason) from None
