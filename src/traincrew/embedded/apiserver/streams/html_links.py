"""Rewrites the links of an HTML page while it is streamed. Pure.

Tags are found as browsers find them: not in comments, not in the text of scripts and styles. Everything else passes unchanged.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable

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

_NAME = re.compile(r"<([a-zA-Z][^\s/>]*)")
_ATTRIBUTE = re.compile(r"""([^\s/>=]++)(\s*+=\s*+)("[^"]*+"|'[^']*+'|[^\s>]*+)""")
_TAG = re.compile(r"""<[a-zA-Z](?:[^>"']|"[^"]*+"|'[^']*+')*+>""")
_RAW_END = {name: re.compile(rf"</{name}[\s/>]", re.IGNORECASE) for name in _RAW_TEXT}


class LinkStream:
    """Text goes in piece by piece, the text with rewritten links comes out."""

    def __init__(self, rewrite: Rewrite) -> None:
        self._rewrite = rewrite
        self._text, self._at = "", 0
        self._raw = ""
        """The element whose text is passed."""

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

    def _next(self) -> str | None:
        """The next piece that is complete; None if more text is needed."""
        if self._raw:
            return self._raw_text()
        start = self._text.find("<", self._at)
        if start != self._at:
            return self._take(start if start > 0 else len(self._text))
        following = self._text[start + 1 : start + 4]
        if following == "!--":
            return self._until("-->")
        if "!--".startswith(following) and len(self._text) < start + 4:
            return None
        if following[:1] in ("/", "!", "?"):
            return self._until(">")
        return self._tag() if _NAME.match(self._text, start) else self._take(start + 1)

    def _raw_text(self) -> str | None:
        found = _RAW_END[self._raw].search(self._text, self._at)
        if found is not None:
            self._raw = ""
            return self._take(found.end())
        # The end tag may be cut at the end of the text.
        end = len(self._text) - len(self._raw) - 3
        return self._take(end) if end > self._at else None

    def _until(self, end: str) -> str | None:
        at = self._text.find(end, self._at)
        if at >= 0:
            return self._take(at + len(end))
        return self._take(self._at + 1) if len(self._text) - self._at > MAX_TAG else None

    def _tag(self) -> str | None:
        start = self._at
        found = _TAG.match(self._text, start, start + MAX_TAG)
        if found is None:
            return self._take(start + 1) if len(self._text) - start > MAX_TAG else None
        named = _NAME.match(self._text, start)
        assert named is not None
        name, tag = named[1].lower(), self._take(found.end())
        if name in _RAW_END:
            self._raw = name
        return self._with_links(tag, named.end() - start, LINKS.get(name, ()))

    def _with_links(self, tag: str, start: int, attributes: tuple[str, ...]) -> str:
        def replaced(found: re.Match[str]) -> str:
            name, equals, value = found.groups()
            if name.lower() not in attributes:
                return found[0]
            link = html.unescape(value[1:-1] if value[:1] in ('"', "'") else value)
            try:
                rewritten = self._rewrite(link)
            except ValueError:
                return found[0]
            return found[0] if rewritten == link else f'{name}{equals}"{html.escape(rewritten)}"'

        return tag[:start] + _ATTRIBUTE.sub(replaced, tag[start:]) if attributes else tag
