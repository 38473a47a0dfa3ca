"""The client of the netns daemon: the kubelet attaches pods to the network and publishes DNS names through it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import pathlib
import socket
from typing import Any

from traincrew.client import retries
from traincrew.embedded.kubelet.network import netns_discovery, netns_state
from traincrew.embedded.kubelet.network.addresses import DEFAULT_SUBNET
from traincrew.embedded.kubelet.network.dns_zone import Zone
from traincrew.embedded.kubelet.network.netns_connection import NetnsConnection, NetnsDaemonGone, NetnsReply
from traincrew.embedded.kubelet.runtime.spec import Isolation

log = logging.getLogger(__name__)

CONNECT_SECONDS = 10.0
_FIRST_DELAY, _LONGEST_DELAY = 1.0, 30.0
"""Seconds between attempts to start a netns daemon."""
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class NetnsClient:
    """Starts the netns daemon if there is none, and again when it is killed: running pods keep their addresses."""

    def __init__(self, directory: pathlib.Path, isolation: Isolation, subnet: str) -> None:
        self._directory, self._isolation, self._wanted = directory, isolation, subnet
        self._connection: NetnsConnection | None = None
        self._hello: dict[str, Any] = {}
        self._userns = -1
        self._changed = asyncio.Condition()
        self._supervisor: asyncio.Task[None] | None = None
        self._publish_lock = asyncio.Lock()
        self._pending_zone: Zone | None = None
        self.generation = 0
        """Counts the netns daemons so far. A socket of `listen` belongs to one of them."""

    @classmethod
    async def ensure(cls, data: pathlib.Path, isolation: Isolation, subnet: str = DEFAULT_SUBNET) -> NetnsClient:
        """Connects to the running netns daemon, or starts one. Raises OSError."""
        client = cls(data / "node", isolation, subnet)
        await client._connect()
        client._supervisor = asyncio.create_task(client._supervise())
        return client

    @property
    def pid(self) -> int:
        return int(self._hello["pid"])

    @property
    def userns(self) -> bool:
        """Whether the netns daemon owns a user namespace, which template and shims join."""
        return bool(self._hello["userns"])

    @property
    def ids(self) -> str:
        """Empty, or why the user namespace has a single id, and the remedy."""
        return str((self._hello.get("ids") or {}).get("why", ""))

    @property
    def subnet(self) -> str:
        return str(self._hello["subnet"])

    @property
    def gateway(self) -> str:
        return str(self._hello["gateway"])

    @property
    def egress(self) -> str:
        """Empty, or why pods have no egress, and the remedy."""
        return str(self._hello["egress"]["why"])

    async def attached(self) -> dict[str, int]:
        """Process ids of attached pods by address."""
        reply, _ = await self._request("hello")
        return {address: int(pid) for address, pid in reply["attachments"].items()}

    async def attach(self, pid: int, address: str, mac: str = "") -> None:
        """Creates eth0 with that address in the network namespace of that process. Idempotent."""
        await self._request("attach", pid=pid, address=address, mac=mac)

    async def detach(self, address: str) -> None:
        await self._request("detach", address=address)

    async def connect(self, host: str, port: int, *, within: str = "", timeout: float = CONNECT_SECONDS) -> Streams:  # noqa: ASYNC109
        """Opens a TCP connection inside the cluster's network. Raises OSError, or its subclass TimeoutError.

        within: connect from inside the pod with that address, to reach servers on its loopback interface.
        """
        async with asyncio.timeout(timeout):
            family = 6 if ":" in host else 4
            _, (sock,) = await self._request("socket", family=family, within=within)
            try:
                sock.setblocking(False)
                await asyncio.get_running_loop().sock_connect(sock, (host, port))
                return await asyncio.open_connection(sock=sock)
            except BaseException:
                sock.close()
                raise

    async def listen(self, address: str, port: int) -> socket.socket:
        """A listening socket inside the cluster's network.

        The netns daemon keeps it open. A new netns daemon does not have it: see `wait_for_replacement`.
        """
        _, (sock,) = await self._request("listen", address=address, port=port)
        sock.setblocking(False)
        return sock

    async def publish(self, zone: Zone) -> None:
        """Publishes the zone. The DNS server uses it when this returns, also while no kubelet runs."""
        self._pending_zone = zone
        async with self._publish_lock:
            if (pending := self._pending_zone) is not None:
                self._pending_zone = None
                await asyncio.to_thread(netns_state.write, str(self._directory / netns_state.ZONE), pending.content())
                await self._request("zone")

    async def wait_for_replacement(self, generation: int) -> int:
        """Waits until another netns daemon runs: sockets of `listen` must be requested again."""
        async with self._changed:
            await self._changed.wait_for(lambda: self.generation != generation)
            return self.generation

    async def close(self) -> None:
        """Disconnects. The netns daemon keeps running."""
        if self._supervisor is not None:
            self._supervisor.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._supervisor
            self._supervisor = None
        if self._connection is not None:
            self._connection.close()
        if self._userns >= 0:
            os.close(self._userns)
            self._userns = -1

    async def stop(self) -> None:
        """Stops the netns daemon. No namespace, link, table, process or file is left."""
        await self.close()
        await stop(self._directory.parent)

    async def _request(self, request: str, **arguments: Any) -> NetnsReply:
        """Repeats the request if the netns daemon was killed meanwhile: all requests are idempotent."""
        for _ in range(2):
            connection = await self._current()
            with contextlib.suppress(NetnsDaemonGone):
                return await connection.request(request, **arguments)
        connection = await self._current()
        return await connection.request(request, **arguments)

    async def _current(self) -> NetnsConnection:
        if self._connection is None:
            raise NetnsDaemonGone("there is no netns daemon")
        if self._connection.ended.is_set():
            if self._supervisor is None:
                raise NetnsDaemonGone("the client is closed")
            async with asyncio.timeout(2 * CONNECT_SECONDS), self._changed:
                await self._changed.wait_for(lambda: self._connection is not None and not self._connection.ended.is_set())
        return self._connection

    async def _connect(self) -> None:
        connection, hello = await netns_discovery.find_or_start(self._directory, str(self._isolation), self._wanted, self._userns)
        if hello["userns"] and self._userns < 0:
            # Kept open: a new netns daemon joins it, so that the template process can stay in it.
            self._userns = os.open(f"/proc/{hello['pid']}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
        async with self._changed:
            self._connection, self._hello = connection, hello
            self.generation += 1
            self._changed.notify_all()

    async def _supervise(self) -> None:
        backoff = retries.Backoff(_FIRST_DELAY, _LONGEST_DELAY)
        while self._connection is not None:
            await self._connection.ended.wait()
            log.warning("netns daemon exited, starting another one")
            try:
                await self._connect()
                backoff.reset()
            except OSError as error:
                log.error("cannot start the netns daemon", extra={"error": str(error)})
                await asyncio.sleep(backoff.next())


async def stop(data: pathlib.Path) -> None:
    """Stops the netns daemon of that cluster, and removes what a killed one left."""
    await netns_discovery.stop(data / "node")
