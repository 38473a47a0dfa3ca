"""A connection to the API server that carries a command's streams, whichever way it lets them pass.

A WebSocket is opened by a GET, and API servers ask for the right to `get` then; SPDY is opened by a POST, for the right to
`create`. Roles of launchers have the latter alone, so what is refused the one way is asked for the other way, as kubectl does.
"""

import os
import select
import ssl
from collections.abc import Callable
from typing import Protocol

from traincrew.embedded.kubelet.images.programs import api

STDIN, STDOUT, STDERR, ERROR = range(4)
PIECE = 32768
FULL = 1 << 20
"""Bytes on their way to the server before standard input waits."""

Take = Callable[[int, bytes], None]


class ChannelProtocol(Protocol):
    ended: bool

    def feed(self, data: bytes, take: Take) -> bytes:
        """What came is handed on with its channel; returned is what has to be answered."""
        ...

    def input(self, data: bytes) -> bytes:
        """What to send; b"" is the input's end."""
        ...


class ExecConnection:
    def __init__(self, stream: ssl.SSLSocket, dialect: ChannelProtocol, going: bytes, seen: bytes) -> None:
        self._stream, self._dialect = stream, dialect
        self._going, self._seen = bytearray(going), seen
        self._stream.setblocking(False)

    def pump(self, stdin: int | None, take: Take) -> None:
        """Until the server ends; what comes is handed to `take` with its channel."""
        while not self._dialect.ended:
            self._receive(take)
            if self._dialect.ended:
                return
            reads = [self._stream.fileno()]
            if stdin is not None and len(self._going) < FULL:
                reads.append(stdin)
            ready, _, _ = select.select(reads, [self._stream.fileno()] if self._going else [], [])
            if stdin is not None and stdin in ready:
                data = os.read(stdin, PIECE)
                self._going += self._dialect.input(data)
                stdin = stdin if data else None
            self._send()

    def _receive(self, take: Take) -> None:
        while not self._dialect.ended:
            if self._seen:
                self._going += self._dialect.feed(self._seen, take)
                self._seen = b""
                continue
            try:
                self._seen = self._stream.recv(1 << 18)
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                return
            except (ssl.SSLError, OSError):
                self._seen = b""
            if not self._seen:
                self._dialect.ended = True

    def _send(self) -> None:
        while self._going:
            try:
                sent = self._stream.send(self._going[: 1 << 18])
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                return
            except OSError:
                self._dialect.ended = True
                return
            del self._going[:sent]

    def close(self) -> None:
        self._stream.close()


def connect(access: api.ApiAccess, path: str, stdin: bool) -> ExecConnection:
    """Streams for output, errors and the outcome, and for input if that is wanted. Raises Failed."""
    from traincrew.embedded.kubelet.images.programs import websocket

    try:
        return _upgraded(access, websocket.request(access, path), lambda headers: (websocket.WebSocket(headers), b""))
    except api.CommandError:
        from traincrew.embedded.kubelet.images.programs import spdy

        return _upgraded(access, spdy.request(access, path), lambda headers: spdy.begun(stdin))


def _upgraded(
    access: api.ApiAccess, request: bytes, begin: Callable[[dict[str, str]], tuple[ChannelProtocol, bytes]]
) -> ExecConnection:
    stream = api.connect(access)
    stream.sendall(request)
    status, headers, rest = api.read_response(stream)
    if status != 101:
        refusal = api.status_error(status, rest + _body(stream, headers, len(rest)))
        stream.close()
        raise refusal
    return ExecConnection(stream, *begin(headers), rest)


def _body(stream: ssl.SSLSocket, headers: dict[str, str], have: int) -> bytes:
    wanted = int(headers.get("content-length", "0")) - have
    pieces = b""
    while len(pieces) < wanted and (piece := stream.recv(PIECE)):
        pieces += piece
    return pieces
