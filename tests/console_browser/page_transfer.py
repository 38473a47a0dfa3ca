"""What a browser receives for a page, as it counts it: compressed, with the headers of the responses."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Page


class PageTransfer:
    """Counts from its creation on. Answers of the API are no files of the page."""

    def __init__(self, page: Page) -> None:
        self.files: dict[str, int] = {}
        self._addresses: dict[str, str] = {}
        session = page.context.new_cdp_session(page)
        session.on("Network.requestWillBeSent", self._sent)
        session.on("Network.loadingFinished", self._finished)
        session.send("Network.enable")

    @property
    def total(self) -> int:
        return sum(self.files.values())

    def _sent(self, event: dict[str, Any]) -> None:
        self._addresses[event["requestId"]] = event["request"]["url"]

    def _finished(self, event: dict[str, Any]) -> None:
        path = urlsplit(self._addresses[event["requestId"]]).path
        if not path.startswith("/api/"):
            self.files[path] = int(event["encodedDataLength"])
