"""The body of an HTML page whose links are rewritten, in its content encoding."""

from __future__ import annotations

import asyncio
import codecs
import zlib
from collections.abc import AsyncIterator, Iterator
from typing import Protocol

from traincrew.embedded.apiserver.streams.html_links import LinkStream, Rewrite

_WINDOW_BITS = {"gzip": 16 + zlib.MAX_WBITS, "deflate": -zlib.MAX_WBITS}
_PIECE = 32768
"""Bytes that are rewritten at once; then other requests have their turn. A short body may be long decompressed."""
ENCODINGS = ("", *_WINDOW_BITS)


class _Coder(Protocol):
    def decode(self, data: bytes) -> Iterator[bytes]: ...
    def encode(self, data: bytes) -> bytes: ...
    def flush(self) -> bytes: ...


class _Identity:
    def decode(self, data: bytes) -> Iterator[bytes]:
        return (data[at : at + _PIECE] for at in range(0, len(data), _PIECE))

    def encode(self, data: bytes) -> bytes:
        return data

    def flush(self) -> bytes:
        return b""


class _Compressed:
    def __init__(self, encoding: str) -> None:
        bits = _WINDOW_BITS[encoding]
        self._decompressor, self._compressor = zlib.decompressobj(bits), zlib.compressobj(wbits=bits)

    def decode(self, data: bytes) -> Iterator[bytes]:
        yield self._decompressor.decompress(data, _PIECE)
        while self._decompressor.unconsumed_tail:
            yield self._decompressor.decompress(self._decompressor.unconsumed_tail, _PIECE)

    def encode(self, data: bytes) -> bytes:
        # Flushed with every piece: a page may be sent slowly, and be read while it is sent.
        return self._compressor.compress(data) + self._compressor.flush(zlib.Z_SYNC_FLUSH) if data else b""

    def flush(self) -> bytes:
        return self._compressor.flush()


async def rewritten(body: AsyncIterator[bytes], encoding: str, rewrite: Rewrite) -> AsyncIterator[bytes]:
    """Raises zlib.error for a body that is not in this encoding."""
    coder: _Coder = _Compressed(encoding) if encoding else _Identity()
    decoder, links = codecs.getincrementaldecoder("utf-8")("surrogateescape"), LinkStream(rewrite)
    async for data in body:
        for piece in coder.decode(data):
            if out := coder.encode(_bytes(links.feed(decoder.decode(piece)))):
                yield out
            await asyncio.sleep(0)
    yield coder.encode(_bytes(links.feed(decoder.decode(b"", True)) + links.end())) + coder.flush()


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
