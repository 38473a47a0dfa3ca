"""`traincrew-wait`: waits until hosts of a file have an address and listen.

    traincrew-wait --hosts-file FILE [--prefix PREFIX] [--ports PORT,...] [--count NUMBER]

A line of the file starts with the name of a host, as in the host files of MPI. The file is read again at every attempt. A host
that has had an address for LISTEN_SECONDS counts, even if it listens at none of the ports: they are a guess.
"""

import socket
import sys
import time
from collections.abc import Iterator

from traincrew.embedded.kubelet.images.programs import nslookup

LISTEN_SECONDS = 30.0
CONNECT_SECONDS = 0.5
SHORT_SECONDS, LONG_SECONDS, SHORT_INTERVALS = 0.1, 1.0, 50
REPORT_SECONDS = 10.0
OPTIONS = ("hosts-file", "prefix", "ports", "count")


def main() -> None:
    options = dict(_options(sys.argv[1:]))
    if not options.get("hosts-file"):
        _fail("--hosts-file is required")
    try:
        ports = [int(port) for port in options.get("ports", "22").split(",")]
        count = int(options.get("count", "0"))
        _wait(options["hosts-file"], options.get("prefix", ""), Hosts(ports), count)
    except (ValueError, OSError) as error:
        _fail(str(error))


def _options(words: list[str]) -> Iterator[tuple[str, str]]:
    for word in words:
        name, sign, value = word.removeprefix("--").partition("=")
        if not word.startswith("--") or not sign or name not in OPTIONS:
            _fail(f"unknown argument {word!r}: expected --NAME=VALUE with NAME one of {', '.join(OPTIONS)}")
        yield name, value


def _fail(message: str) -> None:
    sys.exit(f"traincrew-wait: {message}")


class Hosts:
    """The hosts that were seen to listen, and since when the others have an address."""

    def __init__(self, ports: list[int]) -> None:
        self.ports = ports
        self._resolver = nslookup.Resolver()
        self._resolved: dict[str, float] = {}
        self._ready: set[str] = set()

    def obstacle(self, host: str) -> str:
        """Why the host is not ready; empty: it is."""
        if host in self._ready:
            return ""
        try:
            found = self._resolver.look_up(host)
        except nslookup.NoResponse:
            return "no DNS server responds"
        if not found:
            self._resolved.pop(host, None)
            return "does not resolve"
        since = self._resolved.setdefault(host, time.monotonic())
        if any(_listens(address, port) for _, address in found for port in self.ports):
            self._ready.add(host)
            return ""
        ports = ", ".join(map(str, self.ports))
        if time.monotonic() - since < LISTEN_SECONDS:
            return f"does not listen at port {ports}"
        print(f"{host} does not listen at port {ports}: not waited for any longer", flush=True)
        self._ready.add(host)
        return ""


def _wait(file: str, prefix: str, hosts: Hosts, count: int) -> None:
    intervals, reported = 0, 0.0
    while True:
        names = _names(file, prefix)
        obstacles = {name: obstacle for name in names if (obstacle := hosts.obstacle(name))}
        ready, need = len(names) - len(obstacles), count or len(names)
        if ready >= need:
            print(f"{ready} of {need} hosts are ready", flush=True)
            return
        if time.monotonic() > reported:
            name, obstacle = next(iter(obstacles.items()), ("", "the file has too few hosts"))
            print(f"waiting for hosts: {ready} of {need} are ready; {name} {obstacle}", flush=True)
            reported = time.monotonic() + REPORT_SECONDS
        intervals += 1
        time.sleep(SHORT_SECONDS if intervals < SHORT_INTERVALS else LONG_SECONDS)


def _names(file: str, prefix: str) -> list[str]:
    """`host slots=2` and `host:2`."""
    with open(file, encoding="utf-8") as lines:
        words = (line.split()[0].partition(":")[0] for line in lines if line.strip())
        return [word for word in words if word.startswith(prefix)]


def _listens(address: str, port: int) -> bool:
    try:
        with socket.create_connection((address, port), CONNECT_SECONDS):
            return True
    except OSError:
        return False
