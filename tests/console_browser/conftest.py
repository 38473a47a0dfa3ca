from __future__ import annotations

import os
import pathlib
from collections.abc import Iterator

import pytest
import yaml
from playwright.sync_api import Browser, ConsoleMessage, Page, Playwright, expect, sync_playwright
from tests.console_browser import console_process, joined_machine
from tests.console_browser.console_process import Console, Machine

expect.set_options(timeout=30_000)  # a machine that is busy with other things is slow, not wrong
JOBS = pathlib.Path(__file__).parent / "jobs.yaml"


ONE_MACHINE = "one_machine"


def is_real_kubernetes() -> bool:
    """TRAINCREW_BROWSER_CLUSTER=kubernetes: kube-apiserver with `traincrew node`."""
    return os.environ.get("TRAINCREW_BROWSER_CLUSTER", "") == "kubernetes"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of what only `traincrew up` has: its scheduler, its history, its process."""
    for item in items:
        if item.get_closest_marker(ONE_MACHINE) is not None and is_real_kubernetes():
            item.add_marker(pytest.mark.skip(reason="only the cluster of `traincrew up` has this"))


@pytest.fixture(scope="session")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A cluster on this machine with jobs in every state, or a real Kubernetes with this machine as its node."""
    kind = joined_machine if is_real_kubernetes() else console_process
    with kind.machine(tmp_path_factory.mktemp("browser") / "data") as found:
        found.create(yaml.safe_load_all(JOBS.read_text()))
        found.wait("pytorchjob/digits", "Running")
        found.wait("pytorchjob/broken", "Failed")
        found.wait("tfjob/evaluate", "Succeeded")
        yield found


@pytest.fixture(scope="session")
def console(machine: Machine) -> Iterator[Console]:
    with console_process.console(machine) as found:
        yield found


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as found:
        yield found


@pytest.fixture(scope="session")
def chromium(playwright: Playwright) -> Iterator[Browser]:
    # Chromium has no sandbox for root.
    browser = playwright.chromium.launch(executable_path=console_process.chromium(), args=["--no-sandbox"])
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def session(chromium: Browser, console: Console, tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Cookie and local storage of a browser that has opened the link."""
    return console_process.sign_in(chromium, console, tmp_path_factory.mktemp("session") / "state.json")


def is_fault(message: ConsoleMessage, origin: str) -> bool:
    """Browsers report every response with an error code; those of the API are the business of the page.

    Chromium also interrupts what it loads whenever the network interface of a pod comes or goes on this machine. What the page
    needs, the steps of the test find missing.
    """
    if message.type != "error" or "ERR_NETWORK_CHANGED" in message.text:
        return False
    return not message.location["url"].startswith(f"{origin}/api/")


@pytest.fixture
def page(chromium: Browser, console: Console, session: pathlib.Path, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A signed-in tab. Errors of the page and violations of its Content-Security-Policy fail the test."""
    options = {"viewport": {"width": 1400, "height": 900}, "locale": "en-US", **getattr(request, "param", {})}
    context = chromium.new_context(base_url=console.origin, storage_state=session, **options)
    found, faults = context.new_page(), list[str]()
    found.on("pageerror", lambda error: faults.append(str(error)))
    found.on("console", lambda message: faults.append(message.text) if is_fault(message, console.origin) else None)
    found.on("request", lambda sent: None if sent.url.startswith((console.origin, "data:", "blob:")) else faults.append(sent.url))
    yield found
    context.close()
    assert not faults
