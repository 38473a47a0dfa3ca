"""Errors from the responses of an API server: status code and Status object determine the type."""

from __future__ import annotations

import msgspec

from traincrew import errors

LONGEST_QUOTE = 300
"""Largest number of characters quoted from a response that is not a Status: proxies send whole pages."""


class _Cause(msgspec.Struct):
    reason: str = ""
    message: str = ""
    field: str = ""


class _Details(msgspec.Struct, rename="camel"):
    causes: list[_Cause] | None = None
    retry_after_seconds: float = 0


class Status(msgspec.Struct):
    kind: str = ""
    message: str = ""
    reason: str = ""
    code: int = 0
    details: _Details | None = None


_QUOTA = " is forbidden: exceeded quota: "
"""The admission plugin for quotas answers with 403 and the reason Forbidden, as RBAC does: only its message differs."""
_BY_CODE: dict[int, type[errors.ApiError]] = {
    401: errors.Unauthorized,
    403: errors.Forbidden,
    404: errors.NotFound,
    408: errors.ServerError,
    409: errors.Conflict,
    410: errors.Expired,
    429: errors.TooManyRequests,
}
_decoder = msgspec.json.Decoder(Status)


def error(code: int, body: bytes, retry_after: str | None = None) -> errors.ApiError:
    """The error of a response with this code (300 or higher). retry_after: the value of the header."""
    status = _status(code, body)
    details = status.details or _Details()
    wait = _seconds(retry_after)
    return _type(code, status)(
        status.message,
        code=code,
        reason=status.reason,
        causes=tuple(errors.Cause(each.reason, each.message, each.field) for each in details.causes or ()),
        retry_after=wait if wait is not None else details.retry_after_seconds or None,
    )


def watch_error(body: bytes) -> errors.ApiError:
    """The error of a watch's ERROR event, whose object is a Status."""
    code = _status(500, body).code or 500
    return error(code, body)


def _type(code: int, status: Status) -> type[errors.ApiError]:
    if code == 409 and status.reason == "AlreadyExists":
        return errors.AlreadyExists
    if code == 403 and _QUOTA in status.message:
        return errors.QuotaExceeded
    return _BY_CODE.get(code) or (errors.ServerError if code >= 500 else errors.Rejected)


def _status(code: int, body: bytes) -> Status:
    try:
        status = _decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        status = Status()
    if status.kind == "Status" and status.message:
        return status
    text = " ".join(body[:LONGEST_QUOTE].decode("utf-8", "replace").split())
    hint = "; is this the address of an API server?" if 300 <= code < 400 else ""
    status.message = f"HTTP {code}{f': {text}' if text else ''}{hint}"
    return status


def _seconds(header: str | None) -> float | None:
    """Retry-After in seconds, as API servers send it. A date is ignored."""
    return float(header) if header and header.isdecimal() else None
