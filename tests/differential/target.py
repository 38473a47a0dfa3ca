"""One of the two API servers: its address and credentials. Plain HTTP, so that bodies and headers are compared unchanged."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import http.client
import json
import os
import pathlib
import ssl
import tempfile
import urllib.parse
from typing import Any

import yaml

TIMEOUT = 20.0  # seconds for one response
HEADERS = ("content-type", "warning", "retry-after", "location", "allow", "www-authenticate")
"""The headers that clients act upon."""


@dataclasses.dataclass(frozen=True)
class Request:
    method: str
    path: str
    """With its query, as sent."""
    body: bytes | None = None
    headers: tuple[tuple[str, str], ...] = ()
    anonymous: bool = False
    """Not sent by the administrator: the headers authenticate the client, or nothing does."""

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


@dataclasses.dataclass(frozen=True)
class Response:
    status: int
    headers: dict[str, list[str]]
    body: Any
    """Decoded, if it is JSON or YAML; else text."""
    indented: bool = False
    newline: bool = False
    """Whether the body ends with a newline."""

    def at(self, path: str, default: Any = "missing") -> Any:
        """A value of the body, such as `metadata.uid`. A missing value is only reported where it is compared."""
        value = self.body
        for key in path.split("."):
            if isinstance(value, list) and key.isdigit() and int(key) < len(value):
                value = value[int(key)]
            elif isinstance(value, dict) and key in value:
                value = value[key]
            else:
                return default
        return value

    @property
    def object(self) -> dict[str, Any]:
        """A copy to change and send back."""
        copied = json.loads(json.dumps(self.body)) if isinstance(self.body, dict) else {}
        copied.setdefault("metadata", {})
        return dict(copied)


@dataclasses.dataclass(frozen=True)
class Target:
    name: str
    host: str
    port: int
    context: ssl.SSLContext
    anonymous: ssl.SSLContext
    """Trusts the server, but has no client certificate."""
    token: str = ""

    @classmethod
    def from_kubeconfig(cls, name: str, path: str | os.PathLike[str]) -> Target:
        config = yaml.safe_load(pathlib.Path(path).read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        url = urllib.parse.urlsplit(cluster["server"])
        return cls(
            name, url.hostname or "", url.port or 443, _context(cluster, user), _context(cluster, {}), user.get("token", "")
        )

    def connect(self, anonymous: bool = False, timeout: float = TIMEOUT) -> http.client.HTTPSConnection:
        context = self.anonymous if anonymous else self.context
        return http.client.HTTPSConnection(self.host, self.port, timeout=timeout, context=context)

    def headers(self, request: Request) -> dict[str, str]:
        given = dict(request.headers)
        if self.token and not request.anonymous:
            given["Authorization"] = f"Bearer {self.token}"
        return given


def start(connection: http.client.HTTPSConnection, target: Target, request: Request) -> http.client.HTTPResponse:
    """Sends the request and returns when the headers of the response have arrived."""
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # a body that is too large is rejected while it is sent
        connection.request(request.method, request.path, request.body, target.headers(request))
    return connection.getresponse()


def read_response(response: http.client.HTTPResponse) -> Response:
    body = response.read()
    content = decoded(body, response.getheader("Content-Type", ""))
    return Response(response.status, compared_headers(response), content, b"\n  " in body, body.endswith(b"\n"))


def compared_headers(response: http.client.HTTPResponse) -> dict[str, list[str]]:
    headers = {name: response.headers.get_all(name) for name in HEADERS}
    return {name: list(values) for name, values in headers.items() if values}


def decoded(body: bytes, content_type: str) -> Any:
    if "json" in content_type:
        with contextlib.suppress(ValueError):
            return json.loads(body)
    if "yaml" in content_type:
        with contextlib.suppress(yaml.YAMLError):
            return yaml.load(body, yaml.BaseLoader)  # builds only strings, lists and dictionaries
    return body.decode("utf-8", "backslashreplace")


def _context(cluster: dict[str, Any], user: dict[str, Any]) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=_content(cluster, "certificate-authority").decode())
    if certificate := _content(user, "client-certificate"):
        with tempfile.TemporaryDirectory(prefix="traincrew-differential-") as directory:
            files = pathlib.Path(directory, "client.crt"), pathlib.Path(directory, "client.key")
            files[0].write_bytes(certificate)
            files[1].write_bytes(_content(user, "client-key"))
            context.load_cert_chain(*files)
    return context


def _content(entry: dict[str, Any], name: str) -> bytes:
    """The data that a kubeconfig embeds, or the content of the file that it names."""
    if data := entry.get(f"{name}-data"):
        return base64.b64decode(data)
    return pathlib.Path(entry[name]).read_bytes() if entry.get(name) else b""
