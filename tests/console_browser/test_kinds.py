"""Every kind as a person runs it: from the form to the log of each replica."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

KINDS = {
    "mpijob": ["launcher"],
    "tfjob": ["worker-0", "worker-1"],
    "pytorchjob": ["master-0", "worker-0", "worker-1"],
    "xgboostjob": ["master-0", "worker-0", "worker-1"],
    "paddlejob": ["worker-0", "worker-1"],
    "jaxjob": ["worker-0", "worker-1"],
}
PROGRAM = "python -c 'import socket; print(\"trained on\", socket.gethostname())'"


@pytest.mark.parametrize("kind", KINDS)
def test_a_job_from_the_form_to_the_log_of_each_replica(page: Page, kind: str) -> None:
    page.goto(f"/jobs/new?kind={kind}")
    page.get_by_role("textbox", name="Name").fill(f"walk-{kind}")
    page.get_by_role("combobox", name="Image").fill("python")
    page.get_by_role("textbox", name="Start command").fill(PROGRAM)
    for field, value in (("CPU", "100m"), ("Memory", "32Mi")):
        for at in range(page.get_by_role("textbox", name=field).count()):
            page.get_by_role("textbox", name=field).nth(at).fill(value)
    page.get_by_text("Advanced", exact=True).click()
    page.get_by_role("combobox", name="Pods after the end").click()
    page.get_by_role("option", name="Keep all").click()
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("heading", name=f"walk-{kind}")).to_be_visible()
    expect(page.locator(".job-head")).to_contain_text("Succeeded", timeout=120_000)
    page.get_by_role("navigation", name="Parts of the job").get_by_role("link", name=re.compile("^Replicas")).click()
    for replica in KINDS[kind]:
        page.get_by_role("row", name=re.compile(f"^{replica}")).get_by_role("link", name="Logs").click()
        expect(page.get_by_role("log")).to_contain_text("trained on")
        expect(page.get_by_text(f"{replica}: exit code 0")).to_be_visible()
        page.go_back()
