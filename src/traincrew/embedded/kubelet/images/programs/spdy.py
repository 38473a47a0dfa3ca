"""A command's streams over SPDY/3.1 (v4.channel.k8s.io): one of its streams for each of them."""

from collections.abc import Callable

from traincrew.embedded.kubelet.images.programs import api
from traincrew.embedded.kubelet.server import spdy_frames

PROTOCOL = "v4.channel.k8s.io"
_STREAMS = {1: ("error", 3), 3: ("stdout", 1), 5: ("stderr", 2), 7: ("stdin", 0)}
"""By their numbers: what Kubernetes calls it, and its channel."""
_STDIN = 7


def request(access: api.ApiAccess, path: str) -> bytes:
    more = f"Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: {PROTOCOL}\r\nContent-Length: 0\r\n"
    return api.request_head(access, path, more, "POST")


def begun(stdin: bool) -> tuple["Spdy", bytes]:
    """And what opens its streams."""
    encoder = spdy_frames.Encoder()
    wanted = [number for number in _STREAMS if stdin or number != _STDIN]
    return Spdy(), b"".join(encoder.open(number, {"streamtype": _STREAMS[number][0]}) for number in wanted)


class Spdy:
    def __init__(self) -> None:
        self.ended = False
        self._decoder = spdy_frames.Decoder()
        self._coming = {number for number in _STREAMS if number != _STDIN}

    def input(self, data: bytes) -> bytes:
        return spdy_frames.data(_STDIN, data, fin=not data)

    def feed(self, data: bytes, take: Callable[[int, bytes], None]) -> bytes:
        answers = b""
        try:
            for frame in self._decoder.feed(data):
                answers += self._handle(frame, take)
        except spdy_frames.BadFrame:
            self._coming.clear()
        self.ended = not self._coming
        return answers

    def _handle(self, frame: spdy_frames.Frame, take: Callable[[int, bytes], None]) -> bytes:
        if isinstance(frame, spdy_frames.Ping):
            return b"" if frame.id % 2 else spdy_frames.ping(frame.id)
        if isinstance(frame, spdy_frames.DataFrame) and frame.data and frame.stream in _STREAMS:
            take(_STREAMS[frame.stream][1], frame.data)
        if isinstance(frame, spdy_frames.RstStream) or (
            isinstance(frame, spdy_frames.DataFrame | spdy_frames.SynReply) and frame.fin
        ):
            self._coming.discard(frame.stream)
        return b""
