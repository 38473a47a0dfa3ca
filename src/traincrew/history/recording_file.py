"""Compresses the lines of a recording, and reads them from a file that nobody vouches for: in pieces, each of limited size."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from traincrew import errors
from traincrew.apimachinery import byte_sizes
from traincrew.history import recording_lines
from traincrew.history.recording_lines import EndLine, Line, Manifest, RecordingLimits

_GZIP = 31
_MAGIC = b"\x1f\x8b"
_PIECE = 1024 * 1024
"""Bytes that are decompressed at a time."""
TRUNCATED = "the recording is not complete: the file was cut off. Export it, or copy it, again."


class RecordingEncoder:
    def __init__(self) -> None:
        self._compressor = zlib.compressobj(6, zlib.DEFLATED, _GZIP)
        self._lines = 0

    def line(self, line: Line) -> bytes:
        """May be empty: small lines are compressed together."""
        self._lines += 1
        return self._compressor.compress(recording_lines.encode(line))

    def end(self) -> bytes:
        last = self._compressor.compress(recording_lines.encode(EndLine(lines=self._lines)))
        return last + self._compressor.flush()


class RecordingDecoder:
    """Every method raises RecordingError."""

    def __init__(self, limits: RecordingLimits) -> None:
        self._limits = limits
        self._decompressor = zlib.decompressobj(_GZIP)
        self._is_plain = False
        """Some browsers decompress what they download."""
        self._partial = bytearray()
        self._start = b""
        self._read = self._content = self._lines = 0
        self._has_ended = False

    @property
    def size(self) -> int:
        """Bytes of the file that were read."""
        return self._read

    def feed(self, chunk: bytes) -> Iterator[Line]:
        """The lines that the chunk completes."""
        self._read += len(chunk)
        if self._read > self._limits.file:
            raise errors.RecordingError(
                f"the recording is larger than {byte_sizes.text(self._limits.file)}, which is the limit here."
            )
        for piece in self._decompressed(chunk):
            yield from self._split(piece)

    def finish(self) -> None:
        if not self._read:
            raise errors.RecordingError("the file is empty: it is not a recording of traincrew.")
        if self._lines == 0 and not self._is_plain and not self._start.startswith(_MAGIC):
            raise recording_lines.not_a_recording()
        if not self._has_ended or not (self._is_plain or self._decompressor.eof):
            raise errors.RecordingError(TRUNCATED)

    def _decompressed(self, chunk: bytes) -> Iterator[bytes]:
        if len(self._start) < 2:
            self._start += chunk
            if len(self._start) < 2:
                return
            self._is_plain, chunk = self._start.startswith(b"{"), self._start
        if self._is_plain:
            yield chunk
            return
        while chunk:
            if self._decompressor.eof:
                raise errors.RecordingError("the recording is damaged: data follows its end.")
            try:
                piece = self._decompressor.decompress(chunk, _PIECE)
            except zlib.error as error:
                if not self._lines:
                    raise recording_lines.not_a_recording() from None
                raise errors.RecordingError(f"the recording is damaged: {error}.") from None
            yield piece
            chunk = self._decompressor.unconsumed_tail or self._decompressor.unused_data

    def _split(self, piece: bytes) -> Iterator[Line]:
        self._content += len(piece)
        if self._content > self._limits.content:
            raise errors.RecordingError(
                f"the recording has more than {byte_sizes.text(self._limits.content)} of data, which is the limit."
            )
        first, *others = piece.split(b"\n")
        self._partial += first
        for part in others:
            yield self._decoded(bytes(self._partial))
            self._partial = bytearray(part)
        if len(self._partial) > self._limits.line:
            raise self._long_line()

    def _decoded(self, text: bytes) -> Line:
        if len(text) > self._limits.line:
            raise self._long_line()
        if self._has_ended:
            raise errors.RecordingError("the recording is damaged: lines follow its end.")
        self._lines += 1
        line = recording_lines.decode(self._lines, text)
        if self._lines == 1:
            recording_lines.check_manifest(line)
        elif isinstance(line, Manifest):
            raise errors.RecordingError(f"the recording is damaged: line {self._lines} begins another recording.")
        if isinstance(line, EndLine):
            self._has_ended = True
            if line.lines != self._lines - 1:
                missing = line.lines - (self._lines - 1)
                what = f"{missing} of {line.lines} lines are missing" if missing > 0 else "it has more lines than its end says"
                raise errors.RecordingError(f"the recording is damaged: {what}.")
        return line

    def _long_line(self) -> errors.RecordingError:
        if not self._lines:
            return recording_lines.not_a_recording()
        return errors.RecordingError(
            f"the recording is damaged: line {self._lines + 1} is longer than {byte_sizes.text(self._limits.line)}."
        )
