"""Reports what a verb has done to objects: as sentences, as names, or as the objects themselves."""

from __future__ import annotations

from typing import Any

import msgspec

from traincrew.cli.render import serialization, terminal


class ActionReport:
    def __init__(self, form: str) -> None:
        self._form = form
        self._objects: list[dict[str, Any]] = []

    def add(self, sentence: str, raw: bytes) -> None:
        """Sentences and names are printed at once, objects by `close`."""
        if self._form == "text":
            terminal.echo(sentence)
            return
        document: dict[str, Any] = msgspec.json.decode(raw)
        if self._form == "name":
            terminal.echo(serialization.name(document))
        else:
            self._objects.append(document)

    def close(self) -> None:
        if self._form in ("json", "yaml"):
            found = self._objects
            serialization.show(found[0] if len(found) == 1 else serialization.as_list(found), self._form)
