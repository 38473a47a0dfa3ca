"""A control plane with its HTTPS server in the process of the test, and a client of the administrator."""

from __future__ import annotations

import contextlib
import pathlib
import ssl
from collections.abc import AsyncIterator
from typing import NamedTuple

import aiohttp

from traincrew import settings
from traincrew.app import cluster
from traincrew.embedded import control_plane, daemon


class RunningApi(NamedTuple):
    http: aiohttp.ClientSession
    """Does not decompress."""
    control_plane: control_plane.ControlPlane
    url: str


@contextlib.asynccontextmanager
async def running_api(data: pathlib.Path, controllers: bool = True) -> AsyncIterator[RunningApi]:
    bootstrap = cluster.bootstrap_objects(settings.Cluster())
    options = control_plane.Options(data, "127.0.0.1", 0, bootstrap, data / "log", "0", controllers=controllers)
    async with daemon.run(options) as running:
        connector = aiohttp.TCPConnector(ssl=ssl.create_default_context(cadata=running.control_plane.pki.authority.decode()))
        headers = {"Authorization": f"Bearer {running.control_plane.admin_token}"}
        async with aiohttp.ClientSession(running.url, connector=connector, headers=headers, auto_decompress=False) as http:
            yield RunningApi(http, running.control_plane, running.url)
