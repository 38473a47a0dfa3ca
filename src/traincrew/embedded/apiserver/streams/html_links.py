"""Rewrites the links of an HTML page while it is streamed. Pure.

Tags are found as browsers find them: not in comments, not in the text of scripts and styles. Everything else passes unchanged.
The page is that of a pod and may be made to cost time: no character is read again after it was found not to end anything.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from typing import NamedTuple

Rewrite = Callable[[str], str]
"""Raises ValueError for a link that is not a URL."""

LINKS = {
    "a": ("href",), "applet": ("codebase",), "area": ("href",), "audio": ("src",), "base": ("href",), "blockquote": ("cite",),
    "body": ("background",), "button": ("formaction",), "command": ("icon",), "del": ("cite",), "embed": ("src",),
    "form": ("action",), "frame": ("longdesc", "src"), "head": ("profile",), "html": ("manifest",),
    "iframe": ("longdesc", "src"), "img": ("longdesc", "src", "usemap"), "input": ("src", "usemap", "formaction"),
    "ins": ("cite",), "link": ("href",), "object": ("classid", "codebase", "data", "usemap"), "q": ("cite",),
    "script": ("src",), "source": ("src",), "video": ("poster",),
}  # fmt: skip
"""Attributes with URLs by tag, as kube-apiserver has them."""
_RAW_TEXT = ("script", "style", "textarea", "title", "iframe", "noembed", "noframes", "noscript", "plaintext", "xmp")
"""The content of these elements has no tags."""
MAX_TAG = 16384
"""Characters of a tag. A longer one passes unchanged, so that a tag without an end is not kept in memory."""

_NAME = re.compile(r"<([a-zA-Z][^\s/>]*+)")
_ATTRIBUTE = re.compile(r"""([^\s/>=]++)(?:(\s*+=\s*+)("[^"]*+"|'[^']*+'|[^\s>]*+))?+""")
"""Also without a value: a search that rejects a name begins again at its second character."""
_END_OR_QUOTE = re.compile(r"""[>"']""")
_QUOTES = {quote: re.compile(quote) for quote in "\"'"}


class _Passage(NamedTuple):
    """Text that has no tags."""

    end: re.Pattern[str]
    cut: int
    """Characters of the end that the text so far may have."""


_TO_BRACKET = _Passage(re.compile(">"), 0)
_COMMENT = _Passage(re.compile("-->"), 2)
_RAW = {name: _Passage(re.compile(rf"</{name}[\s/>]", re.IGNORECASE), len(name) + 2) for name in _RAW_TEXT}


class LinkStream:
    """Text goes in piece by piece, the text with rewritten links comes out."""

    def __init__(self, rewrite: Rewrite) -> None:
        self._rewrite = rewrite
        self._text, self._at = "", 0
        self._passage: _Passage | None = None
        self._tag_read, self._tag_stop = 0, _END_OR_QUOTE
        """Of a tag that is not complete: how many of its characters are read, and what is searched next."""
        self.read = 0
        """Characters that were read so far. Linear in the text, whatever it is."""

    def feed(self, text: str) -> str:
        self._text, self._at = self._text[self._at :] + text, 0
        written: list[str] = []
        while self._at < len(self._text) and (piece := self._next()) is not None:
            written.append(piece)
        return "".join(written)

    def end(self) -> str:
        """The rest, which is no complete tag."""
        return self._take(len(self._text))

    def _take(self, end: int) -> str:
        taken, self._at = self._text[self._at : end], end
        return taken

    def _search(self, pattern: re.Pattern[str], start: int, limit: int) -> int:
        """Where the text that is found ends; -1 if there is none."""
        found = pattern.search(self._text, start, limit)
        end = found.end() if found is not None else -1
        self.read += (end if end >= 0 else min(limit, len(self._text))) - start
        return end

    def _next(self) -> str | None:
        """The next piece that is complete; None if more text is needed."""
        if self._passage is not None:
            return self._pass(self._passage)
        if self._text[self._at] != "<":
            start = self._text.find("<", self._at)
            end = start if start >= 0 else len(self._text)
            self.read += end - self._at
            return self._take(end)
        return self._markup(self._text[self._at + 1 : self._at + 4])

    def _markup(self, following: str) -> str | None:
        if following == "!--":
            return self._begin(_COMMENT, 2)
        if "!--".startswith(following):
            return None
        if following[0] in "/!?":
            return self._begin(_TO_BRACKET, 2)
        return self._tag() if following[0].isascii() and following[0].isalpha() else self._take(self._at + 1)

    def _begin(self, passage: _Passage, length: int) -> str:
        self._passage = passage
        return self._take(self._at + length)

    def _pass(self, passage: _Passage) -> str | None:
        end = self._search(passage.end, self._at, len(self._text))
        if end >= 0:
            self._passage = None
            return self._take(end)
        whole = len(self._text) - passage.cut
        return self._take(whole) if whole > self._at else None

    def _tag(self) -> str | None:
        limit = self._at + MAX_TAG
        while (end := self._search(self._tag_stop, self._at + self._tag_read, limit)) >= 0:
            self._tag_read, stop = end - self._at, self._text[end - 1]
            if stop == ">":
                self._tag_read = 0
                return self._complete(self._take(end))
            self._tag_stop = _QUOTES[stop] if self._tag_stop is _END_OR_QUOTE else _END_OR_QUOTE
        self._tag_read = min(limit, len(self._text)) - self._at
        if self._tag_read < MAX_TAG:
            return None
        self._tag_read, self._tag_stop = 0, _END_OR_QUOTE
        return self._begin(_TO_BRACKET, MAX_TAG)

    def _complete(self, tag: str) -> str:
        named = _NAME.match(tag)
        assert named is not None
        name = named[1].lower()
        self._passage = _RAW.get(name)
        return self._with_links(tag, named.end(), LINKS.get(name, ()))

    def _with_links(self, tag: str, start: int, attributes: tuple[str, ...]) -> str:
        def replaced(found: re.Match[str]) -> str:
            name, equals, value = found.groups()
            if equals is None or name.lower() not in attributes:
                return found[0]
            try:
                link = html.unescape(value[1:-1] if value[:1] in ('"', "'") else value)
                rewritten = self._rewrite(link)
            except ValueError:
                return found[0]
            return found[0] if rewritten == link else f'{name}{equals}"{html.escape(rewritten)}"'

        return tag[:start] + _ATTRIBUTE.sub(replaced, tag[start:]) if attributes else tag
