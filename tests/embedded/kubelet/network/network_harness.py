"""Runs a scenario on a host of its own: a process in a new network namespace, as root or as an ordinary user.

As a program it runs one scenario. Changes to the host by the code under test do not affect this machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import importlib
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator

from tests.embedded.kubelet import leak_detection

from traincrew.embedded.kubelet.network.addresses import Subnet, to_text
from traincrew.embedded.kubelet.network.netns_client import NetnsClient, stop
from traincrew.embedded.kubelet.runtime.spec import Isolation

ROOT = pathlib.Path(__file__).parents[4]
ORDINARY_UID = 54321
"""The user id of the ordinary user, which has no entry in /etc/passwd."""
EXTERNAL_ADDRESS = "203.0.113.9"
"""An address outside the host. A server on port 8080 sends each client its source address."""
_ECHO = """
import socket
server = socket.create_server(("203.0.113.9", 8080))
print("ready", flush=True)
while True:
    peer, address = server.accept()
    peer.sendall(address[0].encode())
    peer.close()
"""


class Pod:
    def __init__(self, process: subprocess.Popen[str], enter: list[str]) -> None:
        self.process, self._enter = process, enter
        self.pid = process.pid

    def start(self, code: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*self._enter, sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    async def run(self, code: str) -> str:
        return (await asyncio.to_thread(self.start(code).communicate))[0].strip()


class NetworkHarness:
    def __init__(self, level: str, data: pathlib.Path) -> None:
        self.level, self.data = Isolation(level), data
        self.closing = contextlib.AsyncExitStack()
        self._before = self._host_state()
        self.netns: NetnsClient

    def _host_state(self) -> list[str]:
        links = sorted(name for _, name in socket.if_nameindex())
        tables = ""
        if self.level is Isolation.ROOT and (nft := shutil.which("nft")):
            tables = subprocess.run([nft, "list", "ruleset"], capture_output=True, text=True).stdout
        return [*links, tables, pathlib.Path("/proc/sys/net/ipv4/ip_forward").read_text()]

    async def ensure(self) -> NetnsClient:
        """Another client of the same cluster's netns daemon."""
        netns = await NetnsClient.ensure(self.data, self.level)
        self.closing.push_async_callback(netns.close)
        return netns

    def address(self, number: int) -> str:
        return to_text(Subnet.parse(self.netns.subnet).network + number)

    def starter(self) -> int:
        """The id of a process in the user namespace of the netns daemon, if it has one, like the template of the shims."""
        join = ["nsenter", "-t", str(self.netns.pid), "-U", "--preserve-credentials"] if self.level is Isolation.USER else []
        process = _start([*join, "sh", "-c", "echo ready; exec sleep 600"])
        self.closing.callback(_kill, process)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        return process.pid

    async def pod(self, number: int = 0, starter: int = 0) -> Pod:
        """A pod with its own network namespace, attached if it has a number. It uses the DNS server of the gateway."""
        conf = self.data / "resolv.conf"
        conf.write_text(
            f"search team.svc.cluster.local svc.cluster.local cluster.local\nnameserver {self.netns.gateway}\noptions ndots:5\n"
        )
        user = ["-U", "--preserve-credentials"] if self.level is Isolation.USER else []
        join = ["nsenter", "-t", str(starter or self.netns.pid), *user] if user else []
        script = f"mount --bind {conf} /etc/resolv.conf && echo ready && exec sleep 600"
        process = _start([*join, "unshare", "-n", "-m", "sh", "-c", script])
        self.closing.callback(_kill, process)
        assert process.stdout is not None
        assert await asyncio.to_thread(process.stdout.readline) == "ready\n"
        if number:
            await self.netns.attach(process.pid, self.address(number))
        return Pod(process, ["nsenter", "-t", str(process.pid), *user, "-n", "-m"])

    async def close(self) -> None:
        await self.closing.aclose()
        await stop(self.data)
        assert os.listdir(self.data / "node") == []
        await wait_until(lambda: self._host_state() == self._before)
        leak_detection.assert_no_leaks(self.data)


async def wait_until(condition: object, seconds: float = 10.0) -> None:
    """Fails if the condition is not met in time."""
    assert callable(condition)
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the condition was not met in time"
        await asyncio.sleep(0.01)


def _start(command: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def _kill(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


@contextlib.asynccontextmanager
async def open_harness(level: str, data: pathlib.Path) -> AsyncIterator[NetworkHarness]:
    harness = NetworkHarness(level, data)
    try:
        harness.netns = await harness.ensure()
        yield harness
    finally:
        await harness.close()


def _configure_host(resolvers: str) -> None:
    """Called as root, in new namespaces. Creates an uplink, a tun device and a resolv.conf."""
    subprocess.run(["sh", "-ec", "ip link set lo up"], check=True)
    outside = subprocess.Popen(["unshare", "-n", "sleep", "600"])
    until_other = f"while [ $(readlink /proc/{outside.pid}/ns/net) = $(readlink /proc/self/ns/net) ]; do :; done"
    wiring = (
        until_other,
        f"ip link add up0 type veth peer name net0 netns {outside.pid}",
        "ip addr add 198.51.100.2/24 dev up0; ip link set up0 up; ip route add default via 198.51.100.1",
        f"nsenter -t {outside.pid} -n sh -ec 'ip link set lo up; ip addr add 198.51.100.1/24 dev net0;"
        f" ip addr add {EXTERNAL_ADDRESS}/32 dev net0; ip link set net0 up'",
        "mount -t tmpfs none /mnt; mkdir -p /dev/net; mknod -m 666 /mnt/tun c 10 200; touch /dev/net/tun",
        "mount --bind /mnt/tun /dev/net/tun",
        f"printf '{resolvers}' > /mnt/resolv.conf; chmod 644 /mnt/resolv.conf; mount --bind /mnt/resolv.conf /etc/resolv.conf",
        "echo 0 > /proc/sys/net/ipv4/ip_forward",
    )
    subprocess.run(["sh", "-ec", "\n".join(wiring)], check=True)
    server = _start(["nsenter", "-t", str(outside.pid), "-n", sys.executable, "-c", _ECHO])
    assert server.stdout is not None
    assert server.stdout.readline() == "ready\n"


def main(module: str, scenario: str, level: str, data: str, resolvers: str) -> None:
    function = getattr(importlib.import_module(module), scenario)
    prepare = getattr(function, "prepare", None)
    if os.geteuid() == 0:
        _configure_host(resolvers)
        if prepare is not None:
            prepare()
    if level == "user" and os.geteuid() == 0:
        os.chown(data, ORDINARY_UID, ORDINARY_UID)
        os.setgroups([])
        os.setgid(ORDINARY_UID)
        os.setuid(ORDINARY_UID)
        # After a change of the user id, other processes of the user may inspect this one only if it is dumpable.
        ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)

    async def run() -> None:
        async with open_harness(level, pathlib.Path(data)) as harness:
            await function(harness)

    asyncio.run(run())


if __name__ == "__main__":
    main(*sys.argv[1:])
