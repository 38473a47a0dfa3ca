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
