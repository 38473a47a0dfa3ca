"""The logs of a job that runs."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect
from tests.console_browser.console_process import Machine
from tests.console_browser.jax_jobs import jax_job

LOGS = "/jobs/default/pytorchjob/digits/logs"


def test_lines_of_all_replicas_follow(page: Page) -> None:
    page.goto(LOGS)
    log = page.get_by_role("log")
    for replica in ("master-0", "worker-0", "worker-1"):
        expect(log).to_contain_text(replica)
    last = log.locator(".log-row").last
    before = last.inner_text()
    expect(last).not_to_have_text(before)


def test_output_is_shown_as_a_terminal_shows_it_and_never_as_html(page: Page) -> None:
    page.goto(f"{LOGS}?all=1&replica=master-0&q=%5E(.*download|.*script|.*starts)&regex=1")
    log = page.get_by_role("log")
    expect(log.locator(".log-text", has_text="download")).to_have_text("download 100%")
    expect(log).to_contain_text("<script>alert(1)</script> <b>bold?</b>")
    assert log.locator("script, b").count() == 0
    green = log.get_by_text("INFO", exact=True).evaluate("each => getComputedStyle(each).color")
    plain = log.locator(".log-text").first.evaluate("each => getComputedStyle(each).color")
    assert green != plain


def test_replica_level_and_text_select_lines(page: Page) -> None:
    page.goto(LOGS)
    page.get_by_role("button", name="worker-1").click()
    expect(page).to_have_url(re.compile("replica=worker-1"))
    log = page.get_by_role("log")
    expect(log).not_to_contain_text("master-0")
    page.get_by_role("searchbox").fill("OVERFLOW")
    expect(page.get_by_role("status").filter(has_text="match")).to_contain_text(re.compile(r"[1-9]\d* match"))
    expect(log).not_to_contain_text("loss")
    assert log.locator(".log-match").first.inner_text().lower() == "overflow"


def test_a_link_to_a_line_shows_that_line(page: Page) -> None:
    page.goto(f"{LOGS}?replica=worker-0&all=1")
    row = page.get_by_role("log").locator(".log-row").first
    page.get_by_role("switch", name="Follow").uncheck()
    page.get_by_role("log").evaluate("each => { each.scrollTop = 0 }")
    text = row.locator(".log-text").inner_text()
    row.get_by_role("button").click()
    address = page.url
    assert "#L=worker-0/" in address
    page.goto("about:blank")
    page.goto(address)
    expect(page.locator(".log-row.chosen .log-text")).to_have_text(text)


def test_the_end_of_a_log_is_shown_with_its_exit_code(page: Page) -> None:
    page.goto("/jobs/default/tfjob/evaluate/logs")
    expect(page.get_by_role("log")).to_contain_text("accuracy 0.97")
    expect(page.get_by_text("worker-1: exit code 0")).to_be_visible()
    expect(page.get_by_text("All logs have ended.")).to_be_visible()


def test_all_lines_can_be_downloaded(page: Page) -> None:
    page.goto("/jobs/default/tfjob/evaluate/logs")
    page.get_by_role("button", name="Download").click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name="All lines").click()
    assert download.value.path().read_text().count("accuracy 0.97") == 2


def test_the_consensus_view_shows_a_line_of_all_replicas_once(page: Page) -> None:
    page.goto(LOGS)
    page.get_by_role("switch", name="Consensus").click(force=True)
    expect(page).to_have_url(re.compile("mode=consensus"))
    log = page.get_by_role("log")
    expect(log.get_by_text("3 agree").first).to_be_visible()
    page.reload()
    expect(log.get_by_text("3 agree").first).to_be_visible()


def test_the_consensus_view_goes_on_with_the_log(page: Page) -> None:
    page.goto(f"{LOGS}?mode=consensus")
    log = page.get_by_role("log")
    expect(log).to_contain_text("step")
    shown = max(int(step) for step in re.findall(r"step (\d+) loss", log.inner_text()))
    expect(log).to_contain_text(f"step {shown + 6} loss")


def test_long_lines_are_wrapped(page: Page) -> None:
    page.goto(f"{LOGS}?wrap=1")
    log = page.get_by_role("log")
    expect(log).to_contain_text("loss")
    assert log.evaluate("each => each.scrollWidth <= each.clientWidth")


def test_wrapped_lines_stay_where_the_keyboard_has_moved_them(page: Page) -> None:
    page.set_viewport_size({"width": 900, "height": 420})
    page.goto(f"{LOGS}?wrap=1")
    log = page.get_by_role("log")
    page.wait_for_function("each => each.scrollHeight > 3 * each.clientHeight", arg=log.element_handle())
    log.press("PageUp")
    expect(page.get_by_role("switch", name="Follow")).not_to_be_checked()
    below = "each => each.scrollHeight - each.scrollTop - each.clientHeight"
    before = log.evaluate(below)
    assert before > 0
    page.wait_for_function(f"([each, before]) => ({below})(each) > before", arg=[log.element_handle(), before])
    page.get_by_role("button", name="To the end").click()
    expect(page.get_by_role("switch", name="Follow")).to_be_checked()


@pytest.mark.parametrize("wrap", ["", "&wrap=1"])
def test_lines_are_linked_and_selected_with_the_keyboard(page: Page, wrap: str) -> None:
    page.goto(f"/jobs/default/tfjob/evaluate/logs?all=1{wrap}")
    log = page.get_by_role("log")
    expect(log).to_contain_text("accuracy 0.97")
    log.focus()
    page.keyboard.press("ArrowUp")
    expect(log.locator(".log-row.current")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("#L="))
    last = page.url
    page.keyboard.press("Shift+ArrowUp")
    expect(log.locator(".log-row.chosen")).to_have_count(2)
    expect(page).not_to_have_url(last)
    expect(page.get_by_role("button", name="Copy 2 lines")).to_be_visible()
    page.goto("about:blank")
    page.goto(last)
    expect(page.locator(".log-row.chosen")).to_have_count(1)


@pytest.mark.one_machine
def test_early_lines_of_a_long_log_are_found_linked_and_shown_at_their_time(page: Page, machine: Machine) -> None:
    machine.create([jax_job("long-log", ["sh", "-c", "seq 1 100; sleep 3; seq 101 30000"])])
    machine.wait("jaxjob/long-log", "Succeeded")
    logs = "/jobs/default/jaxjob/long-log/logs"
    page.goto(logs)
    log = page.get_by_role("log")
    expect(log).to_contain_text("30000")
    page.goto(f"{logs}?q=%5E50%24&regex=1")
    expect(log.locator(".log-text")).to_have_text(["50"])
    log.locator(".log-row").get_by_role("button").click()
    fragment = page.url.partition("#")[2]
    page.goto("about:blank")
    page.goto(f"{logs}#{fragment}")
    expect(page.locator(".log-row.chosen .log-text")).to_have_text("50")
    expect(log.get_by_text("49", exact=True)).to_be_visible()
    page.get_by_role("button", name="Show the last lines").click()
    expect(log).to_contain_text("30000")
