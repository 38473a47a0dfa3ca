"""Runs the web console for a recording file: it needs no cluster."""

from __future__ import annotations

import asyncio
import socket

import traincrew.cli.aiohttp_import  # noqa: F401 - before other modules import aiohttp
from traincrew.app import log_format
from traincrew.cli.local_cluster import console_records, web_console
from traincrew.cli.render import terminal
from traincrew.console import links, page_files, recorded_jobs, run
from traincrew.history import opened_recording, recording_lines


def serve(path: str, address: tuple[str, int | None], *, open_browser: bool) -> None:
    """address: the host and the port; None: any free one. Raise RecordingError."""
    host, port = address
    listen = run.Listen(host, port or 0)
    listen.check()
    page_files.require_built()
    log_format.configure("text", "warning")
    listening = listen.socket()
    asyncio.run(_serve(path, listening, host, open_browser))


async def _serve(path: str, listening: socket.socket, host: str, open_browser: bool) -> None:
    file = await opened_recording.open_file(path, recording_lines.LOCAL)
    try:
        await recorded_jobs.of_file(file)
    except BaseException:
        await file.close()
        raise
    record = console_records.ConsoleRecord(
        pid=0, host=host, port=listening.getsockname()[1], kubeconfig="", secret=console_records.new_secret()
    )
    known = links.Links(record.secret)

    def on_ready(page: str) -> None:
        link = f"{record.address}{page}#token={known.new_token()}"
        web_console.print_link(f"The recording of {file.job.kind}/{file.job.name} is ready.", link, open_browser=open_browser)
        terminal.echo("Press Ctrl-C to stop.")

    await run.show(file, listening, known, on_ready)
