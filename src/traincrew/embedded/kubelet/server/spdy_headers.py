"""The header blocks of SPDY/3.1: names and values, compressed in one zlib stream per connection."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping

MAX_BLOCK = 64 * 1024
"""The maximum size of a decompressed block."""

_NAMES = (
    "options", "head", "post", "put", "delete", "trace", "accept", "accept-charset", "accept-encoding", "accept-language",
    "accept-ranges", "age", "allow", "authorization", "cache-control", "connection", "content-base", "content-encoding",
    "content-language", "content-length", "content-location", "content-md5", "content-range", "content-type", "date", "etag",
    "expect", "expires", "from", "host", "if-match", "if-modified-since", "if-none-match", "if-range", "if-unmodified-since",
    "last-modified", "location", "max-forwards", "pragma", "proxy-authenticate", "proxy-authorization", "range", "referer",
    "retry-after", "server", "te", "trailer", "transfer-encoding", "upgrade", "user-agent", "vary", "via", "warning",
    "www-authenticate", "method", "get", "status", "200 OK", "version", "HTTP/1.1", "url", "public", "set-cookie",
    "keep-alive", "origin",
)  # fmt: skip
_TEXT = (
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505203 Non-Authoritative Information"
    "204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden404 Not Found500 Internal Server Error"
    "501 Not Implemented503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, "
    "Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,"
    "text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0."
)
DICTIONARY = b"".join(struct.pack(">I", len(name)) + name.encode() for name in _NAMES) + _TEXT.encode()


class BadHeaders(Exception):
    """The block cannot be decoded. Neither can later blocks, because they share a compression state."""


class Deflater:
    def __init__(self) -> None:
        self._zlib = zlib.compressobj(zlib.Z_BEST_COMPRESSION, zdict=DICTIONARY)

    def pack(self, headers: Mapping[str, str]) -> bytes:
        block = struct.pack(">I", len(headers))
        for name, value in headers.items():
            for text in (name.lower().encode(), value.encode()):
                block += struct.pack(">I", len(text)) + text
        return self._zlib.compress(block) + self._zlib.flush(zlib.Z_SYNC_FLUSH)


class Inflater:
    def __init__(self) -> None:
        self._zlib = zlib.decompressobj(zdict=DICTIONARY)

    def unpack(self, block: bytes) -> dict[str, str]:
        """Names are in lower case. Of several values, which a NUL separates, the first is returned."""
        try:
            plain = self._zlib.decompress(block, MAX_BLOCK)
            if self._zlib.unconsumed_tail:
                raise BadHeaders(f"headers are larger than {MAX_BLOCK} bytes")
            return _parse(plain)
        except (zlib.error, struct.error, UnicodeDecodeError) as error:
            raise BadHeaders(str(error)) from error


def _parse(plain: bytes) -> dict[str, str]:
    (count,) = struct.unpack_from(">I", plain)
    at, headers = 4, {}
    for _ in range(count):
        name, at = _text(plain, at)
        value, at = _text(plain, at)
        headers[name.lower()] = value.partition("\0")[0]
    return headers


def _text(plain: bytes, at: int) -> tuple[str, int]:
    (length,) = struct.unpack_from(">I", plain, at)
    end = at + 4 + length
    if end > len(plain):
        raise BadHeaders("truncated header")
    return plain[at + 4 : end].decode(), end
