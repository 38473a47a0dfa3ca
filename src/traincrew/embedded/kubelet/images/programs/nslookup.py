"""A minimal nslookup for scripts: exit code 0 if the name has an address. Queries the resolver of the pod, with a short timeout.

A name that does not exist is retried for a moment, because scripts sleep for seconds after a failure, and the pod that they wait
for may just be starting.
"""

import os
import random
import socket
import struct
import sys
import time
from collections.abc import Callable, Sequence

PORT, TIMEOUT, ATTEMPTS = 53, 1.0, 2
RETRY_SECONDS, RETRY_INTERVAL = 1.0, 0.05
_A, _AAAA = 1, 28
RESOLV_CONF, NAMES = "TRAINCREW_RESOLV_CONF", "TRAINCREW_NAMES"
"""Variables with the paths of a resolv.conf and of a names file, for pods that share the host's /etc."""

Server = tuple[str, int]


def main() -> None:
    words = [word for word in sys.argv[1:] if not word.startswith("-")]
    if not words:
        sys.exit("usage: nslookup [-port=PORT] NAME [SERVER]")
    port = next((int(word[6:]) for word in sys.argv[1:] if word.startswith("-port=")), PORT)
    resolver = Resolver(port, words[1:2])
    server = resolver.servers[0][0]
    print(f"Server:\t\t{server}\nAddress:\t{server}:{port}\n")
    deadline = time.monotonic() + RETRY_SECONDS
    try:
        while not (found := resolver.look_up(words[0])):
            if time.monotonic() > deadline:
                sys.exit(f"** server can't find {words[0]}: NXDOMAIN")
            time.sleep(RETRY_INTERVAL)
    except NoResponse:
        print(";; connection timed out; no servers could be reached")
        sys.exit(1)
    for name, address in found:
        print(f"Name:\t{name}\nAddress: {address}")


class NoResponse(Exception):
    """No DNS server has responded."""


class Resolver:
    """The resolver of the pod, with its search domains."""

    def __init__(self, port: int = PORT, servers: Sequence[str] = ()) -> None:
        named, self._searches, self._dots = _settings(os.environ.get(RESOLV_CONF) or "/etc/resolv.conf")
        self.servers = [(server, port) for server in servers or named or ["127.0.0.1"]]

    def look_up(self, word: str) -> list[tuple[str, str]]:
        """Name and address of each entry of the first candidate that has any."""
        candidates = _candidates(word, self._searches, self._dots)
        names = _read_names(os.environ.get(NAMES, ""))
        found = _first(candidates, lambda name: names.get(name.rstrip(".").lower(), []))
        # If there is a names file, a name without a dot is a name of the cluster: no server knows it.
        if found or (NAMES in os.environ and "." not in word):
            return found
        return _first(candidates, lambda name: _addresses(name, self.servers))


def _first(candidates: list[str], look: Callable[[str], list[str]]) -> list[tuple[str, str]]:
    for name in candidates:
        if addresses := look(name):
            return [(name, address) for address in addresses]
    return []


def _read_names(path: str) -> dict[str, list[str]]:
    """Addresses by name; empty if the file does not exist."""
    addresses: dict[str, list[str]] = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            for line in file:
                address, _, name = line.strip().partition("\t")
                addresses.setdefault(name, []).append(address)
    return addresses


def _settings(path: str) -> tuple[list[str], list[str], int]:
    servers, searches, dots = [], [], 1
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = [line.split() for line in file]
    except OSError:
        lines = []
    for words in lines:
        if words[:1] == ["nameserver"]:
            servers += words[1:2]
        elif words[:1] in (["search"], ["domain"]):
            searches = words[1:]
        elif words[:1] == ["options"]:
            dots = next((int(word[6:]) for word in words if word.startswith("ndots:")), dots)
    return servers, searches, dots


def _candidates(name: str, searches: list[str], dots: int) -> list[str]:
    if name.endswith("."):
        return [name]
    within = [f"{name}.{search}" for search in searches]
    return [name, *within] if name.count(".") >= dots else [*within, name]


def _addresses(name: str, servers: list[Server]) -> list[str]:
    return [address for kind in (_A, _AAAA) for address in _query(name, kind, servers)]


def _query(name: str, kind: int, servers: list[Server]) -> list[str]:
    number = random.getrandbits(16)
    labels = name.rstrip(".").encode("idna" if not name.isascii() else "ascii").split(b".")
    question = b"".join(bytes([len(label)]) + label for label in labels) + b"\0" + struct.pack("!HH", kind, 1)
    query = struct.pack("!6H", number, 0x100, 1, 0, 0, 0) + question
    for _ in range(ATTEMPTS):
        for server in servers:
            reply = _reply(query, server)
            if reply[:2] == query[:2]:
                return _parse_reply(reply, kind, 12 + len(question))
    raise NoResponse


def _reply(query: bytes, server: Server) -> bytes:
    family = socket.AF_INET6 if ":" in server[0] else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as client:
        client.settimeout(TIMEOUT)
        try:
            client.connect(server)
            client.send(query)
            return client.recv(65535)
        except OSError:
            return b""


def _parse_reply(reply: bytes, kind: int, at: int) -> list[str]:
    addresses = []
    try:
        for _ in range(struct.unpack_from("!H", reply, 6)[0]):
            at = _after_name(reply, at)
            answered, _, _, length = struct.unpack_from("!HHIH", reply, at)
            at += 10
            if answered == kind:
                addresses.append(socket.inet_ntop(socket.AF_INET if kind == _A else socket.AF_INET6, reply[at : at + length]))
            at += length
    except (struct.error, IndexError, ValueError):
        pass  # a truncated reply: use the addresses before the end
    return addresses


def _after_name(reply: bytes, at: int) -> int:
    while reply[at]:
        if reply[at] >= 0xC0:
            return at + 2
        at += reply[at] + 1
    return at + 1
