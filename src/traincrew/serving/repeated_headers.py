"""Headers of which a request may have only one: of two, a server checks one, and something else on the way obeys the other."""

from __future__ import annotations

from multidict import CIMultiDict, CIMultiDictProxy

SINGLE = (
    "Host",
    "Origin",
    "Sec-Fetch-Site",
    "Authorization",
    "Content-Length",
    "Content-Type",
    "Content-Encoding",
    "Transfer-Encoding",
    "Upgrade",
    "Impersonate-User",
    "Impersonate-Uid",
)


def repeated_header(headers: CIMultiDict[str] | CIMultiDictProxy[str]) -> str:
    """The first of them that the request has more than once; empty if there is none."""
    return next((name for name in SINGLE if len(headers.getall(name, ())) > 1), "")
