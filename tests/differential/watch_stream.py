"""One watch: reads events up to a condition of the scenario."""

from __future__ import annotations

import http.client
import json
from typing import Any

Event = dict[str, Any]


class Watch:
    def __init__(self, response: http.client.HTTPResponse) -> None:
        self._response = response
        self.events: list[Event] = []
        self.error: Any = None
        if response.status != 200:
            text = response.read()
            try:
                self.error = json.loads(text)
            except ValueError:
                self.error = text.decode("utf-8", "backslashreplace")

    def read(self, count: int) -> list[Event]:
        """Reads this many more events."""
        events: list[Event] = []
        while len(events) < count and (event := self._next()) is not None:
            if not _is_periodic_bookmark(event):
                events.append(event)
        return events

    def until(self, name: str, kind: str = "") -> list[Event]:
        """Reads up to the first event of an object of that name; `kind` is ADDED, MODIFIED, DELETED or any."""
        events = []
        while (event := self._next()) is not None:
            events.append(event)
            if object_name(event) == name and kind in ("", event.get("type")):
                break
        return events

    def rest(self) -> list[Event]:
        """Reads all events until the server ends the stream."""
        events = []
        while (event := self._next()) is not None:
            events.append(event)
        return events

    def bookmark(self) -> None:
        """Reads up to the first bookmark, which is recorded."""
        while (event := self._next()) is not None:
            if event.get("type") == "BOOKMARK":
                self.events.append(event)
                return

    def _next(self) -> Event | None:
        if self._response.status != 200:
            return None
        try:
            line = self._response.readline()
        except (OSError, http.client.HTTPException) as error:
            self.events.append({"type": f"no event: {type(error).__name__}"})
            return None
        if not line:
            return None
        try:
            event: Event = json.loads(line)
        except ValueError:
            event = {"type": "not JSON", "object": line.decode("utf-8", "backslashreplace")}
        if not _is_periodic_bookmark(event):
            self.events.append(event)
        return event


def _is_periodic_bookmark(event: Event) -> bool:
    """Servers send bookmarks at any time, except for the one that ends the initial events."""
    obj = event.get("object")
    noted = obj.get("metadata", {}).get("annotations") if isinstance(obj, dict) else None
    return event.get("type") == "BOOKMARK" and not noted


def object_name(event: Event) -> str:
    obj = event.get("object", {})
    if isinstance(obj, dict) and obj.get("kind") == "Table":
        rows = obj.get("rows") or [{}]
        obj = rows[-1].get("object", {})
    return str(obj.get("metadata", {}).get("name", "")) if isinstance(obj, dict) else ""
