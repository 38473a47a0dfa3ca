"""The wizard: the form and the YAML are one document, checked by the API server before it is submitted."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.console_browser.console_process import Machine

SEED = """mpirun --allow-run-as-root -np 2 -bind-to none -map-by slot \\
  -x NCCL_DEBUG=INFO -x LD_LIBRARY_PATH -x PATH \\
  -mca pml ob1 -mca btl ^openib \\
  python scripts/tf_cnn_benchmarks/tf_cnn_benchmarks.py \\
  --model=resnet101 --batch_size=64 --variable_update=horovod"""


@pytest.fixture
def wizard(page: Page) -> Page:
    page.goto("/jobs")
    page.get_by_role("main").get_by_role("link", name="New job").click()
    page.get_by_role("textbox", name="Name").wait_for()
    return page


def yaml_of(page: Page) -> Locator:
    return page.get_by_role("region", name="YAML").locator(".cm-content")


def test_the_mpi_job_of_the_seed_document(wizard: Page, machine: Machine) -> None:
    wizard.get_by_role("textbox", name="Name").fill("benchmarks-mpi")
    wizard.get_by_role("textbox", name="Description").fill("TensorFlow benchmarks")
    wizard.get_by_role("textbox", name="Image").fill("mpioperator/tensorflow-benchmarks:latest")
    wizard.get_by_role("textbox", name="Start command").fill("mpirun")
    wizard.get_by_role("textbox", name="Arguments").fill(SEED)
    expect(wizard.get_by_text("The arguments begin with the start command again.")).to_be_visible()
    wizard.get_by_role("button", name="Remove it from the arguments").click()
    expect(wizard.get_by_text("The arguments begin with the start command again.")).to_have_count(0)
    expect(wizard.get_by_text("3 replicas")).to_be_visible()
    expect(wizard.get_by_text("-np 2 uses all 2 slots of the workers.")).to_be_visible()
    wizard.get_by_role("button", name="Submit").click()
    expect(wizard.get_by_role("heading", name="benchmarks-mpi")).to_be_visible()

    job = machine.api.get("mpijobs", "default", "benchmarks-mpi")
    assert job["apiVersion"] == "kubeflow.org/v1"
    roles = job["spec"]["mpiReplicaSpecs"]
    assert {role: each["replicas"] for role, each in roles.items()} == {"Launcher": 1, "Worker": 2}
    launcher = roles["Launcher"]["template"]["spec"]["containers"][0]
    assert launcher["command"] == ["mpirun"]
    assert launcher["args"][:3] == ["--allow-run-as-root", "-np", "2"]
    assert launcher["args"][-1] == "--variable_update=horovod"
    assert launcher["resources"]["limits"] == {"cpu": "2", "memory": "4Gi"}


def test_form_and_yaml_are_one_document(wizard: Page) -> None:
    wizard.get_by_role("group", name="Worker").get_by_role("textbox", name="Replicas").fill("4")
    expect(yaml_of(wizard)).to_contain_text("replicas: 4")
    expect(wizard.get_by_text("5 replicas")).to_be_visible()
    expect(wizard.get_by_text("-np 2 uses fewer than the 4 slots of the workers.")).to_be_visible()

    yaml_of(wizard).click()
    wizard.keyboard.press("Control+Home")
    wizard.keyboard.type("# kept\n")
    wizard.get_by_role("textbox", name="Name").fill("other")
    expect(yaml_of(wizard)).to_contain_text("# kept")
    expect(yaml_of(wizard)).to_contain_text("name: other")


def test_broken_yaml_freezes_the_form_and_loses_nothing(wizard: Page) -> None:
    wizard.get_by_role("textbox", name="Name").fill("precious")
    yaml_of(wizard).click()
    wizard.keyboard.press("Control+End")
    wizard.keyboard.type("x: [")
    name = wizard.get_by_role("textbox", name="Name")
    expect(name).to_be_disabled()
    expect(name).to_have_value("precious")
    expect(wizard.get_by_role("button", name="Submit")).to_be_disabled()
    for _ in range(4):
        wizard.keyboard.press("Backspace")
    expect(name).to_be_enabled()


def test_the_api_server_says_what_is_wrong_at_the_field_and_the_line(wizard: Page) -> None:
    expect(wizard.get_by_text("The API server accepts the job.")).to_be_visible()
    wizard.get_by_role("group", name="Worker").get_by_role("textbox", name="CPU").fill("many")
    expect(wizard.get_by_text("The API server refuses the job.")).to_be_visible()
    expect(wizard.get_by_role("contentinfo").or_(wizard.locator(".wizard-footer"))).to_contain_text(re.compile(r"Line \d+"))
    expect(wizard.locator(".cm-lint-marker-error").first).to_be_visible()
    expect(wizard.get_by_role("button", name="Submit")).to_be_disabled()


def test_a_job_is_copied_and_changed(page: Page, machine: Machine) -> None:
    page.goto("/jobs/default/tfjob/evaluate")
    page.get_by_role("link", name="Copy and change").click()
    expect(page.get_by_role("textbox", name="Name")).to_have_value("evaluate-copy")
    page.get_by_role("textbox", name="Start command").fill("python -c 'print(\"accuracy 0.98\")'")
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("heading", name="evaluate-copy")).to_be_visible()
    machine.wait("tfjob/evaluate-copy", "Succeeded")
    page.get_by_role("link", name="Logs", exact=True).first.click()
    expect(page.get_by_role("log")).to_contain_text("accuracy 0.98")
