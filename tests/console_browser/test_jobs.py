"""The list of jobs, and from it to a job and its logs."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, Route, expect
from tests.console_browser.console_process import Machine


def test_the_list_shows_every_job_with_its_status_and_reason(page: Page) -> None:
    page.goto("/jobs")
    for name, status in (("digits", "Running"), ("broken", "Failed"), ("evaluate", "Succeeded"), ("paused", "Suspended")):
        expect(page.get_by_role("row", name=name)).to_contain_text(status)
    expect(page.get_by_role("row", name="large-model")).to_contain_text("nvidia.com/gpu")
    expect(page.get_by_role("row", name="broken")).to_contain_text("no column label")


def test_filters_are_in_the_address_and_come_back_with_it(page: Page) -> None:
    page.goto("/jobs")
    page.get_by_role("button", name=re.compile("^Failed")).click()
    expect(page).to_have_url(re.compile(r"status=Failed"))
    expect(page.get_by_role("link", name="digits")).to_have_count(0)
    page.reload()
    expect(page.get_by_role("link", name="broken")).to_be_visible()
    expect(page.get_by_role("link", name="digits")).to_have_count(0)
    page.get_by_role("searchbox").fill("nothing has this name")
    expect(page.get_by_text("No job matches these filters.")).to_be_visible()
    page.get_by_role("button", name="Clear filters").last.click()
    expect(page.get_by_role("link", name="digits")).to_be_visible()


def test_a_job_is_opened_with_the_keyboard_alone(page: Page) -> None:
    page.goto("/jobs?sort=name")
    page.get_by_role("link", name="broken").wait_for()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="broken")).to_be_visible()
    page.keyboard.press("]")
    expect(page).to_have_url(re.compile("/replicas$"))
    page.keyboard.press("Control+k")
    expect(page.get_by_role("combobox", name="Find a job")).to_be_focused()
    page.keyboard.type("evalu")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="evaluate")).to_be_visible()


def test_keys_act_on_the_same_job_when_another_comes_before_it(page: Page, machine: Machine) -> None:
    page.goto("/jobs?sort=name")
    page.get_by_role("link", name="broken").wait_for()
    page.keyboard.press("j")
    expect(page.locator(".table-row.current")).to_contain_text("broken")
    evaluate = machine.api.get("tfjobs", "default", "evaluate")
    machine.create([{**evaluate, "metadata": {"name": "a-new-one"}, "status": {}}])
    expect(page.get_by_role("row", name="a-new-one")).to_be_visible()
    expect(page.locator(".table-row.current")).to_contain_text("broken")
    page.keyboard.press("x")
    expect(page.get_by_role("checkbox", name="Select broken")).to_be_checked()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="broken")).to_be_visible()
    machine.api.delete("tfjobs", "default", "a-new-one")


def test_the_search_keeps_what_is_typed_in_its_middle(page: Page) -> None:
    page.goto("/jobs")
    search = page.get_by_role("searchbox")
    search.press_sequentially("bren")
    search.press("ArrowLeft")
    search.press("ArrowLeft")
    search.press_sequentially("ok")
    expect(search).to_have_value("broken")
    expect(page).to_have_url(re.compile("q=broken"))
    expect(page.get_by_role("link", name="broken")).to_be_visible()


def test_two_keys_go_to_every_page(page: Page) -> None:
    page.goto("/jobs")
    page.get_by_role("link", name="broken").wait_for()
    for key, title in (("n", "Nodes"), ("q", "Queues"), ("t", "Templates"), ("j", "Jobs")):
        page.keyboard.press("g")
        page.keyboard.press(key)
        expect(page.get_by_role("heading", name=title, level=1)).to_be_visible()
    page.get_by_role("searchbox").press_sequentially("gn")
    expect(page.get_by_role("searchbox")).to_have_value("gn")
    expect(page).to_have_url(re.compile("/jobs"))


def test_keys_of_one_character_can_be_turned_off(page: Page) -> None:
    page.goto("/jobs?sort=name")
    page.get_by_role("button", name="Keyboard shortcuts").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("switch", name="Keys of one character").click(force=True)
    dialog.get_by_role("button", name="Close").click()
    expect(dialog).to_have_count(0)
    page.reload()
    page.get_by_role("link", name="broken").wait_for()
    for key in ("j", "x", "n", "g", "n", "?"):
        page.keyboard.press(key)
    expect(page.locator(".table-row.current")).to_have_count(0)
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page).to_have_url(re.compile(r"/jobs\?sort=name$"))
    page.keyboard.press("Control+k")
    expect(page.get_by_role("combobox", name="Find a job")).to_be_focused()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Keyboard shortcuts").click()
    dialog.get_by_role("switch", name="Keys of one character").click(force=True)
    dialog.get_by_role("button", name="Close").click()
    expect(dialog).to_have_count(0)
    page.keyboard.press("j")
    expect(page.locator(".table-row.current")).to_have_count(1)


def test_a_failed_job_is_understood_from_its_page(page: Page) -> None:
    page.goto("/jobs")
    page.get_by_role("link", name="broken").click()
    card = page.get_by_role("region", name="First failure")
    expect(card).to_contain_text("worker-1")
    expect(card).to_contain_text("exit code 1")
    expect(card).to_contain_text("ValueError: the data set /data/train.csv has no column label")
    card.get_by_role("link", name="Logs at that time").click()
    expect(page.get_by_role("log")).to_contain_text("Traceback (most recent call last)")


def test_the_page_of_a_waiting_job_says_the_message_of_the_scheduler_once(page: Page) -> None:
    page.goto("/jobs/default/jaxjob/large-model")
    expect(page.get_by_role("region", name="What if")).to_contain_text("0 of 2")
    shown = page.get_by_role("main").inner_text()
    message = re.search(r"0/1 nodes are available: .+?\.(?=\s|$)", page.get_by_role("region", name="Diagnosis").inner_text())
    assert message is not None
    assert shown.count(message[0]) == 1, shown


def test_the_overview_has_the_conditions_over_time(page: Page) -> None:
    page.goto("/jobs/default/pytorchjob/broken")
    rows = page.get_by_role("region", name="Conditions over time").get_by_role("row")
    expect(rows.nth(1)).to_contain_text("Failed")
    expect(rows.last).to_contain_text("Created")
    expect(rows.filter(has_text="Running: False")).to_have_count(1)


def test_jobs_appear_and_disappear_without_reload(page: Page, machine: Machine) -> None:
    page.goto("/jobs")
    page.get_by_role("link", name="digits").wait_for()
    template = {"spec": {"containers": [{"name": "jax", "image": "python", "command": ["sleep", "600"]}]}}
    spec = {"jaxReplicaSpecs": {"Worker": {"replicas": 1, "template": template}}}
    machine.create([{"apiVersion": "kubeflow.org/v1", "kind": "JAXJob", "metadata": {"name": "short"}, "spec": spec}])
    expect(page.get_by_role("row", name="short")).to_contain_text("Running", timeout=60_000)

    page.get_by_role("checkbox", name="Select short").check()
    page.get_by_role("toolbar").get_by_role("button", name="Suspend").click()
    page.get_by_role("dialog").get_by_role("button", name="Suspend").click()
    expect(page.get_by_role("row", name="short")).to_contain_text("Suspended", timeout=60_000)

    page.get_by_role("checkbox", name="Select short").check()
    page.get_by_role("toolbar").get_by_role("button", name="Delete").click()
    confirm = page.get_by_role("dialog").get_by_role("button", name="Delete")
    expect(confirm).to_be_disabled()
    page.get_by_role("dialog").get_by_role("textbox").fill("short")
    confirm.click()
    expect(page.get_by_role("row", name="short")).to_have_count(0, timeout=60_000)


def test_a_job_that_does_not_exist(page: Page) -> None:
    page.goto("/jobs/default/pytorchjob/nothing")
    expect(page.get_by_role("alert")).to_contain_text("nothing")


@pytest.mark.parametrize("page", [{"locale": "zh-CN"}], indirect=True)
def test_the_page_speaks_chinese(page: Page) -> None:
    page.goto("/jobs")
    expect(page.get_by_role("heading", name="任务")).to_be_visible()
    expect(page.get_by_role("row", name="broken")).to_contain_text("失败")
    page.get_by_role("link", name="broken").click()
    expect(page.get_by_role("region", name="首个故障")).to_contain_text("退出码 1")
    page.goto("/jobs/default/jaxjob/large-model")
    expect(page.get_by_role("main")).to_contain_text("减少请求的")  # a remedy of the server
    page.goto("/jobs/default/pytorchjob/broken")
    page.get_by_role("button", name="语言").click()
    page.get_by_role("menuitem", name="English").click()
    expect(page.get_by_role("region", name="First failure")).to_be_visible()


def test_a_second_try_reruns_only_the_jobs_that_failed(page: Page, machine: Machine) -> None:
    sent = list[str]()

    def interrupt(route: Route) -> None:
        name = route.request.url.rpartition("/")[2]
        sent.append(name)
        if sent.count("broken:rerun") == 1 and name == "broken:rerun":
            route.abort("internetdisconnected")
        else:
            route.continue_()

    before = {kind: machine.api.names(kind, "default") for kind in ("tfjobs", "pytorchjobs")}
    page.route("**/*:rerun", interrupt)
    page.goto("/jobs")
    for name in ("evaluate", "broken"):
        page.get_by_role("checkbox", name=f"Select {name}").check()
    page.get_by_role("toolbar").get_by_role("button", name="Rerun").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Rerun").click()
    expect(dialog.get_by_role("alert")).to_be_visible()
    expect(dialog.get_by_role("listitem")).to_have_count(1)
    expect(dialog.get_by_role("heading", name="Rerun 1 job?")).to_be_visible()
    dialog.get_by_role("button", name="Rerun").click()
    expect(dialog).to_have_count(0)
    assert sorted(sent) == ["broken:rerun", "broken:rerun", "evaluate:rerun"]
    for kind, names in before.items():
        for name in machine.api.names(kind, "default") - names:
            machine.api.delete(kind, "default", name)
