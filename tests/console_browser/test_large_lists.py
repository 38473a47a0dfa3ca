"""Thousands of jobs and pods: the page has the rows in view and no others, and what changes is drawn alone."""

from __future__ import annotations

import asyncio
import concurrent.futures
import pathlib
import re
from collections.abc import Coroutine, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.console import many_pods
from tests.console_browser import console_process
from tests.console_browser.console_process import Console, Machine
from tests.console_browser.jax_jobs import jax_job

JOBS = 2000
PODS = 10_000
FAILED = 7777
DESCRIPTION = "traincrew.kubeflow.org/description"
MOST_ROWS = 60
TO_THE_END = "(element) => { element.scrollTop = element.scrollHeight; }"


def run(work: Coroutine[Any, Any, None]) -> None:
    """Playwright has an event loop in this thread."""
    with concurrent.futures.ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, work).result()


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    with console_process.machine(tmp_path_factory.mktemp("large") / "data") as found:
        yield found


@pytest.fixture(scope="module")
def console(machine: Machine) -> Iterator[Console]:
    with console_process.console(machine) as found:
        yield found


@pytest.fixture(scope="module")
def session(chromium: Browser, console: Console, tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    return console_process.sign_in(chromium, console, tmp_path_factory.mktemp("session") / "state.json")


@pytest.fixture(scope="module")
def jobs(machine: Machine) -> None:
    with concurrent.futures.ThreadPoolExecutor(16) as threads:
        list(threads.map(lambda number: machine.create([suspended(f"job-{number:04}")]), range(JOBS)))


def suspended(name: str) -> dict[str, Any]:
    found = jax_job(name, ["true"])
    found["spec"]["runPolicy"] = {"suspend": True}
    return found


@pytest.fixture
def grid(page: Page, jobs: None) -> Page:
    page.goto("/jobs?sort=name")
    expect(page.get_by_role("grid")).to_have_attribute("aria-rowcount", str(JOBS + 1), timeout=120_000)
    return page


def test_of_thousands_of_jobs_only_those_in_view_are_in_the_document(grid: Page) -> None:
    table = grid.get_by_role("grid")
    expect(grid.get_by_role("link", name="job-0000")).to_be_visible()
    assert table.get_by_role("row").count() < MOST_ROWS
    table.evaluate(TO_THE_END)
    expect(grid.get_by_role("link", name="job-1999")).to_be_visible()
    expect(grid.get_by_role("link", name="job-0000")).to_have_count(0)
    expect(grid.get_by_role("row", name="job-1999")).to_have_attribute("aria-rowindex", str(JOBS + 1))
    assert table.get_by_role("row").count() < MOST_ROWS
    grid.get_by_role("link", name="job-1999").click()
    expect(grid.get_by_role("heading", name="job-1999")).to_be_visible()


def test_rows_are_in_the_order_of_the_list_wherever_it_was_scrolled_to(grid: Page) -> None:
    table = grid.get_by_role("grid")
    for top in (50_000, 50_300, 49_800, 200, 0):
        table.evaluate("(element, top) => { element.scrollTop = top; }", top)
        expect(grid.get_by_role("link", name=f"job-{(top + 49) // 50 + 1:04}")).to_be_visible()
        names = table.get_by_role("link").all_inner_texts()
        assert names == sorted(names)


def test_a_row_that_leaves_the_view_does_not_hand_its_focus_to_another_job(grid: Page) -> None:
    grid.get_by_role("checkbox", name="Select job-0001").focus()
    grid.get_by_role("grid").evaluate(TO_THE_END)
    expect(grid.get_by_role("grid")).to_be_focused()
    grid.keyboard.press("Space")
    expect(grid.get_by_text("Select jobs to suspend")).to_be_visible()  # none is selected


def test_the_menu_of_a_row_closes_with_its_row_and_gives_the_focus_back(grid: Page) -> None:
    button = grid.get_by_role("button", name="Actions of job-0002")
    button.click()
    expect(grid.get_by_role("menuitem", name="Resume")).to_be_visible()
    grid.keyboard.press("Escape")
    expect(grid.get_by_role("menuitem")).to_have_count(0)
    expect(button).to_be_focused()
    button.press("Enter")
    grid.get_by_role("menuitem", name="Resume").wait_for()
    grid.get_by_role("grid").evaluate(TO_THE_END)
    expect(grid.get_by_role("menuitem")).to_have_count(0)


WATCH_ROWS = """() => {
  window.drawn = new Set();
  new MutationObserver((changes) => {
    for (const { target } of changes) {
      const element = target instanceof Element ? target : target.parentElement;
      if (!element?.closest('.cell-age')) window.drawn.add(element?.closest('[data-job]')?.dataset.job ?? 'outside');
    }
  }).observe(document.querySelector('.job-rows'), { subtree: true, childList: true, characterData: true, attributes: true });
}"""


def test_a_job_that_changes_draws_its_own_row_alone(grid: Page, machine: Machine) -> None:
    grid.get_by_role("link", name="job-0003").wait_for()
    grid.evaluate(WATCH_ROWS)
    machine.api.patch("jaxjobs", "default", "job-0003", {"metadata": {"annotations": {DESCRIPTION: "drawn alone"}}})
    expect(grid.get_by_role("row", name="job-0003")).to_contain_text("drawn alone")
    assert grid.evaluate("[...window.drawn]") == ["default/jaxjob/job-0003"]


def test_a_job_with_ten_thousand_pods_is_usable(page: Page, machine: Machine) -> None:
    machine.create([many_pods.large_job("large", PODS)])
    run(many_pods.create(machine.data / "kubeconfig", "large", PODS, failed=FAILED))
    page.goto("/jobs/default/jaxjob/large")
    expect(page.get_by_role("region", name="Replicas by node")).to_contain_text("more", timeout=120_000)
    page.get_by_role("link", name=re.compile("^Replicas")).click()
    table = page.get_by_role("table", name="Replicas", exact=True)
    expect(table).to_have_attribute("aria-rowcount", str(PODS + 1), timeout=120_000)
    assert table.get_by_role("row").count() < MOST_ROWS * 2
    table.evaluate(TO_THE_END)
    expect(table.get_by_role("link", name="worker-9999")).to_be_visible(timeout=120_000)
    page.get_by_role("combobox", name="State").select_option("Failed")
    expect(table).to_have_attribute("aria-rowcount", "2")
    table.get_by_role("link", name=f"worker-{FAILED}").click()
    expect(page).to_have_url(re.compile(f"/replicas/worker-{FAILED}$"))
    for tab in ("Events", "YAML", "Metrics"):
        link = page.get_by_role("navigation", name="Parts of the job").get_by_role("link", name=re.compile(f"^{tab}"))
        link.click()
        expect(link).to_have_attribute("aria-current", "page")
    page.goto("/jobs?sort=name&q=large")
    expect(page.get_by_role("row", name="large")).to_contain_text(f"/{PODS}", timeout=120_000)
