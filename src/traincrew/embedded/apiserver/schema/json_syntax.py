"""JSON syntax errors, as Go's scanner reports them."""

from __future__ import annotations

import re

from traincrew.apimachinery import go_format

MAX_DEPTH = 10_000
END = "unexpected end of JSON input"
_SPACE = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*"')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_PART_OF_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*')
_PART_OF_NUMBER = re.compile(r"-?(?:(?:0|[1-9][0-9]*)(?:\.(?:[0-9]+)?)?)?(?:(?<=[0-9])[eE][+-]?)?")
_MIDWAY = ("in literal", "in numeric", "after decimal", "in exponent", "in string escape", "in \\u")
_LITERALS = ("true", "false", "null")


class NotJson(ValueError):
    """Invalid JSON. The message is that of Go."""


def check(body: bytes) -> None:
    """Raises NotJson at the first syntax error. Invalid UTF-8 is not an error."""
    _Scan(body.decode("latin-1")).whole()


class _Scan:
    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0
        self.open: list[str] = []

    def whole(self) -> None:
        self.value()
        while self.open:
            self._next_part()
        self.space()
        if self.place < len(self.text):
            raise self._invalid("after top-level value")

    def _next_part(self) -> None:
        """Scans the token after a value inside an object or a list."""
        closing = self.open[-1]
        character = self._peek()
        if character == closing:
            self.place += 1
            self.open.pop()
        elif character == ",":
            self.place += 1
            if closing == "}":
                self._key()
            self.value()
        else:
            raise self._invalid("after object key:value pair" if closing == "}" else "after array element")

    def value(self) -> None:
        """Scans one value; of a non-empty object or list the beginning, up to its first value."""
        while True:
            character = self._peek()
            if character not in "{[":
                self._scalar(character)
                return
            self._enter(character)
            if self._peek() == self.open[-1]:
                self.place += 1
                self.open.pop()
                return
            if self.open[-1] == "}":
                self._key()

    def _enter(self, character: str) -> None:
        if len(self.open) >= MAX_DEPTH:
            raise self._invalid("exceeded max depth")
        self.open.append("}" if character == "{" else "]")
        self.place += 1

    def _key(self) -> None:
        if self._peek() != '"':
            raise self._invalid("looking for beginning of object key string")
        self._scalar('"')
        if self._peek() != ":":
            raise self._invalid("after object key")
        self.place += 1

    def _scalar(self, character: str) -> None:
        if character == '"':
            if not self._take(_STRING):
                self._broken_string()
        elif character in "-0123456789":
            if not self._take(_NUMBER):
                self._broken_number()
        else:
            self._literal()

    def _literal(self) -> None:
        word = next((word for word in _LITERALS if word[0] == self.text[self.place]), None)
        if word is None:
            raise self._invalid("looking for beginning of value")
        for index, expected in enumerate(word):
            if self.text[self.place : self.place + 1] != expected:
                raise self._invalid(f"in literal {word} (expecting {go_format.quote_rune(word[index])})")
            self.place += 1

    def _broken_string(self) -> None:
        self._take(_PART_OF_STRING)
        rest = self.text[self.place : self.place + 6]
        if not rest.startswith("\\"):
            raise self._invalid("in string literal")
        self.place += 1
        if not rest.startswith("\\u"):
            raise self._invalid("in string escape code")
        self.place += 1
        self._take(re.compile(r"[0-9a-fA-F]{0,4}"))
        raise self._invalid("in \\u hexadecimal character escape")

    def _broken_number(self) -> None:
        start = self.place
        self._take(_PART_OF_NUMBER)
        taken = self.text[start : self.place]
        if taken.endswith("."):
            raise self._invalid("after decimal point in numeric literal")
        raise self._invalid("in exponent of numeric literal" if "e" in taken.lower() else "in numeric literal")

    def _take(self, form: re.Pattern[str]) -> bool:
        match = form.match(self.text, self.place)
        if match is None or (form is _NUMBER and self.text[match.end() : match.end() + 1] in (".", "e", "E")):
            return False
        self.place = match.end()
        return True

    def _peek(self) -> str:
        self.space()
        if self.place >= len(self.text):
            raise NotJson(END)
        return self.text[self.place]

    def space(self) -> None:
        match = _SPACE.match(self.text, self.place)
        self.place = match.end() if match else self.place

    def _invalid(self, context: str) -> NotJson:
        ended = self.place >= len(self.text)
        if ended and not context.startswith(_MIDWAY):
            return NotJson(END)
        # Go appends a space to detect an unfinished literal.
        character = " " if ended else self.text[self.place]
        return NotJson(f"invalid character {go_format.quote_rune(character)} {context}")
