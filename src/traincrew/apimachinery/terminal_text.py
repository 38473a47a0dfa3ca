"""Text that a terminal shows and does not obey. Anyone who may create a job can put control characters into its messages."""

from __future__ import annotations

import re

_INVISIBLE = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f"  # control characters but tab and newline: bell, backspace, carriage return, escape
    "\x80-\x9f"  # their second set, whose \x9b begins an escape sequence, too
    "\xad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"  # bidi, zero width
    "\u2028\u2029"  # line and paragraph separator
    "\ud800-\udfff"  # half of a pair, which cannot be encoded
    "]"
)


def printable(text: str) -> str:
    """The text with such characters made visible: ^[ for escape, <U+202E> for an override of the writing direction."""
    return _INVISIBLE.sub(_visible, text)


def _visible(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"^{chr(code ^ 0x40)}" if code < 0x80 else f"<U+{code:04X}>"
