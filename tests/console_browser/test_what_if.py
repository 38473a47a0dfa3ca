"""A job that waits: the scheduler says why, and what would have to be different."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect
from tests.console_browser.console_process import Machine
from tests.console_browser.jax_jobs import jax_job

from traincrew.apimachinery import quantities


@pytest.mark.one_machine  # elsewhere the answer is an estimate
def test_a_waiting_job_would_start_with_fewer_workers_or_without_another_job(page: Page, machine: Machine) -> None:
    node = machine.api.get("nodes", "", "traincrew")
    memory = quantities.value(node["status"]["allocatable"]["memory"])
    machine.create([jax_job("room-taker", ["sleep", "600"], 1, memory=str(memory // 2))])
    machine.wait("jaxjob/room-taker", "Running")
    machine.create([jax_job("too-large", ["sleep", "600"], 4, memory=str(memory // 5))])
    page.goto("/jobs/default/jaxjob/too-large")
    card = page.get_by_role("region", name="What if")
    expect(card.get_by_text("✖ Does not fit now: 2 of 4 replicas have a place.")).to_be_visible()
    expect(card.get_by_text("Starts now with up to 2 workers.")).to_be_visible()
    card.get_by_role("button", name="Try it").click()
    then = card.get_by_role("status", name="With these changes")
    expect(then.get_by_text("✓ Fits now: all 2 replicas on traincrew (2).")).to_be_visible()
    card.get_by_role("textbox", name="Workers").fill("4")
    card.get_by_role("group", name="Jobs that would have ended").get_by_role("checkbox", name="room-taker").check()
    expect(then.get_by_text("✓ Fits now: all 4 replicas on traincrew (4).")).to_be_visible()
    assert machine.api.get("jaxjobs", "default", "too-large")["spec"]["jaxReplicaSpecs"]["Worker"]["replicas"] == 4
    for name in ("too-large", "room-taker"):
        machine.api.delete("jaxjobs", "default", name)
