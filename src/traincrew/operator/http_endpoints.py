"""The HTTP endpoints of the operator: metrics, and health probes."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncIterator, Callable

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from traincrew import errors
from traincrew.operator import log_level
from traincrew.operator.metrics import Metrics
from traincrew.operator.metrics_authentication import MetricsAuthentication
from traincrew.serving import limited_server
from traincrew.serving.serving_certificate import ServingCertificate

_DENIED = {
    401: "Send the token of a service account: `Authorization: Bearer TOKEN`.\n",
    403: "The account may not `get` the non-resource URL /metrics. Bind it to the ClusterRole traincrew-metrics-reader.\n",
    503: "The API server cannot review the token now. Try again later.\n",
}

MAX_CONNECTIONS = 100
"""Of each endpoint. For one more, the oldest is closed: probes and scrapes are short, and the API server needs descriptors."""


def parse(address: str) -> tuple[str, int] | None:
    """`HOST:PORT`, `:PORT` for every address of IPv4 and IPv6 (host: empty), or 0 for none at all."""
    if address in ("", "0"):
        return None
    host, _, port = address.rpartition(":")
    if not port.isdecimal() or int(port) > 65535:
        raise errors.SettingsError(f"{address!r} is not an address. Write HOST:PORT, :PORT, or 0 for none.")
    host = host.strip("[]")
    return "" if host == "::" else host, int(port)


@contextlib.asynccontextmanager
async def serve(address: str, app: web.Application, certificate: ServingCertificate | None = None) -> AsyncIterator[None]:
    """certificate: None for HTTP."""
    listen = parse(address)
    if listen is None:
        yield
        return
    async with contextlib.AsyncExitStack() as stack:
        tls = await stack.enter_async_context(certificate.loaded()) if certificate is not None else None
        served = limited_server.serve(app, *listen, tls, limit=MAX_CONNECTIONS, logger=_connection_logger())
        try:
            await stack.enter_async_context(served)
        except OSError as error:
            message = f"Cannot listen on {address}: {error.strerror or error}. Choose another address, or 0 for none."
            raise errors.SettingsError(message) from error
        yield


class _HandlerErrors(logging.Filter):
    """Drops malformed requests and disconnects: anybody can make them, of any size and number."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        return not isinstance(error, (HttpProcessingError, ConnectionError))


def _connection_logger() -> logging.Logger:
    logger = logging.getLogger(f"{__name__}.connections")
    if not logger.filters:
        logger.addFilter(_HandlerErrors())
    return logger


def metrics_app(metrics: Metrics, authentication: MetricsAuthentication | None = None) -> web.Application:
    """authentication: None if everybody may read the metrics."""

    async def get(request: web.Request) -> web.Response:
        if authentication is not None:
            code = await authentication.status(request.headers.get("Authorization", ""))
            if code != 200:
                headers = {"WWW-Authenticate": "Bearer"} if code == 401 else {}
                return web.Response(status=code, text=_DENIED[code], headers=headers)
        return web.Response(body=metrics.text(), headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})

    app = web.Application()
    app.router.add_get("/metrics", get)
    return app


def health_app(unready_reason: Callable[[], str], notices: Callable[[], list[str]]) -> web.Application:
    """unready_reason: why the operator is not ready; empty if it is. notices: what it does not do although it is ready."""

    async def healthy(request: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def readiness(request: web.Request) -> web.Response:
        reason = unready_reason()
        lines = [reason] if reason else ["ok", *notices()]
        return web.Response(text="".join(f"{line}\n" for line in lines), status=503 if reason else 200)

    app = web.Application()
    app.router.add_get("/healthz", healthy)
    app.router.add_get("/readyz", readiness)
    app.router.add_get("/loglevel", log_level.get)
    app.router.add_put("/loglevel", log_level.put)
    return app
