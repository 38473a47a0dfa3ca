"""The metrics of a job that runs: what its replicas use, and what they print."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

METRICS = "/jobs/default/pytorchjob/digits/metrics"


@pytest.mark.one_machine  # metrics.k8s.io of a cluster needs metrics-server
def test_usage_and_printed_numbers_of_every_replica(page: Page) -> None:
    page.goto(METRICS)
    cpu = page.get_by_role("region", name="CPU (cores)")
    for replica in ("master-0", "worker-0", "worker-1"):
        expect(cpu.get_by_role("listitem").filter(has_text=replica)).to_contain_text(re.compile(r"\d\.\d\d"), timeout=60_000)
    loss = page.get_by_role("region", name="loss")
    expect(loss).to_contain_text("found in the output")
    expect(loss.locator("canvas")).to_be_visible()
    loss.get_by_text("Show as table").click()
    expect(loss.get_by_role("row").first).to_contain_text("master-0")


def test_points_are_downloaded_as_csv(page: Page) -> None:
    page.goto(METRICS)
    page.get_by_role("region", name="loss").wait_for()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download CSV").click()
    rows = download.value.path().read_text().splitlines()
    assert rows[0] == "time,replica,series,value"
    assert any(re.fullmatch(r"[^,]+,worker-1,loss,[\d.]+", row) for row in rows)


def test_a_pattern_is_tried_on_a_line_and_is_part_of_the_address(page: Page) -> None:
    page.goto(METRICS)
    page.get_by_text("Numbers to find in the output").click()
    line, pattern = page.get_by_role("textbox", name="Try it on a line"), page.get_by_role("textbox", name="Pattern")
    expect(line).to_have_value(re.compile(r"\d"))
    line.fill("epoch 3: error rate 0.25 of 7")
    pattern.fill("error rate (?P<error_rate>[0-9.]+")
    expect(page.get_by_text("is not a regular expression")).to_be_visible()
    expect(page.get_by_role("button", name="Use this pattern")).to_be_disabled()
    pattern.fill("loss (?P<step_loss>[0-9.]+)")
    expect(page.get_by_text("It finds no number in this line.")).to_be_visible()
    line.fill("step 9 loss 1.25")
    expect(page.get_by_text("step_loss = 1.25")).to_be_visible()
    page.get_by_role("button", name="Use this pattern").click()
    expect(page).to_have_url(re.compile(r"\?pattern=loss"))
    chart = page.get_by_role("region", name="step_loss")
    expect(chart).to_contain_text("found with your pattern")
    page.reload()
    expect(chart).to_contain_text(re.compile(r"worker-1 \d\.\d+"))
    expect(page.get_by_role("region", name="loss", exact=True)).to_have_count(0)
    page.get_by_role("button", name="Use the patterns of the console").click()
    expect(page.get_by_role("region", name="loss", exact=True)).to_be_visible()
    assert "pattern" not in page.url


def test_the_overview_shows_the_loss_that_the_job_prints(page: Page) -> None:
    page.goto("/jobs/default/pytorchjob/digits")
    loss = page.get_by_role("region", name="loss")
    expect(loss.locator("canvas")).to_be_visible()
    expect(loss).to_contain_text(re.compile(r"master-0 \d\.\d+"))
    loss.get_by_role("link", name="All metrics").click()
    expect(page.get_by_role("button", name="Download CSV")).to_be_visible()
