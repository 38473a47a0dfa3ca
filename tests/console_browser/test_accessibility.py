"""axe finds no violation of WCAG 2.2 AA on any page, in the light and in the dark theme."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

JOB = "/jobs/default/pytorchjob"
PAGES = {
    "jobs": "/jobs",
    "new job": "/jobs/new",
    "templates": "/templates",
    "nodes": "/nodes",
    "queues": "/queues",
    "failed job": f"{JOB}/broken",
    "running job": f"{JOB}/digits",
    "replicas": f"{JOB}/digits/replicas",
    "replica": f"{JOB}/digits/replicas/worker-1",
    "logs": f"{JOB}/digits/logs",
    "metrics": f"{JOB}/digits/metrics",
    "events": f"{JOB}/broken/events",
    "yaml": f"{JOB}/digits/yaml",
    "missing job": f"{JOB}/nothing",
}
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}


@pytest.mark.parametrize("page", [{"color_scheme": "light"}, {"color_scheme": "dark"}], indirect=True, ids=["light", "dark"])
@pytest.mark.parametrize("path", PAGES.values(), ids=PAGES.keys())
def test_a_page_is_accessible(page: Page, path: str) -> None:
    page.goto(path)
    page.locator("h1, [role=alert]").first.wait_for()
    page.locator("[aria-busy=true], .mantine-Skeleton-root").first.wait_for(state="detached")
    found = Axe().run(page, options=RULES).response["violations"]
    assert not [(each["id"], each["help"], [node["html"][:200] for node in each["nodes"][:3]]) for each in found]
