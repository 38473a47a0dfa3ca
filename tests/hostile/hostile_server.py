"""A server in a pod that harms the probe that asks it: python3 -c SOURCE PORT NAME. It prints a line for each connection.

Standard library only: the program runs in containers.
"""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator

OK = b"HTTP/1.1 200 OK\r\n"
_SETTINGS = b"\0\0\0\4\0\0\0\0\0"


def header_flood() -> Iterator[bytes]:
    yield OK
    for number in range(990):
        yield b"A%d: %s\r\n" % (number, b"x" * 60_000)
    yield b"\r\n"


def informational_flood() -> Iterator[bytes]:
    while True:
        yield b"HTTP/1.1 103 Early Hints\r\nLink: %s\r\n\r\n" % (b"x" * 60_000)


def slow_bytes() -> Iterator[bytes]:
    yield OK
    while True:
        time.sleep(0.1)
        yield b"a"


def redirects() -> Iterator[bytes]:
    yield b"HTTP/1.1 302 Found\r\nLocation: /%s\r\nContent-Length: 0\r\n\r\n" % ("é%".encode() * 20_000)


def endless_body() -> Iterator[bytes]:
    yield OK + b"\r\n"
    while True:
        yield b"x" * 60_000


def tiny_chunks() -> Iterator[bytes]:
    yield OK + b"Transfer-Encoding: chunked\r\n\r\n"
    while True:
        yield b"1;%s\r\nx\r\n" % (b"a" * 10_000)


def endless_huffman_code() -> Iterator[bytes]:
    """The value of a header field, in frames of 16,000 bytes."""
    size = 63_000
    block = b"\0\1a" + bytes([0xFF, (size - 0x7F) & 0x7F | 0x80, (size - 0x7F) >> 7 & 0x7F | 0x80, (size - 0x7F) >> 14])
    block += b"\xff" * size
    parts = [block[at : at + 16_000] for at in range(0, len(block), 16_000)]
    yield _SETTINGS
    for index, part in enumerate(parts):
        kind, flags = 9 if index else 1, 4 if index == len(parts) - 1 else 0
        yield len(part).to_bytes(3, "big") + bytes([kind, flags, 0, 0, 0, 1]) + part
    time.sleep(60)


def pings() -> Iterator[bytes]:
    yield _SETTINGS
    while True:
        yield b"\0\0\10\6\0\0\0\0\0" + b"x" * 8


OF_HTTP = (header_flood, informational_flood, slow_bytes, redirects, endless_body, tiny_chunks)
OF_GRPC = (endless_huffman_code, pings)


def _serve(connection: socket.socket, response: Callable[[], Iterator[bytes]]) -> None:
    with contextlib.suppress(OSError), connection:
        connection.settimeout(120)
        connection.recv(65_536)
        for piece in response():
            connection.sendall(piece)


def main(port: int, name: str) -> None:
    response = next(each for each in OF_HTTP + OF_GRPC if each.__name__ == name)
    with socket.create_server(("", port)) as server:
        while True:
            connection, _ = server.accept()
            print("asked", flush=True)
            threading.Thread(target=_serve, args=(connection, response), daemon=True).start()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
