"""axe finds no violation of WCAG 2.2 AA on any page, in the light and in the dark theme."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

JOB = "/jobs/default/pytorchjob"
FIT = "/Fits now|Does not fit now/"
"""A cluster does not overcommit CPU, so this machine may be too small for it."""


class Shown(NamedTuple):
    path: str
    part: str
    """A selector of what comes last on the page."""
    core: bool = False


PAGES = {
    "jobs": Shown("/jobs", "[role=row] >> text=broken", core=True),
    "new job": Shown("/jobs/new", f"text={FIT}", core=True),
    "templates": Shown("/templates", "text=tensorflow-benchmarks"),
    "nodes": Shown("/nodes", "tbody >> text=Ready"),
    "queues": Shown("/queues", "main >> text=Kueue"),
    "failed job": Shown(f"{JOB}/broken", "text=First failure", core=True),
    "running job": Shown(f"{JOB}/digits", "figure, .gantt"),
    "waiting job": Shown("/jobs/default/jaxjob/large-model", "text=What if"),
    "replicas": Shown(f"{JOB}/digits/replicas", "[role=row] >> text=worker-1", core=True),
    "replica": Shown(f"{JOB}/digits/replicas/worker-1", "text=WORLD_SIZE"),
    "logs": Shown(f"{JOB}/digits/logs", ".log-row >> text=loss", core=True),
    "metrics": Shown(f"{JOB}/digits/metrics", "canvas"),
    "tensorboard": Shown(f"{JOB}/digits/tensorboard", "main >> text=TensorBoard"),
    "events": Shown(f"{JOB}/broken/events", "tbody >> text=worker-1"),
    "yaml": Shown(f"{JOB}/digits/yaml", ".cm-content"),
    "missing job": Shown(f"{JOB}/nothing", "[role=alert]"),
}
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
# Colours that change while axe looks at them are neither those of before nor those of after.
THEMES = [{"color_scheme": theme, "reduced_motion": "reduce"} for theme in ("light", "dark")]


def violations(page: Page) -> list[tuple[str, str, list[str]]]:
    found = Axe().run(page, options=RULES).response["violations"]
    return [(each["id"], each["help"], [node["html"][:200] for node in each["nodes"][:3]]) for each in found]


@pytest.mark.parametrize("page", THEMES, indirect=True, ids=["light", "dark"])
@pytest.mark.parametrize(
    "shown", [pytest.param(each, id=name, marks=[pytest.mark.core] if each.core else []) for name, each in PAGES.items()]
)
def test_a_page_is_accessible(page: Page, shown: Shown) -> None:
    page.goto(shown.path)
    page.locator(shown.part).first.wait_for()
    expect(page.locator("[aria-busy=true], .mantine-Skeleton-root")).to_have_count(0)
    assert not violations(page)


@pytest.mark.parametrize("page", THEMES, indirect=True, ids=["light", "dark"])
def test_what_opens_on_a_page_is_accessible(page: Page) -> None:
    page.goto("/jobs/new?kind=pytorchjob")
    page.locator(f"text={FIT}").first.wait_for()
    for part in ("What each replica will be given", "The same as a command", "Advanced"):
        page.get_by_text(part, exact=True).click()
    page.get_by_role("table", name="Environment variables of master-0").wait_for()
    assert not violations(page)
    page.goto(f"{JOB}/digits")
    page.get_by_role("button", name="Scale").click()
    page.get_by_role("dialog").get_by_role("textbox").wait_for()
    assert not violations(page)
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("Shift+?")
    page.get_by_role("dialog").get_by_role("table").wait_for()
    assert not violations(page)
