"""The limits of a socket: which connection is closed, and what a connection may send."""

from __future__ import annotations

import os
import socket

import pytest

from traincrew.embedded.kubelet.runtime import protocol
from traincrew.embedded.kubelet.runtime.shim.listener import client_of, connection_to_close


@pytest.mark.parametrize(
    ("clients", "closed"),
    [
        pytest.param("a", None, id="one connection"),
        pytest.param("aabb", None, id="as many as a client may have"),
        pytest.param("baaa", 1, id="a client that has too many loses its oldest one"),
        pytest.param("abbcc", 1, id="of too many connections, the client with the most loses its oldest one"),
        pytest.param("abcde", 0, id="the oldest one, if every client has one"),
    ],
)
def test_the_client_with_too_many_connections_loses_one(clients: str, closed: int | None) -> None:
    assert connection_to_close(list(clients), waiting=4, waiting_of_client=2) == closed


def test_a_client_is_recognized_in_all_its_connections() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert client_of(ours) == client_of(theirs) != ""


@pytest.mark.parametrize(
    "line", [b"x" * 17 + b"\n", b"x" * 17, b"[" * 100_000 + b"\n", b'{"fds":2}\n', b'{"fds":-1}\n', b'{"fds":true}\n', b"[]\n"]
)
def test_a_message_beyond_its_limits_is_rejected_and_its_descriptors_are_closed(line: bytes) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    lines = protocol.LineReader(max_bytes=16 if line.startswith(b"x") else 1 << 20)
    with pytest.raises(ValueError, match=r".+"):
        list(lines.feed(line, [writing]))
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(writing)


def test_more_descriptors_than_a_message_may_have_are_rejected_and_closed() -> None:
    given = os.pipe()
    lines = protocol.LineReader(max_fds=1)
    with pytest.raises(ValueError, match="too many descriptors"):
        list(lines.feed(b" ", given))
    for each in given:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(each)
