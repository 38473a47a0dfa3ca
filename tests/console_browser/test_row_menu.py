"""The menu of a row, a deletion that is taken back, usage of replicas, and many pods."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect
from tests.console_browser.console_process import Machine
from tests.console_browser.jax_jobs import jax_job


def test_a_deletion_from_the_menu_of_a_row_is_taken_back_and_done(page: Page, machine: Machine) -> None:
    machine.create([jax_job("finished-one", ["true"])])
    machine.wait("jaxjob/finished-one", "Succeeded")
    page.goto("/jobs")
    for undone in (True, False):
        page.get_by_role("button", name="Actions of finished-one").click()
        page.get_by_role("menuitem", name="Delete").click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("10 seconds after you confirm")
        dialog.get_by_role("button", name="Delete").click()
        expect(page.get_by_text("finished-one: deleted in 10 seconds.")).to_be_visible()
        if undone:
            page.get_by_role("button", name="Undo").click()
            expect(page.get_by_text("finished-one: not deleted.")).to_be_visible()
            page.wait_for_timeout(12_000)
            assert machine.api.get("jaxjobs", "default", "finished-one")["metadata"]["name"] == "finished-one"
    expect(page.get_by_role("row", name="finished-one")).to_have_count(0, timeout=60_000)


def test_the_menu_of_a_row_opens_logs_by_keyboard(page: Page) -> None:
    page.goto("/jobs")
    page.get_by_role("button", name="Actions of digits").focus()
    page.keyboard.press("Enter")
    page.get_by_role("menuitem", name="Logs").press("Enter")
    expect(page).to_have_url(re.compile("/jobs/default/pytorchjob/digits/logs"))


@pytest.mark.one_machine  # metrics.k8s.io of a cluster needs metrics-server
def test_replicas_have_their_usage_and_the_overview_the_sum(page: Page) -> None:
    page.goto("/jobs/default/pytorchjob/digits")
    usage = page.get_by_role("region", name="Resource use now")
    expect(usage).to_contain_text("CPU (cores)", timeout=60_000)
    page.get_by_role("link", name="Replicas").click()
    row = page.get_by_role("table", name="Replicas").get_by_role("row", name="master-0")
    expect(row.get_by_role("cell").nth(8)).to_have_text(re.compile(r"\d.*[KMG]i"), timeout=60_000)


def test_of_many_pods_only_those_in_view_are_in_the_document(page: Page, machine: Machine) -> None:
    large = jax_job("many-pods", ["true"], 1000)
    large["spec"]["jaxReplicaSpecs"]["Worker"]["template"]["spec"]["nodeSelector"] = {"no": "node"}
    machine.create([large])
    page.goto("/jobs/default/jaxjob/many-pods/replicas")
    table = page.get_by_role("table", name="Replicas")
    expect(table).to_have_attribute("aria-rowcount", "1001", timeout=60_000)
    assert table.get_by_role("row").count() < 100
    table.evaluate("(element) => { element.scrollTop = element.scrollHeight; }")
    expect(table.get_by_role("link", name="worker-999")).to_be_visible()
    page.get_by_role("link", name="Overview").click()
    ranks = page.get_by_role("region", name="Replicas by node")
    expect(ranks).to_contain_text("300 more", timeout=60_000)
    expect(ranks.get_by_role("link", name="All 1000 replicas")).to_be_visible()
    machine.api.delete("jaxjobs", "default", "many-pods")
