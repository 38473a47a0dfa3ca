"""Runs the web console for the cluster that the options select."""

from __future__ import annotations

import asyncio
import os
import pathlib
import socket
import webbrowser
from typing import NamedTuple

import traincrew.cli.aiohttp_import  # noqa: F401 - before other modules import aiohttp
from traincrew import errors
from traincrew.app import log_format
from traincrew.cli import cluster_target
from traincrew.cli.local_cluster import console_listener, console_machine, console_records
from traincrew.cli.render import terminal
from traincrew.client.remote import RemoteClient
from traincrew.console import console_services, links, page_files, prometheus, run
from traincrew.console.run import Listen
from traincrew.console.settings import ConsoleTarget
from traincrew.history.database_thread import DatabaseThread


class Sources(NamedTuple):
    """What the console reads beside the API server."""

    history: str = ""
    """Its location. Empty: that of the cluster of this machine."""
    prometheus: str = ""


def serve(
    target_options: cluster_target.TargetOptions,
    address: tuple[str, int | None],
    *,
    open_browser: bool,
    sources: Sources = Sources(),  # noqa: B008 - it is immutable
) -> None:
    """address: the host and the port; None: that of a console which runs already, else the default."""
    host, port = address
    listen = Listen(host, console_listener.DEFAULT_PORT if port is None else port)
    listen.check()
    page_files.require_built()
    target = cluster_target.resolve(target_options)
    data, kubeconfig = target_options.data_directory.data, cluster_target.kubeconfig_path(target_options, target)
    if link := console_records.running_link(data, kubeconfig, target_options.context or "", port):
        print_link(f"The console of {target.connection.server} is running.", link, open_browser=open_browser)
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
    sources = Sources(sources.history or _history(target), prometheus.checked(sources.prometheus))
    asyncio.run(_serve(target, record, listening, data, open_browser, sources))


async def _serve(
    target: cluster_target.ClusterTarget,
    record: console_records.ConsoleRecord,
    listening: socket.socket,
    data: pathlib.Path,
    open_browser: bool,
    sources: Sources,
) -> None:
    await _require_server(target)
    shown = ConsoleTarget(
        server=target.connection.server,
        namespace=target.namespace,
        context=record.context,
        embedded=target.local is not None,
        log_root=os.fspath(target.log_root) if target.log_root is not None else "",
        machine=console_machine.of(target.local.data) if target.local is not None else None,
        history=DatabaseThread(sources.history, writable=False) if sources.history else None,
        prometheus=sources.prometheus,
    )
    known = links.Links(record.secret)

    def on_ready() -> None:
        console_records.write(data, record)
        ready = f"The console of {target.connection.server} is ready."
        print_link(ready, record.link(known.new_token()), open_browser=open_browser)
        terminal.echo("Press Ctrl-C to stop the console. Jobs keep running.")

    try:
        await run.run(target.connection, shown, listening, known, on_ready)
    finally:
        console_records.remove(data, record)


def _history(target: cluster_target.ClusterTarget) -> str:
    """Empty: the cluster of this machine does not record one, or the cluster runs elsewhere."""
    path = target.local.history if target.local is not None else None
    return os.fspath(path) if path is not None and path.exists() else ""


def print_link(state: str, link: str, *, open_browser: bool) -> None:
    terminal.echo(f"{state} Open this link. It can be used once:\n\n  {link}\n")
    if open_browser and not webbrowser.open(link):
        terminal.echo("No browser was found on this machine. Open the link yourself.", err=True)


async def _require_server(target: cluster_target.ClusterTarget) -> None:
    """Raise Unreachable, with a hint, if the API server does not respond at the start."""
    try:
        async with RemoteClient(target.connection, component="cli", limits=console_services.LIMITS) as client:
            await client.fetch("/version")
    except errors.Unreachable as error:
        raise errors.Unreachable(error.message + cluster_target.start_hint(target), reason=error.reason) from None
