"""Names of properties in CEL."""

from __future__ import annotations

import re

from traincrew.apimachinery.string_cache import cached

_RESERVED = {
    "true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop",
    "package", "namespace", "return", "var", "void", "while",
}  # fmt: skip


@cached(4096)
def escaped(name: str) -> str:
    """The escaped name of a property in CEL."""
    if name in _RESERVED:
        return f"__{name}__"
    if re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_]*", name) and "__" not in name:
        return name
    for character, word in (("__", "underscores"), (".", "dot"), ("-", "dash"), ("/", "slash")):
        name = name.replace(character, f"\0{word}\0")
    return name.replace("\0", "__")
