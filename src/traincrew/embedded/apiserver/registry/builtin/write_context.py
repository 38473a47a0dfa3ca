"""The context of a write for strategies: allocation of addresses and ports, the time, tokens."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from traincrew.apimachinery.unstructured import Object


def _no_token(_secret: Object) -> Object | None:
    return None


def _no_address() -> str:
    raise LookupError("this context allocates no addresses")


def _no_port() -> int:
    raise LookupError("this context allocates no ports")


@dataclasses.dataclass(frozen=True)
class WriteContext:
    uid: str = ""
    """The new object's."""
    now: str = ""
    """In the format of objects: 2024-12-31T23:59:59Z."""
    allocate_ip: Callable[[], str] = _no_address
    ip_in_use: Callable[[str], bool] = lambda address: False
    """Whether a service has this cluster IP."""
    service_range: str = "10.96.0.0/12"
    allocate_port: Callable[[], int] = _no_port
    port_in_use: Callable[[int], bool] = lambda port: False
    node_ports: tuple[int, int] = (30000, 32767)
    token_secret: Callable[[Object], Object | None] = _no_token
    """A secret of a service account with its token filled in; None if nothing is to be filled in."""


EMPTY = WriteContext()
