"""The pages of nodes and queues."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect


def test_nodes_show_what_they_have_and_who_holds_it(page: Page) -> None:
    page.goto("/nodes")
    row = page.get_by_role("row").nth(1)
    expect(row).to_contain_text("Ready")
    expect(row).to_contain_text(re.compile(r"requested [\d.]+ of [\d.]+"))
    row.get_by_role("link", name="digits").click()
    expect(page.get_by_role("heading", name="digits")).to_be_visible()


def test_a_cluster_without_queues_says_what_to_install(page: Page) -> None:
    page.goto("/jobs")
    expect(page.get_by_role("link", name="Queues")).to_have_attribute("title", re.compile("Kueue"))
    page.get_by_role("link", name="Queues").click()
    expect(page.get_by_role("heading", name="Queues")).to_be_visible()
    expect(page.get_by_role("main")).to_contain_text("Kueue")
