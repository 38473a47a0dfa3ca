"""A job that trains gets more workers from the page, and goes on."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Page, expect
from tests.console_browser.console_process import Machine

TRAIN = "n=0; while true; do n=$((n+1)); echo step $n; sleep 0.2; done"


def elastic(name: str) -> dict[str, Any]:
    container = {"name": "pytorch", "image": "python", "command": ["sh", "-c", TRAIN]}
    worker = {"replicas": 1, "restartPolicy": "OnFailure", "template": {"spec": {"containers": [container]}}}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"elasticPolicy": {"minReplicas": 1, "maxReplicas": 3}, "pytorchReplicaSpecs": {"Worker": worker}},
    }


def test_the_slider_gives_a_job_more_workers_while_it_trains(page: Page, machine: Machine) -> None:
    machine.create([elastic("grows")])
    machine.wait("pytorchjob/grows", "Running")
    first = machine.api.get("pods", "default", "grows-worker-0")["metadata"]["uid"]
    page.goto("/jobs/default/pytorchjob/grows")
    page.get_by_role("button", name="Scale").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("slider").press("End")
    expect(dialog).to_contain_text("From 1 to 3")
    dialog.get_by_role("button", name="Scale", exact=True).click()
    expect(dialog).to_have_count(0)
    page.get_by_role("link", name="Logs").click()
    log = page.get_by_role("log")
    for worker in ("worker-0", "worker-1", "worker-2"):
        expect(log).to_contain_text(worker, timeout=60_000)
    assert machine.api.get("pods", "default", "grows-worker-0")["metadata"]["uid"] == first
    last = log.locator(".log-row", has_text="worker-0").last
    before = last.inner_text()
    expect(last).not_to_have_text(before)
    machine.api.delete("pytorchjobs", "default", "grows")
