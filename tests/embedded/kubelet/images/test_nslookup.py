"""The node's nslookup, run as the init containers of workers run it."""

from __future__ import annotations

import os
import pathlib
import socket
import subprocess
import threading
from collections.abc import Iterator

import pytest

from traincrew.embedded.kubelet.images import tools_directory

KNOWN = "job-master-0.ns.svc.cluster.local"


class Resolver:
    """A DNS server with one name, on a real socket."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.silent = False
        self.early = 0
        """The number of queries before the name exists."""
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def close(self) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.sendto(b"", ("127.0.0.1", self.port))
        self._thread.join()
        self._socket.close()

    def _serve(self) -> None:
        while True:
            query, client = self._socket.recvfrom(4096)
            if not query:
                return
            self.early -= 1
            if not self.silent:
                self._socket.sendto(_reply(query, KNOWN if self.early < 0 else ""), client)


def _reply(query: bytes, known_name: str) -> bytes:
    name, at = [], 12
    while query[at]:
        name.append(query[at + 1 : at + 1 + query[at]].decode())
        at += query[at] + 1
    known, kind = ".".join(name) == known_name, query[at + 2]
    answered = known and kind == 1
    record = b"\xc0\x0c\0\x01\0\x01\0\0\0\x05\0\x04\x0a\x01\x02\x03" if answered else b""
    flags = b"\x84\0" if known else b"\x84\x03"
    return query[:2] + flags + b"\0\x01" + bytes([0, int(answered)]) + b"\0\0\0\0" + query[12:] + record


@pytest.fixture
def resolver() -> Iterator[Resolver]:
    resolver = Resolver()
    yield resolver
    resolver.close()


def look_up(tmp_path: pathlib.Path, resolver: Resolver, name: str) -> subprocess.CompletedProcess[str]:
    program = tools_directory.prepare(tmp_path).directory / "bin" / "nslookup"
    words = [str(program), f"-port={resolver.port}", name, "127.0.0.1"]
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)


def test_a_name_that_resolves_succeeds_and_prints_its_address(tmp_path: pathlib.Path, resolver: Resolver) -> None:
    result = look_up(tmp_path, resolver, KNOWN)
    assert result.returncode == 0, result.stderr
    assert f"Name:\t{KNOWN}\nAddress: 10.1.2.3\n" in result.stdout


def test_a_name_that_appears_within_the_retries_is_resolved(tmp_path: pathlib.Path, resolver: Resolver) -> None:
    resolver.early = 5
    result = look_up(tmp_path, resolver, f"{KNOWN}.")
    assert result.returncode == 0, result.stderr


def test_a_name_that_does_not_resolve_fails(tmp_path: pathlib.Path, resolver: Resolver) -> None:
    result = look_up(tmp_path, resolver, "none.ns.svc.cluster.local")
    assert (result.returncode, result.stderr) == (1, "** server can't find none.ns.svc.cluster.local: NXDOMAIN\n")


def test_a_resolver_that_is_silent_fails(tmp_path: pathlib.Path, resolver: Resolver) -> None:
    resolver.silent = True
    result = look_up(tmp_path, resolver, f"{KNOWN}.")
    assert result.returncode == 1
    assert "connection timed out" in result.stdout


def look_up_in_file(tmp_path: pathlib.Path, name: str) -> subprocess.CompletedProcess[str]:
    """For pods without a DNS server: the variables name a names file and a resolv.conf."""
    (tmp_path / "names").write_text("127.0.0.1\tj-master-0.ns.svc.cluster.local\n")
    (tmp_path / "resolv.conf").write_text(
        "search ns.svc.cluster.local svc.cluster.local\nnameserver 127.0.0.1\noptions ndots:5\n"
    )
    program = tools_directory.prepare(tmp_path).directory / "bin" / "nslookup"
    env = {"TRAINCREW_NAMES": str(tmp_path / "names"), "TRAINCREW_RESOLV_CONF": str(tmp_path / "resolv.conf")}
    return subprocess.run(
        [str(program), name], capture_output=True, text=True, timeout=60, check=False, env={**os.environ, **env}
    )


@pytest.mark.parametrize("name", ["j-master-0", "j-master-0.ns", "J-Master-0.ns.svc.cluster.local."])
def test_names_are_resolved_from_a_names_file(tmp_path: pathlib.Path, name: str) -> None:
    result = look_up_in_file(tmp_path, name)
    assert result.returncode == 0, result.stderr
    assert "Address: 127.0.0.1\n" in result.stdout


def test_a_short_name_that_is_not_in_the_names_file_is_not_queried(tmp_path: pathlib.Path) -> None:
    result = look_up_in_file(tmp_path, "j-worker-0")
    assert (result.returncode, result.stderr) == (1, "** server can't find j-worker-0: NXDOMAIN\n")
    assert "timed out" not in result.stdout
