"""The cluster is away and comes back, while a page is open."""

from __future__ import annotations

import json
import os
import pathlib
import signal

import pytest
from playwright.sync_api import Browser, Page, Route, expect
from tests.console_browser import console_process


def test_the_last_state_stays_while_the_cluster_is_away(chromium: Browser, tmp_path: pathlib.Path) -> None:
    container = {"name": "jax", "image": "python", "command": ["sleep", "600"]}
    spec = {"jaxReplicaSpecs": {"Worker": {"replicas": 1, "template": {"spec": {"containers": [container]}}}}}
    job = {"apiVersion": "kubeflow.org/v1", "kind": "JAXJob", "metadata": {"name": "steady"}, "spec": spec}
    with console_process.machine(tmp_path / "data") as machine, console_process.console(machine) as console:
        page = chromium.new_page()
        page.goto(console.link)
        expect(page.get_by_text("No jobs yet")).to_be_visible()
        machine.create([job])
        expect(page.get_by_role("row", name="steady")).to_contain_text("Running", timeout=60_000)

        os.kill(json.loads((machine.data / "running.json").read_text())["pid"], signal.SIGKILL)
        expect(page.get_by_role("alert")).to_contain_text("The cluster does not respond.", timeout=60_000)
        expect(page.get_by_role("row", name="steady")).to_contain_text("Running")

        machine.run("up", "--detach")
        expect(page.get_by_role("alert")).to_have_count(0, timeout=60_000)
        machine.create([{**job, "metadata": {"name": "later"}}])
        expect(page.get_by_role("row", name="later")).to_contain_text("Running", timeout=60_000)
        page.close()


@pytest.mark.parametrize("path", ["/jobs/new?from=default/tfjob/evaluate", "/templates"])
def test_a_page_whose_first_request_fails_says_so_and_comes_back_by_itself(page: Page, path: str) -> None:
    page.route("**/api/v1/capabilities", lambda route: route.abort())
    page.goto(path)
    expect(page.get_by_role("alert")).to_contain_text("does not respond")
    page.unroute("**/api/v1/capabilities")
    expect(page.get_by_role("alert")).to_have_count(0)
    expect(page.get_by_role("button", name="Save as template").or_(page.get_by_text("tensorflow-benchmarks"))).to_be_visible()


def test_requests_that_a_change_of_the_network_interrupts_are_sent_again(page: Page) -> None:
    interrupted = list[str]()

    def interrupt(route: Route) -> None:
        if len(interrupted) < 2:
            interrupted.append(route.request.method)
            route.abort("internetdisconnected")
        else:
            route.continue_()

    page.route("**/api/v1/nodes", interrupt)
    alerts = "window.alerts = 0; new MutationObserver(() => window.alerts += document.querySelectorAll('[role=alert]').length)"
    page.add_init_script(f"{alerts}.observe(document, {{ subtree: true, childList: true }})")
    page.goto("/nodes")
    expect(page.get_by_role("row").nth(1)).to_be_visible()
    assert interrupted == ["GET", "GET"]
    assert page.evaluate("window.alerts") == 0


def test_a_request_that_acts_is_sent_once(page: Page) -> None:
    sent = list[str]()

    def interrupt(route: Route) -> None:
        sent.append(route.request.url)
        route.abort("internetdisconnected")

    page.route("**/api/v1/jobs/default/tfjob/evaluate:rerun", interrupt)
    page.goto("/jobs")
    page.get_by_role("button", name="Actions of evaluate").click()
    page.get_by_role("menuitem", name="Rerun").click()
    page.get_by_role("dialog").get_by_role("button", name="Rerun").click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("Check that traincrew console is running")
    page.wait_for_timeout(3000)
    assert len(sent) == 1


def test_a_link_is_valid_once(chromium: Browser, console: console_process.Console, session: pathlib.Path) -> None:
    assert session.exists()
    context = chromium.new_context(locale="en-US")
    page = context.new_page()
    page.goto(console.link)
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    assert "token" not in page.url
    context.close()


@pytest.mark.parametrize("path", ["/jobs?status=Nonsense&sort=%00&cols=,,&since=never", "/jobs/a/b/c?x=1#L=", "/nothing/here"])
def test_addresses_that_nobody_wrote_break_nothing(
    chromium: Browser, session: pathlib.Path, path: str, console: console_process.Console
) -> None:
    context = chromium.new_context(storage_state=session, base_url=console.origin, locale="en-US")
    page, faults = context.new_page(), list[str]()
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(path)
    expect(page.get_by_role("heading").first).to_be_visible()
    context.close()
    assert not faults
