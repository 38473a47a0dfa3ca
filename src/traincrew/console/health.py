"""Whether the console runs (/healthz) and takes requests (/readyz), for the probes of a kubelet."""

from __future__ import annotations

from aiohttp import web

from traincrew.console import page_files

PATHS = ("/healthz", "/readyz")


class Health:
    def __init__(self, page: page_files.PageFiles) -> None:
        self._page = page
        self.stopping = False
        """New connections shall go to another replica."""

    def add_routes(self, router: web.UrlDispatcher) -> None:
        router.add_route("GET", "/healthz", self._healthz)
        router.add_route("GET", "/readyz", self._readyz)

    async def _healthz(self, request: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def _readyz(self, request: web.Request) -> web.Response:
        reason = "the console stops" if self.stopping else "" if self._page.is_built else page_files.NOT_BUILT
        return web.Response(text=f"{reason or 'ok'}\n", status=503 if reason else 200)
