"""A terminal in a replica, and what changed since a job was submitted."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect


def test_a_command_runs_in_a_replica(page: Page) -> None:
    page.goto("/jobs/default/pytorchjob/digits/replicas/worker-1")
    page.get_by_role("button", name="Open a terminal").click()
    page.get_by_role("textbox", name="Terminal of worker-1").focus()
    page.keyboard.type("echo rank $((1 + 1)) of $WORLD_SIZE; exit 7\n")
    expect(page.locator(".xterm-rows")).to_contain_text("rank 2 of 3")
    expect(page.get_by_text("exit code 7")).to_be_visible()


def test_a_replica_that_has_ended_has_no_terminal(page: Page) -> None:
    page.goto("/jobs/default/tfjob/evaluate/replicas/worker-0")
    expect(page.get_by_role("button", name="Open a terminal")).to_have_attribute("aria-disabled", "true")


def test_the_yaml_shows_what_changed_since_it_was_submitted(page: Page) -> None:
    page.goto("/jobs/default/pytorchjob/digits/yaml")
    page.get_by_text("Changes since submitted").click()
    expect(page).to_have_url(re.compile("view=diff"))
    expect(page.locator(".cm-changedLine").first).to_be_visible()
