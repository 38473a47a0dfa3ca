"""The built page: index.html for every address of the page, and its assets, also compressed."""

from __future__ import annotations

import pathlib
import re
import secrets

from aiohttp import web

from traincrew import errors
from traincrew.console import security_headers

DIRECTORY = pathlib.Path(__file__).parent / "page"
NONCE = "__CSP_NONCE__"
"""The build writes it where the nonce of a response belongs."""
IMMUTABLE = "public, max-age=31536000, immutable"
_HASHED = re.compile(r".*[-.][A-Za-z0-9_-]{8,}\.[a-z0-9]+$")
_TYPES = {
    ".css": "text/css",
    ".html": "text/html",
    ".ico": "image/x-icon",
    ".js": "text/javascript",
    ".json": "application/json",
    ".map": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}
_ENCODINGS = (("br", ".br"), ("gzip", ".gz"))


def is_built(directory: pathlib.Path = DIRECTORY) -> bool:
    return (directory / "index.html").is_file()


NOT_BUILT = "the page of the console is not built. Run `make console` in the clone of traincrew, or install a released wheel."


def require_built() -> None:
    """Raise SettingsError if the page is not built."""
    if not is_built():
        raise errors.SettingsError(NOT_BUILT)


class PageFiles:
    """The page may be built while the console runs."""

    def __init__(self, directory: pathlib.Path = DIRECTORY) -> None:
        self._directory, self._root = directory, directory.resolve()

    @property
    def is_built(self) -> bool:
        return is_built(self._directory)

    async def serve(self, request: web.Request) -> web.StreamResponse:
        if not self.is_built:
            return web.Response(status=503, text=f"{NOT_BUILT[0].upper()}{NOT_BUILT[1:]}\nThen load this page again.\n")
        path = request.path.lstrip("/")
        if (file := self._file(path)) is not None:
            return self._asset(request, file)
        if path.startswith("assets/"):
            raise web.HTTPNotFound(text="no such file")
        return self._page(request)

    def _file(self, path: str) -> pathlib.Path | None:
        """A file inside the directory, of a known type."""
        found = (self._root / path).resolve()
        inside = found.is_relative_to(self._root) and found.is_file()
        return found if inside and found.suffix in _TYPES and found.name != "index.html" else None

    def _page(self, request: web.Request) -> web.Response:
        nonce = secrets.token_urlsafe(16)
        return web.Response(
            text=(self._directory / "index.html").read_text(encoding="utf-8").replace(NONCE, nonce),
            content_type="text/html",
            headers={
                "Content-Security-Policy": security_headers.page_policy(nonce, request.host),
                "Cache-Control": "no-store",
            },
        )

    def _asset(self, request: web.Request, file: pathlib.Path) -> web.FileResponse:
        headers = {
            "Content-Type": _TYPES[file.suffix],
            "Cache-Control": IMMUTABLE if _HASHED.match(file.name) else "no-cache",
            "Content-Security-Policy": security_headers.DATA_POLICY,
            "Vary": "Accept-Encoding",
        }
        accepted = {part.split(";")[0].strip() for part in request.headers.get("Accept-Encoding", "").split(",")}
        for encoding, suffix in _ENCODINGS:
            compressed = file.with_name(file.name + suffix)
            if encoding in accepted and compressed.is_file():
                return web.FileResponse(compressed, headers={**headers, "Content-Encoding": encoding})
        return web.FileResponse(file, headers=headers)
