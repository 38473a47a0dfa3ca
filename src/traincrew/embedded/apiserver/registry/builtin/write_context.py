"""What the making of a new object needs to know of the cluster around it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from traincrew.apimachinery.resource_info import Object


def _nobody(_name: str) -> Object | None:
    return None


def _no_address() -> str:
    raise LookupError("this context allocates no addresses")


def _no_port() -> int:
    raise LookupError("this context allocates no ports")


@dataclasses.dataclass(frozen=True)
class Context:
    uid: str = ""
    """The new object's."""
    now: str = ""
    """As it is written in objects: 2024-12-31T23:59:59Z."""
    suffix: str = "xxxxx"
    """Five random characters, for the name of the volume with the service account's token."""
    allocate_ip: Callable[[], str] = _no_address
    in_use: Callable[[str], bool] = lambda address: False
    """Whether a service has this cluster IP."""
    service_range: str = "10.96.0.0/12"
    allocate_port: Callable[[], int] = _no_port
    port_in_use: Callable[[int], bool] = lambda port: False
    node_ports: tuple[int, int] = (30000, 32767)
    priority_class: Callable[[str], Object | None] = _nobody
    """By name; the empty name asks for the one that is the global default."""
    service_account: Callable[[str], Object | None] | None = None
    """By name, in the object's namespace. None where service accounts are not admitted to pods."""
    runtime_class: Callable[[str], Object | None] = _nobody
    guards_storage: bool = False
    """Whether somebody takes away again the finalizers of claims and volumes that are no longer used."""
    readies_nodes: bool = False
    """Whether somebody takes away again the taint of a new node that has become ready."""
    limit_ranges: Sequence[Object] = ()
    """Those of the object's namespace."""


NOWHERE = Context()
