"""How much a browser receives before it shows the list of jobs."""

from __future__ import annotations

from playwright.sync_api import Page
from tests.console_browser.page_transfer import PageTransfer

MOST_BYTES = 330_000
MOST_FILES = 5


def test_the_first_page_is_small(page: Page) -> None:
    transfer = PageTransfer(page)
    page.goto("/jobs")
    page.get_by_role("row").nth(1).wait_for()
    assert "/jobs" in transfer.files
    assert transfer.total <= MOST_BYTES, transfer.files
    assert len(transfer.files) <= MOST_FILES, transfer.files
