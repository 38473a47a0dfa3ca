"""The log level of a running operator. Only clients that connect from 127.0.0.1 or ::1 may change it.

To a pod these are `kubectl port-forward` and `kubectl exec`, which need rights of their own. Sidecars of service meshes
connect from other loopback addresses.
"""

from __future__ import annotations

import logging

from aiohttp import web

LOCAL = ("127.0.0.1", "::ffff:127.0.0.1", "::1")
LEVELS = ("debug", "info", "warning", "error")

log = logging.getLogger(__name__)


async def get(request: web.Request) -> web.Response:
    return web.Response(text=f"{logging.getLevelName(logging.getLogger().level).lower()}\n")


async def put(request: web.Request) -> web.Response:
    if request.remote not in LOCAL:
        return web.Response(
            status=403, text="The log level can be changed only through `kubectl port-forward` or from the pod.\n"
        )
    level = (await request.text()).strip().lower()
    if level not in LEVELS:
        return web.Response(status=400, text=f"Unknown log level {level!r}. Choose from {', '.join(LEVELS)}.\n")
    logging.getLogger().setLevel(level.upper())
    log.log(logging.getLogger().level, "log level changed", extra={"log_level": level})
    return await get(request)
