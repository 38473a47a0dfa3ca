"""The daemon's side of the cluster's network."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import pathlib
import socket
from collections.abc import AsyncIterator
from typing import Any

from traincrew.embedded.kubelet.network import netns_discovery, netns_state
from traincrew.embedded.kubelet.network.addresses import DEFAULT_SUBNET
from traincrew.embedded.kubelet.network.dns_zone import Zone
from traincrew.embedded.kubelet.network.netns_connection import NetnsConnection, NetnsDaemonGone, NetnsReply
from traincrew.embedded.kubelet.runtime.spec import Isolation

log = logging.getLogger(__name__)

CONNECT_SECONDS = 10.0
_AGAIN = 1.0
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class NetnsClient:
    """One that runs. Killed, it is replaced at once: pods that live are plugged in again with the addresses they have."""

    def __init__(self, directory: pathlib.Path, isolation: Isolation, subnet: str) -> None:
        self._directory, self._isolation, self._wanted = directory, isolation, subnet
        self._connection: NetnsConnection | None = None
        self._known: dict[str, Any] = {}
        self._space = -1
        self._changed = asyncio.Condition()
        self._keeper: asyncio.Task[None] | None = None
        self._publishing = asyncio.Lock()
        self._latest: Zone | None = None
        self.generation = 0
        """Counts the holders that this one has been; sockets of `listen` belong to one of them."""

    @classmethod
    async def ensure(cls, data: pathlib.Path, isolation: Isolation, subnet: str = DEFAULT_SUBNET) -> NetnsClient:
        """Finds the one that runs, or starts one. Raises OSError if none can be had."""
        found = cls(data / "node", isolation, subnet)
        await found._connect()
        found._keeper = asyncio.create_task(found._keep())
        return found

    @property
    def pid(self) -> int:
        return int(self._known["pid"])

    @property
    def userns(self) -> bool:
        """Whether it owns a user namespace, for template and shims to join."""
        return bool(self._known["userns"])

    @property
    def ids(self) -> str:
        """Empty, or why its user namespace has a single id and what would help."""
        return str((self._known.get("ids") or {}).get("why", ""))

    @property
    def subnet(self) -> str:
        return str(self._known["subnet"])

    @property
    def gateway(self) -> str:
        return str(self._known["gateway"])

    @property
    def egress(self) -> str:
        """Empty, or why pods reach nothing outside and what would help."""
        return str(self._known["egress"]["why"])

    async def plugged(self) -> dict[str, int]:
        """Process ids by address."""
        done, _ = await self._ask("hello")
        return {address: int(pid) for address, pid in done["plugs"].items()}

    async def plug(self, pid: int, address: str, mac: str = "") -> None:
        """eth0 with that address in the network namespace of that process. Again is harmless."""
        await self._ask("plug", pid=pid, address=address, mac=mac)

    async def unplug(self, address: str) -> None:
        await self._ask("unplug", address=address)

    async def connect(self, host: str, port: int, *, within: str = "", timeout: float = CONNECT_SECONDS) -> Streams:  # noqa: ASYNC109
        """A TCP connection made inside the cluster's network. within: from inside the pod with that address, to reach
        what listens on its loopback only. Raises OSError, TimeoutError being one."""
        async with asyncio.timeout(timeout):
            family = 6 if ":" in host else 4
            _, (sock,) = await self._ask("socket", family=family, within=within)
            try:
                sock.setblocking(False)
                await asyncio.get_running_loop().sock_connect(sock, (host, port))
                return await asyncio.open_connection(sock=sock)
            except BaseException:
                sock.close()
                raise

    async def listen(self, address: str, port: int) -> socket.socket:
        """A listening socket inside the cluster's network. The holder keeps it open while nobody accepts; a new holder
        does not have it: see `replaced`."""
        _, (sock,) = await self._ask("listen", address=address, port=port)
        sock.setblocking(False)
        return sock

    async def publish(self, zone: Zone) -> None:
        """From its return on these names are answered, also while no daemon runs. Of several at a time the latest counts."""
        self._latest = zone
        async with self._publishing:
            if (latest := self._latest) is not None:
                self._latest = None
                await asyncio.to_thread(netns_state.write, str(self._directory / netns_state.ZONE), latest.content())
                await self._ask("zone")

    async def replaced(self, generation: int) -> int:
        """Waits until there is another holder than that one: what listened must listen again."""
        async with self._changed:
            await self._changed.wait_for(lambda: self.generation != generation)
            return self.generation

    async def close(self) -> None:
        """Leaves the holder at work."""
        if self._keeper is not None:
            self._keeper.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._keeper
            self._keeper = None
        if self._connection is not None:
            self._connection.close()
        if self._space >= 0:
            os.close(self._space)
            self._space = -1

    async def stop(self) -> None:
        """Ends it. Nothing is left: no namespace, link, table, process or file."""
        await self.close()
        await stop(self._directory.parent)

    async def _ask(self, request: str, **arguments: Any) -> NetnsReply:
        """Once more if the holder was killed meanwhile: every request may be made twice."""
        for _ in range(2):
            connection = await self._current()
            with contextlib.suppress(NetnsDaemonGone):
                return await connection.ask(request, **arguments)
        connection = await self._current()
        return await connection.ask(request, **arguments)

    async def _current(self) -> NetnsConnection:
        if self._connection is None:
            raise NetnsDaemonGone("there is no holder")
        if self._connection.ended.is_set():
            if self._keeper is None:
                raise NetnsDaemonGone("this holder was left")
            async with asyncio.timeout(2 * CONNECT_SECONDS), self._changed:
                await self._changed.wait_for(lambda: self._connection is not None and not self._connection.ended.is_set())
        return self._connection

    async def _connect(self) -> None:
        connection, known = await netns_discovery.find_or_start(self._directory, str(self._isolation), self._wanted, self._space)
        if known["userns"] and self._space < 0:
            # Kept open: a new holder joins it, and what starts pods can stay where it is.
            self._space = os.open(f"/proc/{known['pid']}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
        async with self._changed:
            self._connection, self._known = connection, known
            self.generation += 1
            self._changed.notify_all()

    async def _keep(self) -> None:
        while self._connection is not None:
            await self._connection.ended.wait()
            log.warning("the holder of the network is gone: starting another one")
            try:
                await self._connect()
            except OSError as error:
                log.error("no holder of the network: %s", error)
                await asyncio.sleep(_AGAIN)


async def stop(data: pathlib.Path) -> None:
    """Ends the holder of that cluster if one runs, and clears what a killed one left behind."""
    await netns_discovery.stop(data / "node")


@contextlib.asynccontextmanager
async def open_client(data: pathlib.Path, isolation: Isolation, subnet: str = DEFAULT_SUBNET) -> AsyncIterator[NetnsClient]:
    """For the time of a block; the holder stays."""
    holder = await NetnsClient.ensure(data, isolation, subnet)
    try:
        yield holder
    finally:
        await holder.close()
