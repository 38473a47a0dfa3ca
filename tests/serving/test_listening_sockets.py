"""Servers listen with every family of addresses that the machine has: on an IPv6-only cluster the kubelet probes by IPv6."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest

HOSTS = "127.0.0.1 localhost\n::1 localhost\n"
NAMESPACES = ("unshare", "--user", "--map-root-user", "--net", "--mount")
LISTEN = """
import asyncio, socket, sys
from traincrew.serving import listening_sockets

host = sys.argv[1]
sockets = asyncio.run(listening_sockets.listen(host, 0))
port = sockets[0].getsockname()[1]
answered = []
for address in ("127.0.0.1", "::1"):
    try:
        socket.create_connection((address, port), 5).close()
        answered.append(address)
    except OSError:
        pass
print(*answered)
"""


def answering(host: str, hosts: pathlib.Path, prepare: str) -> list[str]:
    """The addresses at which a server at `host` answers, on a machine of its own."""
    hosts.write_text(HOSTS)
    script = f"mount --bind {hosts} /etc/hosts && {prepare} && ip link set lo up && exec {sys.executable} -c '{LISTEN}' '{host}'"
    done = subprocess.run([*NAMESPACES, "sh", "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize("host", ["", "localhost"])
def test_both_families_are_served_at_one_port(tmp_path: pathlib.Path, host: str) -> None:
    assert answering(host, tmp_path / "hosts", "true") == ["127.0.0.1", "::1"]


@pytest.mark.parametrize("host", ["", "localhost"])
def test_a_machine_without_ipv6_is_served_with_ipv4(tmp_path: pathlib.Path, host: str) -> None:
    disable = "echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6 && echo 1 > /proc/sys/net/ipv6/conf/lo/disable_ipv6"
    assert answering(host, tmp_path / "hosts", disable) == ["127.0.0.1"]
