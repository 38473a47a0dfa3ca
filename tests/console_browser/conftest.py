from __future__ import annotations

import pathlib
from collections.abc import Iterator

import pytest
import yaml
from playwright.sync_api import Browser, ConsoleMessage, Page, Playwright, sync_playwright
from tests.console_browser import console_process
from tests.console_browser.console_process import Console, Machine

JOBS = pathlib.Path(__file__).parent / "jobs.yaml"


@pytest.fixture(scope="session")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A cluster on this machine with jobs in every state."""
    with console_process.machine(tmp_path_factory.mktemp("browser") / "data") as found:
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
    context = chromium.new_context()
    page = context.new_page()
    page.goto(console.link)
    page.get_by_role("heading", name="Jobs").wait_for()
    kept = tmp_path_factory.mktemp("session") / "state.json"
    context.storage_state(path=kept)
    context.close()
    return kept


def is_fault(message: ConsoleMessage, origin: str) -> bool:
    """Browsers report every response with an error code; those of the API are the business of the page."""
    return message.type == "error" and not message.location["url"].startswith(f"{origin}/api/")


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
