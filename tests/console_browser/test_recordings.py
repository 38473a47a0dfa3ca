"""A failed job is exported in one console, and opened in another one that has no cluster."""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect
from tests.console_browser import console_process
from tests.console_browser.conftest import is_fault
from tests.console_browser.console_process import SECONDS, TRAINCREW, Machine
from tests.console_browser.test_accessibility import RULES

JOB = "/jobs/default/pytorchjob/broken"


@pytest.fixture
def file(page: Page, machine: Machine, tmp_path: pathlib.Path) -> pathlib.Path:
    """The recording of a job that has failed, as the page exports it."""
    page.goto(JOB)
    with page.expect_download() as found:
        page.get_by_role("button", name="Export recording").click()
    assert found.value.suggested_filename == "default-broken.recording.jsonl.gz"
    path: pathlib.Path = tmp_path / found.value.suggested_filename
    found.value.save_as(path)
    return path


@contextlib.contextmanager
def opened(file: pathlib.Path, directory: pathlib.Path) -> Iterator[str]:
    """The link of `traincrew console FILE`, where there is no cluster."""
    output = directory / "console.log"
    hidden = ("KUBECONFIG", "TRAINCREW_DATA")
    environment = {key: value for key, value in os.environ.items() if key not in hidden}
    environment |= {"HOME": os.fspath(directory), "PYTHONUNBUFFERED": "1"}
    with output.open("wb") as log:
        command = [*TRAINCREW, "console", os.fspath(file)]
        process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
    try:
        yield console_process.printed(process, output, r"http://\S+#token=\S+")
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(SECONDS)


@contextlib.contextmanager
def tab(chromium: Browser, link: str, **options: Any) -> Iterator[Page]:
    """Errors of the page fail the test."""
    origin = link.split("/jobs/")[0]
    context = chromium.new_context(base_url=origin, **{"locale": "en-US", **options})
    page, faults = context.new_page(), list[str]()
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda message: faults.append(message.text) if is_fault(message, origin) else None)
    page.goto(link)
    yield page
    context.close()
    assert not faults


def shows_the_job(page: Page) -> None:
    expect(page.get_by_role("heading", name="broken")).to_be_visible()
    expect(page.get_by_text("This is a recording of the job as of")).to_be_visible()
    expect(page.get_by_role("region", name="First failure")).to_contain_text("exit code")
    for action in ("Delete", "Run again", "Suspend", "Export recording"):
        expect(page.get_by_role("button", name=action)).to_have_count(0)
    expect(page.get_by_role("link", name="Copy and change")).to_have_count(0)


def test_an_exported_job_is_understood_in_a_console_without_a_cluster(
    chromium: Browser, file: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    with opened(file, tmp_path) as link, tab(chromium, link) as page:
        shows_the_job(page)
        expect(page.get_by_text("recordings · no cluster")).to_be_visible()
        expect(page.get_by_role("link", name="New job")).to_have_count(0)
        evidence = page.get_by_role("region", name="First failure").locator("pre").first.inner_text().splitlines()[-1]
        tabs = page.get_by_role("navigation", name="Parts of the job")
        expect(tabs.get_by_role("link", name="TensorBoard")).to_have_count(0)
        tabs.get_by_role("link", name="Logs").click()
        expect(page.get_by_role("log")).to_contain_text(evidence)
        tabs.get_by_role("link", name="Replicas").click()
        page.get_by_role("link", name="worker-0").first.click()
        expect(page.get_by_text("broken-worker-0").first).to_be_visible()
        tabs.get_by_role("link", name="Events").click()
        expect(page.get_by_text("SuccessfulCreatePod").first).to_be_visible()
        tabs.get_by_role("link", name="Metrics").click()
        expect(page.get_by_role("heading", name="broken")).to_be_visible()
        tabs.get_by_role("link", name="YAML").click()
        expect(page.get_by_role("textbox", name="YAML")).to_contain_text("kind: PyTorchJob")
        page.goto("/")
        expect(page.get_by_role("heading", name="Recordings", exact=True)).to_be_visible()
        page.get_by_role("link", name="broken").click()
        shows_the_job(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_recordings_are_accessible(chromium: Browser, file: pathlib.Path, tmp_path: pathlib.Path, scheme: str) -> None:
    with opened(file, tmp_path) as link, tab(chromium, link, color_scheme=scheme) as page:
        shows_the_job(page)
        assert not Axe().run(page, options=RULES).response["violations"]
        page.goto("/recordings")
        page.get_by_role("link", name="broken").wait_for()
        assert not Axe().run(page, options=RULES).response["violations"]


def test_a_recording_is_opened_from_the_list_of_jobs_and_closed(page: Page, file: pathlib.Path, tmp_path: pathlib.Path) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("hello\n")
    page.goto("/jobs")
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Open a recording").click()
    chooser.value.set_files(other)
    expect(page.get_by_text("notes.txt was not opened")).to_be_visible()
    expect(page.get_by_text("the file is not a recording of traincrew")).to_be_visible()
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Open a recording").click()
    chooser.value.set_files(file)
    shows_the_job(page)
    page.get_by_role("link", name="Recordings").click()
    expect(page.get_by_role("link", name="broken")).to_have_count(1)
    page.get_by_role("button", name="Close the recording of broken").click()
    expect(page.get_by_text("No recording is open.")).to_be_visible()


def test_a_recording_in_chinese(chromium: Browser, file: pathlib.Path, tmp_path: pathlib.Path) -> None:
    with opened(file, tmp_path) as link, tab(chromium, link, locale="zh-CN") as page:
        expect(page.get_by_text("这是该任务截至")).to_be_visible()
        page.goto("/recordings")
        expect(page.get_by_role("button", name="打开录制文件")).to_be_visible()
