"""The operator's two small HTTP servers: metrics, and health for probes."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable

from aiohttp import web

from traincrew import errors
from traincrew.operator.metrics import Metrics


def parse(address: str) -> tuple[str, int] | None:
    """`HOST:PORT`, `:PORT` for every interface, or 0 for none at all."""
    if address in ("", "0"):
        return None
    host, _, port = address.rpartition(":")
    if not port.isdecimal() or int(port) > 65535:
        raise errors.SettingsError(f"{address!r} is not an address: write HOST:PORT, :PORT, or 0 for none")
    return host.strip("[]") or "0.0.0.0", int(port)  # noqa: S104


@contextlib.asynccontextmanager
async def served(address: str, app: web.Application) -> AsyncIterator[None]:
    where = parse(address)
    if where is None:
        yield
        return
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, *where).start()
        except OSError as error:
            message = f"cannot listen on {address}: {error.strerror or error}; choose another address, or 0 for none"
            raise errors.SettingsError(message) from error
        yield
    finally:
        await runner.cleanup()


def metrics_app(metrics: Metrics) -> web.Application:
    async def show(request: web.Request) -> web.Response:
        return web.Response(body=metrics.text(), headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})

    app = web.Application()
    app.router.add_get("/metrics", show)
    return app


def health_app(ready: Callable[[], str]) -> web.Application:
    """`ready` says what is still missing; an empty answer means nothing."""

    async def healthy(request: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def readiness(request: web.Request) -> web.Response:
        missing = ready()
        return web.Response(text=f"{missing or 'ok'}\n", status=503 if missing else 200)

    app = web.Application()
    app.router.add_get("/healthz", healthy)
    app.router.add_get("/readyz", readiness)
    return app
