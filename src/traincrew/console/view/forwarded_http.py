"""Requests to a server in a pod, and its responses as a sandboxed frame may get them. Pure.

What a pod serves may be hostile. It never has the origin of the console: the sandbox gives it an origin of its own that no other
document has, cookies pass in neither direction, and the API of the console refuses requests of such an origin.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

MAX_HEAD = 64 * 1024
_SENT = ("accept", "accept-language", "content-type", "if-modified-since", "if-none-match", "range")
_KEPT = ("content-disposition", "content-length", "content-range", "content-type", "etag", "last-modified", "location")
SANDBOX = "sandbox allow-scripts; frame-ancestors 'self'"
HEADERS = {
    "Content-Security-Policy": SANDBOX,
    "X-Frame-Options": "SAMEORIGIN",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    # The document in the sandbox has an origin of its own: what it loads from its own server is cross-origin.
    "Cross-Origin-Resource-Policy": "cross-origin",
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "GET, HEAD, POST",
    "Access-Control-Allow-Headers": "*",
}
_PRELUDE = b"""<script>
for (const name of ["localStorage", "sessionStorage"]) {
  try { window[name]; } catch {
    const kept = new Map();
    Object.defineProperty(window, name, { value: {
      getItem: (key) => kept.get(String(key)) ?? null, setItem: (key, value) => { kept.set(String(key), String(value)); },
      removeItem: (key) => { kept.delete(String(key)); }, clear: () => kept.clear(), key: (at) => [...kept.keys()][at] ?? null,
      get length() { return kept.size; } } });
  }
}
try { document.cookie; } catch { Object.defineProperty(document, "cookie", { value: "", writable: true }); }
const NativeWorker = window.Worker;
window.Worker = class extends NativeWorker {
  constructor(url, options) {
    const address = new URL(url, document.baseURI).href;
    const load = options?.type === "module" ? `import ${JSON.stringify(address)};` : `importScripts(${JSON.stringify(address)});`;
    const own = () => URL.createObjectURL(new Blob([load], { type: "text/javascript" }));
    super(/^(blob|data):/.test(address) ? address : own(), options);
  }
};
</script>"""
"""A sandboxed document may not use storage: reading the property alone throws. Its workers must come from blobs. Pages that do
not know of the sandbox, such as TensorBoard, work with this."""
_HEAD_TAG = re.compile(rb"<head(\s[^>]*)?>", re.IGNORECASE)
_DOCTYPE = re.compile(rb"^\s*<!doctype[^>]*>", re.IGNORECASE)


class ResponseHead(NamedTuple):
    status: int
    headers: dict[str, str]
    """Those that are passed on."""

    @property
    def is_html(self) -> bool:
        return self.headers.get("content-type", "").partition(";")[0].strip().lower() == "text/html"


def request_head(method: str, target: str, headers: Mapping[str, str], length: int) -> bytes:
    """HTTP/1.0: the response is not chunked, and its end is that of the connection. No cookie and no credential is sent."""
    kept = [(name, value) for name, value in headers.items() if name.lower() in _SENT]
    lines = [f"{method} {target} HTTP/1.0", "Host: localhost", "Connection: close", f"Content-Length: {length}"]
    return "\r\n".join([*lines, *(f"{name}: {value}" for name, value in kept), "", ""]).encode("latin-1", "replace")


def response_head(raw: bytes) -> ResponseHead:
    """Raise ValueError if it is no HTTP."""
    first, *rest = raw.decode("latin-1").split("\r\n")
    parts = first.split(" ", 2)
    if not parts[0].startswith("HTTP/1.") or len(parts) < 2 or not parts[1].isdecimal() or not 200 <= int(parts[1]) <= 599:
        raise ValueError("the server in the pod does not answer with HTTP")
    return ResponseHead(int(parts[1]), dict(_kept(rest)))


def _kept(lines: Iterable[str]) -> Iterable[tuple[str, str]]:
    for line in lines:
        name, _, value = line.partition(":")
        name, value = name.strip().lower(), value.strip()
        inside = name != "location" or not re.match(r"[a-z][a-z0-9+.-]*:|/", value, re.IGNORECASE)
        if name in _KEPT and inside and value.isprintable():
            yield name, value


def with_prelude(start: bytes) -> bytes:
    """The first bytes of an HTML document, with a storage of its own and workers that load."""
    place = _HEAD_TAG.search(start) or _DOCTYPE.search(start)
    at = place.end() if place else 0
    return start[:at] + _PRELUDE + start[at:]


def longer(headers: Mapping[str, str], added: int) -> dict[str, str]:
    length = headers.get("content-length", "")
    return {**headers, "content-length": str(int(length) + added)} if length.isdecimal() else dict(headers)
