"""What the shim believes of a process that starts in a PID namespace with others, which may control it."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable

import pytest

from traincrew.embedded.kubelet.runtime import protocol
from traincrew.embedded.kubelet.runtime.container.start_handshake import StartHandshake, handshake_pair
from traincrew.embedded.kubelet.runtime.event_loop import EventLoop

OTHER = 1
"""A process that is not the sender."""


def handshake(starter: int, send: Callable[[socket.socket], object]) -> tuple[StartHandshake, list[int]]:
    ours, theirs = handshake_pair()
    forked = list[int]()
    started = StartHandshake(EventLoop(), ours, lambda: None, starter, forked.append)
    with theirs:
        send(theirs)
        started.process_ended()
    return started, forked


def test_only_the_process_that_the_shim_has_forked_names_the_next_one() -> None:
    message = protocol.encode({"forked": 4711})
    assert handshake(os.getpid(), lambda sock: sock.send(message))[1] == [4711]
    assert handshake(OTHER, lambda sock: sock.send(message))[1] == []


@pytest.mark.parametrize("name", ["namespaces", "terminal"])
def test_only_the_process_that_the_shim_has_forked_passes_descriptors(name: str) -> None:
    reading, writing = os.pipe()
    data = protocol.encode({name: True}, [writing])
    started, _ = handshake(OTHER, lambda sock: socket.send_fds(sock, [data], [writing]))
    assert (started.namespaces, started.terminal) == ([], -1)
    os.close(writing)
    assert os.read(reading, 1) == b"", "the received descriptor is closed"
    os.close(reading)


@pytest.mark.parametrize("data", [b"}", b"[1]", b"\xff", b'"failed"'])
def test_messages_that_are_not_of_this_protocol_are_ignored(data: bytes) -> None:
    started, _ = handshake(OTHER, lambda sock: sock.send(data))
    assert started.failure == ("RunContainerError", "the process ended before it could start the command")


def test_a_socket_that_another_process_keeps_open_does_not_keep_the_start_waiting() -> None:
    kept = list[socket.socket]()

    def send(sock: socket.socket) -> None:
        kept.append(sock.dup())
        sock.send(protocol.encode({"exec": 2}))

    started, _ = handshake(OTHER, send)
    assert started.started
    kept[0].close()
