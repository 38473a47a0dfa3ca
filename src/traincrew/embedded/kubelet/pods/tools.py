"""What every pod's worker has at hand."""

from __future__ import annotations

import asyncio
import dataclasses
import pathlib
from collections.abc import Callable
from typing import Any

from traincrew import settings
from traincrew.client import port
from traincrew.embedded.kubelet.images import ImageResolver
from traincrew.embedded.kubelet.network.netns_client import NetnsClient
from traincrew.embedded.kubelet.node.machine import Machine, NodeIdentity
from traincrew.embedded.kubelet.objects.object_cache import ObjectSource
from traincrew.embedded.kubelet.pods.address_pool import AddressPool
from traincrew.embedded.kubelet.pods.device_assignments import DeviceAssignments
from traincrew.embedded.kubelet.pods.event_recorder import PodEventRecorder
from traincrew.embedded.kubelet.runtime.runtime import TemplateClient
from traincrew.embedded.kubelet.runtime.spec import Isolation


@dataclasses.dataclass(frozen=True)
class Tools:
    client: port.Client
    learn: Callable[[dict[str, Any]], dict[str, Any]]
    """Takes the server's answer to a write of a pod."""
    options: settings.Node
    data: pathlib.Path
    place: NodeIdentity
    machine: Machine
    isolation: Isolation
    template: TemplateClient
    holder: NetnsClient | None
    """None: pods share the host's network."""
    images: ImageResolver
    objects: ObjectSource
    recorder: PodEventRecorder
    services: Callable[[], list[dict[str, Any]]]
    """All of the cluster's, for variables."""
    pool: AddressPool | None
    devices: DeviceAssignments
    api: tuple[str, int]
    """Host and port of the API server, as this machine reaches it."""

    @property
    def pods(self) -> pathlib.Path:
        return self.data / "node" / "pods"

    @property
    def logs(self) -> pathlib.Path:
        return self.data / "logs"

    @property
    def names(self) -> pathlib.Path:
        """The cluster's names, where nobody can be asked for them."""
        return self.data / "node" / "names"

    @property
    def doors(self) -> pathlib.Path:
        return self.data / "node" / "doors"

    async def connect(self, host: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """From where pods can be reached; raises OSError."""
        if self.holder is None or host in ("127.0.0.1", self.place.address):
            return await asyncio.open_connection(host, port)
        return await self.holder.connect(host, port)

    async def forward(self, address: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """To what listens in that pod, if only on its loopback; raises OSError."""
        if self.holder is None or address == self.place.address:
            return await asyncio.open_connection("127.0.0.1", port)
        return await self.holder.connect("127.0.0.1", port, within=address)
