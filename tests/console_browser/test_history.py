"""A deleted job in the page: found in the list, opened, and understood from its record."""

from __future__ import annotations

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect
from tests.cluster.api import eventually
from tests.console_browser.console_process import Machine
from tests.console_browser.test_accessibility import RULES

NAME = "forgotten"


@pytest.fixture(scope="module")
def deleted(machine: Machine) -> str:
    """The UID of a job that has failed and is deleted."""
    # It prints in a later second than that of its creation, which the time bar shows separately.
    command = ["sh", "-c", "sleep 2; echo the data set is empty >&2; exit 4"]
    template = {"spec": {"containers": [{"name": "jax", "image": "python", "command": command}]}}
    spec = {"jaxReplicaSpecs": {"Worker": {"replicas": 1, "restartPolicy": "Never", "template": template}}}
    machine.create([{"apiVersion": "kubeflow.org/v1", "kind": "JAXJob", "metadata": {"name": NAME}, "spec": spec}])
    machine.wait(f"jaxjob/{NAME}", "Failed")
    place = f"/apis/kubeflow.org/v1/namespaces/default/jaxjobs/{NAME}"
    uid = str(machine.api.call("GET", place)["metadata"]["uid"])
    machine.api.call("DELETE", place)
    eventually(lambda: re.search(rf"{NAME}\s+Failed, deleted", machine.run("ls", "--all")), seconds=60)
    return uid


def test_a_deleted_job_is_found_and_understood(page: Page, deleted: str) -> None:
    page.goto("/jobs")
    page.get_by_role("link", name="digits").wait_for()
    expect(page.get_by_role("link", name=NAME)).to_have_count(0)
    page.get_by_role("checkbox", name="Show deleted jobs").check()
    expect(page).to_have_url(re.compile("deleted=1"))
    row = page.get_by_role("row", name=NAME)
    expect(row).to_contain_text("Deleted")
    expect(row).to_contain_text("Failed")
    expect(page.get_by_role("checkbox", name=f"Select {NAME}")).to_be_disabled()
    page.get_by_role("link", name=NAME).click()
    expect(page).to_have_url(re.compile(f"/{NAME}(@|%40){deleted}$"))
    expect(page.get_by_role("heading", name=NAME)).to_be_visible()
    expect(page.get_by_text("The page shows its record.")).to_be_visible()
    expect(page.get_by_role("region", name="First failure")).to_contain_text("the data set is empty")
    expect(page.get_by_role("button", name="Delete")).to_have_count(0)
    tabs = page.get_by_role("navigation", name="Parts of the job")
    expect(tabs.get_by_role("link", name="TensorBoard")).to_have_count(0)
    tabs.get_by_role("link", name="Logs").click()
    expect(page.get_by_role("log")).to_contain_text("the data set is empty")
    tabs.get_by_role("link", name="Replicas").click()
    page.get_by_role("link", name="worker-0").first.click()
    expect(page.get_by_text(f"{NAME}-worker-0").first).to_be_visible()
    tabs.get_by_role("link", name="Events").click()
    expect(page.get_by_text("SuccessfulCreatePod").first).to_be_visible()
    tabs.get_by_role("link", name="YAML").click()
    expect(page.get_by_role("textbox", name="YAML")).to_contain_text("kind: JAXJob")


@pytest.mark.parametrize("page", [{"locale": "zh-CN"}], indirect=True)
def test_the_record_of_a_job_in_chinese(page: Page, deleted: str) -> None:
    page.goto("/jobs?deleted=1")
    expect(page.get_by_role("row", name=NAME)).to_contain_text("已删除")
    page.get_by_role("link", name=NAME).click()
    expect(page.get_by_text("本页显示其记录。")).to_be_visible()


@pytest.mark.parametrize("page", [{"color_scheme": "light"}, {"color_scheme": "dark"}], indirect=True, ids=["light", "dark"])
def test_the_record_is_accessible(page: Page, deleted: str) -> None:
    for path in ("/jobs?deleted=1", f"/jobs/default/jaxjob/{NAME}@{deleted}"):
        page.goto(path)
        page.get_by_text(NAME, exact=True).first.wait_for()
        assert not Axe().run(page, options=RULES).response["violations"]


def test_a_moment_of_a_deleted_job_is_linked(page: Page, deleted: str) -> None:
    page.goto(f"/jobs/default/jaxjob/{NAME}@{deleted}/logs")
    expect(page.get_by_role("log")).to_contain_text("the data set is empty")
    page.goto(f"/jobs/default/jaxjob/{NAME}@{deleted}/logs?t=2020-01-01T00:00:00Z")
    expect(page.get_by_role("slider", name="Moment of the recording")).to_have_value("0")
    expect(page.get_by_text("No lines have arrived yet.")).to_be_visible()
    page.get_by_role("slider", name="Moment of the recording").press("End")
    expect(page.get_by_role("log")).to_contain_text("the data set is empty")
    expect(page).to_have_url(re.compile("/logs$"))
