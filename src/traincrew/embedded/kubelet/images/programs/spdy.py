"""Exec over SPDY/3.1 (v4.channel.k8s.io): a SPDY stream for each channel."""

from collections.abc import Callable

from traincrew.embedded.kubelet.images.programs import api
from traincrew.embedded.kubelet.server import spdy_frames

PROTOCOL = "v4.channel.k8s.io"
_STREAMS = {1: ("error", 3), 3: ("stdout", 1), 5: ("stderr", 2), 7: ("stdin", 0)}
"""Stream type and channel by stream number."""
_STDIN = 7


def request(access: api.ApiAccess, path: str) -> bytes:
    more = f"Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: {PROTOCOL}\r\nContent-Length: 0\r\n"
    return api.request_head(access, path, more, "POST")


def start(stdin: bool) -> tuple["Spdy", bytes]:
    """The protocol, and the frames that open its streams."""
    encoder = spdy_frames.Encoder()
    numbers = [number for number in _STREAMS if stdin or number != _STDIN]
    return Spdy(), b"".join(encoder.open(number, {"streamtype": _STREAMS[number][0]}) for number in numbers)


class Spdy:
    def __init__(self) -> None:
        self.ended = False
        self._decoder = spdy_frames.Decoder()
        self._open = {number for number in _STREAMS if number != _STDIN}

    def input(self, data: bytes) -> bytes:
        return spdy_frames.data(_STDIN, data, fin=not data)

    def feed(self, data: bytes, take: Callable[[int, bytes], None]) -> bytes:
        replies = b""
        try:
            for frame in self._decoder.feed(data):
                replies += self._handle(frame, take)
        except spdy_frames.BadFrame:
            self._open.clear()
        self.ended = not self._open
        return replies

    def _handle(self, frame: spdy_frames.Frame, take: Callable[[int, bytes], None]) -> bytes:
        if isinstance(frame, spdy_frames.Ping):
            return b"" if frame.id % 2 else spdy_frames.ping(frame.id)
        if isinstance(frame, spdy_frames.DataFrame) and frame.data and frame.stream in _STREAMS:
            take(_STREAMS[frame.stream][1], frame.data)
        if isinstance(frame, spdy_frames.RstStream) or (
            isinstance(frame, spdy_frames.DataFrame | spdy_frames.SynReply) and frame.fin
        ):
            self._open.discard(frame.stream)
        return b""
