"""Requests of less than 100 kB that are costly before an object is read: headers, credentials, discovery, OpenAPI."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator

from tests.embedded.resilience.request_generator import RawRequest
from tests.hostile.costly_definitions import TEXT, definition
from tests.hostile.costly_requests import CRDS, JSON, NAMESPACE

HEADERS = 110
"""As many as aiohttp accepts, without those that every request has."""
AGGREGATED = "application/json;v=v2;g=apidiscovery.k8s.io;as=APIGroupDiscoveryList"
GNOSTIC = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
DEFINITIONS, GROUPS = 120, 300


def get(target: str, **headers: str) -> RawRequest:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return RawRequest("GET", target, {"Content-Type": JSON, "Accept": JSON, **named}, b"")


def headers() -> Iterator[RawRequest]:
    for value in ("x" * 90_000, "é" * 40_000, "," * 90_000, ";q=" * 30_000, "\t" * 90_000, '"' * 90_000):
        for name in ("X", "Accept", "Accept-Encoding", "Content-Type", "Cookie", "User-Agent", "If-None-Match", "Range"):
            yield get(f"{NAMESPACE}/pods", **{name: f"a{value}b"})
    for name in ("Host", "Origin", "Sec-Fetch-Site", "Connection", "Upgrade", "Expect", "Transfer-Encoding"):
        for value in ("[" * 90_000, "::1" * 30_000, "a." * 45_000, "http://localhost" * 5_000):
            yield get(f"{NAMESPACE}/pods", **{name: value})
    yield get(f"{NAMESPACE}/pods", **{f"X-{index}": "y" * 800 for index in range(HEADERS)})
    yield get(f"{NAMESPACE}/pods", **{f"X-{index}": "y" for index in range(9_000)})
    yield get(f"{NAMESPACE}/pods", **{"x" * 90_000: "y"})


def targets() -> Iterator[RawRequest]:
    for text in ("/", "a/", "%2F", "%2f..", "../", "%25", "é", "%C3%A9", "%", "?", "&", ";", "=", "a=b&", "//"):
        path = text * (90_000 // len(text.encode()))
        for start in ("/", "/api/v1/", "/apis/", "/openapi/v3/", f"{NAMESPACE}/pods/", "/readyz/", "/healthz?", "/version?"):
            yield get(f"{start}{path}")
    yield get("/readyz?verbose&" + "exclude=storage&" * 5_500)
    yield get("/readyz?verbose&" + "&".join(f"exclude=x{index}" for index in range(6_000)))


def tokens() -> Iterator[RawRequest]:
    claims = [b"[" * 60_000, b'{"iss":' * 9_000, json.dumps({"iss": "x" * 60_000}).encode(), b'{"iss":"\xff"}', b"9" * 60_000]
    parts = [base64.urlsafe_b64encode(each).decode().rstrip("=") for each in claims]
    texts = [*(f"e30.{part}.x" for part in parts), "A" * 90_000, "." * 90_000, "e30.." + "A" * 90_000, "é" * 40_000, " " * 90_000]
    for text in texts:
        for kind in ("Bearer", "bearer", "Basic", "Bearer  "):
            yield get("/api", Authorization=f"{kind} {text}")
        hidden = base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")[:80_000]
        yield get("/api", Authorization="", Sec_WebSocket_Protocol=f"base64url.bearer.authorization.k8s.io.{hidden}")
    yield get("/api", Authorization="", Sec_WebSocket_Protocol="base64url.bearer.authorization.k8s.io," * 2_000)


def certificates() -> Iterator[RawRequest]:
    """With a client certificate of many groups."""
    for path in ("/api", f"{NAMESPACE}/pods", "/apis", "/version"):
        yield get(path)


def impersonation() -> Iterator[RawRequest]:
    user = {"Impersonate-User": "someone"}
    for text in ("x" * 700, "system:serviceaccount:" * 30, "%" * 700, "%41" * 230, "é" * 300):
        yield get(f"{NAMESPACE}/pods", **user, **{f"Impersonate-Extra-{index}%2F{text[:30]}": text for index in range(HEADERS)})
        yield get(f"{NAMESPACE}/pods", **{"Impersonate-User": text * 100})
        yield get(f"{NAMESPACE}/pods", **user, **{"Impersonate-Group": text * 100})
        yield get(f"{NAMESPACE}/pods", **user, **{"Impersonate-Uid": text * 100})
        yield get(f"{NAMESPACE}/pods", **{"Impersonate-Group": text * 100})
    yield get("/apis", **user, **{_in_letters("impersonate-group", index): f"g{index}" for index in range(HEADERS)})


def _in_letters(name: str, number: int) -> str:
    """The same header in another spelling, for each number below 2^15."""
    return "".join(letter.upper() if number >> index & 1 else letter for index, letter in enumerate(name))


def definitions() -> Iterator[RawRequest]:
    """Not measured by themselves: they make the documents of discovery and OpenAPI large."""
    for index in range(DEFINITIONS):
        properties = {f"p{number}": {**TEXT, "description": "d" * 10} for number in range(1_600)}
        yield definition(f"many{index}", {"type": "object", "properties": properties})
    for index in range(GROUPS):
        yield definition("small", TEXT, group=f"g{index}.example.com")


def documents() -> Iterator[RawRequest]:
    """Each after a change of the definitions, so that no document is kept."""
    for accept in (JSON, GNOSTIC, AGGREGATED, "*/*", ",".join(f"*/*;q=0.{index}" for index in range(1_000, 8_000))):
        for path in ("/openapi/v2", "/openapi/v3", "/openapi/v3/apis/hostile.example.com/v1", "/apis", "/api", "/api/v1"):
            yield definition("changing", TEXT)
            yield get(path, Accept=accept, Accept_Encoding="gzip")
            yield RawRequest("DELETE", f"{CRDS}/changing.hostile.example.com", {"Content-Type": JSON, "Accept": JSON}, b"")
    for path in ("/openapi/v3/apis/hostile.example.com/v1?hash=x", "/openapi/v3/api/v1", "/apis/hostile.example.com/v1"):
        yield get(path)
