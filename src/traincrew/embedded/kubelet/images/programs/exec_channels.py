"""An exec connection to the API server, over a WebSocket or SPDY.

A WebSocket is opened by a GET, for which API servers require the verb `get`. SPDY is opened by a POST, which requires `create`.
The Roles of launchers allow `create` only, so a rejected WebSocket is followed by SPDY, as in kubectl.
"""

import os
import select
import ssl
from collections.abc import Callable
from typing import Protocol

from traincrew.embedded.kubelet.images.programs import api

STDIN, STDOUT, STDERR, ERROR = range(4)
PIECE = 32768
MAX_PENDING = 1 << 20
"""Standard input is not read while so many bytes wait to be sent."""

Take = Callable[[int, bytes], None]


class ChannelProtocol(Protocol):
    ended: bool

    def feed(self, data: bytes, take: Take) -> bytes:
        """Passes received data to `take` with its channel. Returns the bytes to send in reply."""
        ...

    def input(self, data: bytes) -> bytes:
        """Encodes standard input. b"" is its end."""
        ...


class ExecConnection:
    def __init__(self, stream: ssl.SSLSocket, protocol: ChannelProtocol, outgoing: bytes, incoming: bytes) -> None:
        self._stream, self._protocol = stream, protocol
        self._outgoing, self._incoming = bytearray(outgoing), incoming
        self._stream.setblocking(False)

    def pump(self, stdin: int | None, take: Take) -> None:
        """Copies until the server closes. Passes received data to `take` with its channel."""
        while not self._protocol.ended:
            self._receive(take)
            if self._protocol.ended:
                return
            reads = [self._stream.fileno()]
            if stdin is not None and len(self._outgoing) < MAX_PENDING:
                reads.append(stdin)
            ready, _, _ = select.select(reads, [self._stream.fileno()] if self._outgoing else [], [])
            if stdin is not None and stdin in ready:
                data = os.read(stdin, PIECE)
                self._outgoing += self._protocol.input(data)
                stdin = stdin if data else None
            self._send()

    def _receive(self, take: Take) -> None:
        while not self._protocol.ended:
            if self._incoming:
                self._outgoing += self._protocol.feed(self._incoming, take)
                self._incoming = b""
                continue
            try:
                self._incoming = self._stream.recv(1 << 18)
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                return
            except (ssl.SSLError, OSError):
                self._incoming = b""
            if not self._incoming:
                self._protocol.ended = True

    def _send(self) -> None:
        while self._outgoing:
            try:
                sent = self._stream.send(self._outgoing[: 1 << 18])
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                return
            except OSError:
                self._protocol.ended = True
                return
            del self._outgoing[:sent]

    def close(self) -> None:
        self._stream.close()


def connect(access: api.ApiAccess, path: str, stdin: bool) -> ExecConnection:
    """Opens channels for stdout, stderr and the status, and for stdin on request. Raises CommandError."""
    from traincrew.embedded.kubelet.images.programs import websocket

    try:
        return _upgrade(access, websocket.request(access, path), lambda headers: (websocket.WebSocket(headers), b""))
    except api.CommandError:
        from traincrew.embedded.kubelet.images.programs import spdy

        return _upgrade(access, spdy.request(access, path), lambda headers: spdy.start(stdin))


def _upgrade(
    access: api.ApiAccess, request: bytes, begin: Callable[[dict[str, str]], tuple[ChannelProtocol, bytes]]
) -> ExecConnection:
    stream = api.connect(access)
    stream.sendall(request)
    status, headers, rest = api.read_response(stream)
    if status != 101:
        error = api.status_error(status, rest + _body(stream, headers, len(rest)))
        stream.close()
        raise error
    return ExecConnection(stream, *begin(headers), rest)


def _body(stream: ssl.SSLSocket, headers: dict[str, str], have: int) -> bytes:
    missing = int(headers.get("content-length", "0")) - have
    pieces = b""
    while len(pieces) < missing and (piece := stream.recv(PIECE)):
        pieces += piece
    return pieces
