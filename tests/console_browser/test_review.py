"""What the wizard says before a job exists: whether it fits, what each replica gets, the same as a command, and a smaller job."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from playwright.sync_api import Page, expect
from tests.console_browser.console_process import Machine


def open_wizard(page: Page, kind: str) -> Page:
    page.goto(f"/jobs/new?kind={kind}")
    page.get_by_role("button", name="Start over").wait_for()
    expect(page.get_by_text("✓ The API server accepts the job.")).to_be_visible()
    return page


@pytest.mark.one_machine  # a cluster does not overcommit CPU, so nothing may fit
def test_a_job_that_does_not_fit_is_made_small_enough_and_can_be_had_back(page: Page) -> None:
    open_wizard(page, "pytorchjob")
    expect(page.get_by_text("✓ Fits now: all 3 replicas on traincrew (3).")).to_be_visible()
    worker = page.get_by_role("group", name="Worker", exact=True)
    worker.get_by_role("textbox", name="Replicas").fill("64")
    worker.get_by_role("textbox", name="Memory").fill("8Gi")
    expect(page.get_by_text("✖ Does not fit now", exact=False)).to_be_visible()
    expect(page.get_by_text("Insufficient memory", exact=False).first).to_be_visible()
    page.get_by_role("button", name="Run here first").click()
    expect(page.get_by_text("✓ Fits now: all 3 replicas on traincrew (3).")).to_be_visible()
    expect(worker.get_by_role("textbox", name="Replicas")).to_have_value("2")
    page.get_by_role("button", name="Back to it").click()
    expect(worker.get_by_role("textbox", name="Replicas")).to_have_value("64")
    page.get_by_role("button", name="Start over").click()


def test_the_variables_of_every_replica_are_shown(page: Page) -> None:
    open_wizard(page, "pytorchjob")
    page.get_by_text("What each replica will be given").click()
    table = page.get_by_role("table", name="Environment variables of master-0")
    expect(table.get_by_role("row").filter(has_text="WORLD_SIZE")).to_contain_text("3")
    page.get_by_role("combobox", name="Replica").click()
    page.get_by_role("option", name="worker-1").click()
    table = page.get_by_role("table", name="Environment variables of worker-1")
    expect(table.get_by_role("row", name="RANK 2", exact=True)).to_be_visible()


@pytest.mark.parametrize("page", [{"permissions": ["clipboard-read", "clipboard-write"]}], indirect=True)
def test_the_command_that_is_copied_creates_the_same_job(page: Page, machine: Machine) -> None:
    open_wizard(page, "jaxjob")
    page.get_by_role("textbox", name="Name").fill("copied-command")
    page.get_by_text("The same as a command").click()
    page.get_by_role("button", name="Copy", exact=True).click()
    command = page.evaluate("navigator.clipboard.readText()")
    assert command.startswith("traincrew run - <<'EOF'\n")
    shell = f'traincrew() {{ "{sys.executable}" -m traincrew.cli.main "$@" --dry-run --data "{machine.data}"; }}\n{command}'
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "name: copied-command" in done.stdout


@pytest.mark.parametrize("page", [{"locale": "zh-CN"}], indirect=True)
def test_in_chinese(page: Page) -> None:
    page.goto("/jobs/new?kind=jaxjob")
    expect(page.get_by_text(re.compile("✓ 现在放得下：全部 2 个副本，位于 traincrew|✖ 现在放不下：2 个副本"))).to_be_visible()
    expect(page.get_by_role("button", name="先在本机运行")).to_be_visible()


@pytest.mark.one_machine  # the nodes of a cluster have image maps of their own
def test_environments_of_the_image_map_are_offered(
    page: Page, machine: Machine, tmp_path_factory: pytest.TempPathFactory
) -> None:
    environment = tmp_path_factory.mktemp("environment")
    (environment / "bin").mkdir()
    machine.run("image", "set", "torch:2", "--env-dir", str(environment))
    try:
        open_wizard(page, "jaxjob")
        page.get_by_role("combobox", name="Runtime environment").click()
        page.get_by_role("option", name=str(environment)).click()
        yaml = page.get_by_role("region", name="YAML").locator(".cm-content")
        expect(yaml).to_contain_text(f"traincrew.kubeflow.org/environment: {environment}")
    finally:
        machine.run("image", "rm", "torch:2")
    page.get_by_role("button", name="Start over").click()


@pytest.mark.parametrize("page", [{"locale": "zh-CN"}], indirect=True)
def test_findings_of_the_dry_run_and_results_of_actions_in_chinese(page: Page, machine: Machine) -> None:
    page.goto("/jobs/new?kind=tfjob")
    cpu = page.get_by_role("group", name="Worker", exact=True).get_by_role("textbox", name="CPU")
    cpu.fill("many")
    expect(page.locator(".wizard-footer")).to_contain_text("不是 2、500m 或 4Gi 这样的数量")
    names = machine.api.names("tfjobs", "default")
    page.goto("/jobs/default/tfjob/evaluate")
    page.get_by_role("button", name="重新运行").click()
    page.get_by_role("dialog").get_by_role("button", name="重新运行").click()
    expect(page.get_by_text("已创建", exact=False).filter(has_text="tfjob/evaluate")).to_be_visible()
    for name in machine.api.names("tfjobs", "default") - names:
        machine.api.delete("tfjobs", "default", name)
