"""Runs the web console for the cluster that the options select."""

from __future__ import annotations

import asyncio
import webbrowser

import traincrew.cli.aiohttp_import  # noqa: F401 - before other modules import aiohttp
from traincrew import errors
from traincrew.app import log_format
from traincrew.cli import cluster_target
from traincrew.cli.render import terminal
from traincrew.client.remote import RemoteClient
from traincrew.console import page_files, run
from traincrew.console.run import Listen
from traincrew.console.settings import ConsoleTarget


def serve(target_options: cluster_target.TargetOptions, address: tuple[str, int], *, open_browser: bool) -> None:
    listen = Listen(*address)
    listen.check()
    page_files.PageFiles()  # report first that it is not built
    target = cluster_target.resolve(target_options)
    log_format.configure("text", "warning")
    asyncio.run(_serve(target, target_options, listen, open_browser))


async def _serve(
    target: cluster_target.ClusterTarget, target_options: cluster_target.TargetOptions, listen: Listen, open_browser: bool
) -> None:
    await _require_server(target)
    shown = ConsoleTarget(
        server=target.connection.server,
        namespace=target.namespace,
        context=target_options.context,
        embedded=target.local is not None,
    )

    def on_ready(link: str) -> None:
        terminal.echo(f"The console of {target.connection.server} is ready. Open this link; it is valid once:\n\n  {link}\n")
        terminal.echo("Press Ctrl-C to stop the console. Jobs go on.")
        if open_browser and not webbrowser.open(link):
            terminal.echo("No browser was found on this machine. Open the link yourself.", err=True)

    await run.run(target.connection, shown, listen, on_ready)


async def _require_server(target: cluster_target.ClusterTarget) -> None:
    """Raise Unreachable, with a hint, if the API server does not respond at the start."""
    try:
        async with RemoteClient(target.connection, component="cli", limits=run.LIMITS) as client:
            await client.fetch("/version")
    except errors.Unreachable as error:
        raise errors.Unreachable(error.message + cluster_target.start_hint(target), reason=error.reason) from None
