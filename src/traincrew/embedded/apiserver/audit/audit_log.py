"""The audit log: a line for every request, at the level Metadata of kube-apiserver's own."""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import re
import urllib.parse
import uuid
from collections.abc import Iterator
from typing import NamedTuple

import msgspec
from aiohttp import web

from traincrew.apimachinery import api_errors, times
from traincrew.client import clock
from traincrew.embedded.apiserver.requests.request import ApiRequest

REDACTED = "***"
_SECRET_PARAMETER = re.compile(r"([?&](?:access_token|token|password|secret)=)[^&\s]*", re.IGNORECASE)
_BEARER = re.compile(r"(\b(?:bearer|basic)\s+)[^\s\"',]+", re.IGNORECASE)
_JWT = re.compile(r"\beyJ[\w-]+\.[\w-]+\.[\w-]+")
_WEBSOCKET = re.compile(r"(base64url\.bearer\.authorization\.k8s\.io\.)[\w=-]+")


class RequestOrigin(NamedTuple):
    address: str
    remote: str
    """Empty: a client within this process."""
    agent: str


class AuditLog:
    """Writes nothing without the path of a file."""

    def __init__(self, path: str) -> None:
        # Unbuffered: the line of a request is written before its response is sent.
        self._file = open(path, "ab", buffering=0, opener=_private) if path else None  # noqa: SIM115 - until the end

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def new_annotations(self) -> dict[str, str] | None:
        """The annotations of a new request; None if it is not audited."""
        return {} if self._file is not None else None

    def record(self, http_request: web.BaseRequest, request: ApiRequest, code: int, received: dt.datetime) -> None:
        if self._file is not None:
            self._write(
                request,
                RequestOrigin(str(http_request.rel_url), http_request.remote or "", http_request.headers.get("User-Agent", "")),
                code,
                received,
            )

    @contextlib.contextmanager
    def record_in_process(self, request: ApiRequest) -> Iterator[None]:
        """Records a request of a client within the process, which is handled inside the context."""
        if self._file is None:
            yield
            return
        received, code = clock.now(), 201 if request.verb == "create" else 200
        try:
            yield
        except api_errors.StatusError as error:
            code = error.code
            raise
        finally:
            self._write(request, RequestOrigin(_address(request), "", request.agent), code, received)

    def _write(self, request: ApiRequest, origin: RequestOrigin, code: int, received: dt.datetime) -> None:
        assert self._file is not None
        entry = {
            "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "Metadata", "auditID": str(uuid.uuid4()),
            "stage": "ResponseStarted" if request.verb == "watch" else "ResponseComplete",
            "requestURI": redacted(_plain(origin.address)),
            "verb": request.verb,
            "user": {"username": request.user.name, "groups": list(request.user.groups)},
            "sourceIPs": [origin.remote],
            "userAgent": _plain(origin.agent),
            "objectRef": _reference(request),
            "responseStatus": {"metadata": {}, "code": code},
            "requestReceivedTimestamp": times.rfc3339_micro(received),
            "stageTimestamp": times.rfc3339_micro(clock.now()),
        }  # fmt: skip
        if request.annotations:
            entry["annotations"] = request.annotations
        with contextlib.suppress(OSError):  # a full disk must not turn a completed request into an error
            self._file.write(msgspec.json.encode(entry) + b"\n")


def _address(request: ApiRequest) -> str:
    """The path and query of the request over HTTP."""
    info = request.info
    parts = ["/apis" if info.group else "/api", info.api_version]
    parts += ["namespaces", request.namespace] if request.namespace else []
    parts += [part for part in (info.plural, request.name, request.subresource) if part]
    query = {key: value for key, value in request.query.texts().items() if value}
    if request.verb == "watch":
        query["watch"] = "true"
    return "/".join(parts) + (f"?{urllib.parse.urlencode(query)}" if query else "")


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _plain(text: str) -> str:
    """Headers may contain bytes that are not UTF-8."""
    return text.encode(errors="replace").decode()


class _Meta(msgspec.Struct):
    name: str = ""


class _Named(msgspec.Struct):
    metadata: _Meta = msgspec.field(default_factory=_Meta)


def _name(request: ApiRequest) -> str:
    """Only the body of a create names the object."""
    if request.name or request.verb != "create":
        return request.name
    try:
        return msgspec.json.decode(request.body, type=_Named).metadata.name
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ""


def _reference(request: ApiRequest) -> dict[str, str]:
    reference = {
        "resource": request.info.plural, "namespace": request.namespace, "name": _name(request), "apiGroup": request.info.group,
        "apiVersion": request.info.version, "subresource": request.subresource,
    }  # fmt: skip
    return {key: value for key, value in reference.items() if value}


def redacted(text: str) -> str:
    """The text without anything that looks like a credential."""
    text = _SECRET_PARAMETER.sub(rf"\1{REDACTED}", text)
    text = _WEBSOCKET.sub(rf"\1{REDACTED}", _BEARER.sub(rf"\1{REDACTED}", text))
    return _JWT.sub(REDACTED, text)
