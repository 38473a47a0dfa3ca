"""The time bar of a recording whose times are known: the job runs after 20 s and fails after 60 s."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, expect
from tests.console_browser.test_accessibility import RULES
from tests.console_browser.test_recordings import opened, tab
from tests.history import recordings
from tests.history.recordings import POD, TIME, metadata

from traincrew.history.recording_lines import EventLine, Line, SamplesLine, StatusLine

CREATED, STARTED, FAILED = "2026-11-18T07:30:00Z", "2026-11-18T07:30:20Z", "2026-11-18T07:31:00Z"


def condition(type: str, time: str, status: str = "True") -> dict[str, str]:
    return {"type": type, "status": status, "reason": f"JAXJob{type}", "message": "", "lastTransitionTime": time}


def status(seconds: int, *conditions: dict[str, str], **more: str) -> StatusLine:
    return StatusLine(time=TIME + seconds * 1000, status={"conditions": conditions, **more})


def event(reason: str, time: str) -> EventLine:
    involved = {"kind": "Pod", "name": "mnist-worker-0", "uid": POD}
    times = {"firstTimestamp": time, "lastTimestamp": time}
    document = {"metadata": metadata(reason, reason), "involvedObject": involved, "reason": reason, "type": "Normal", **times}
    return EventLine(uid=reason, involved=POD, time=TIME, object=document)


def pod() -> Line:
    found = recordings.pod()
    document: Any = found.object
    document["metadata"]["labels"] |= {"training.kubeflow.org/replica-type": "worker", "training.kubeflow.org/replica-index": "0"}
    document["status"]["containerStatuses"][0]["state"]["terminated"]["startedAt"] = STARTED
    document["status"]["conditions"] = [{"type": "PodScheduled", "status": "True", "lastTransitionTime": CREATED}]
    return found


def lines() -> list[Line]:
    created, running = condition("Created", CREATED), condition("Running", STARTED)
    ended = status(60, created, condition("Running", FAILED, "False"), condition("Failed", FAILED), completionTime=FAILED)
    job = recordings.job()
    document: Any = job.object
    document["status"] = {**ended.status, "startTime": CREATED}
    samples = SamplesLine(pod=POD, times=[TIME + 25_000, TIME + 50_000], cpu=[0.25, 0.75], memory=[1, 2])
    text = "2026-11-18T07:30:25.500000000Z step 1\n2026-11-18T07:30:50.000000000Z step 2\n"
    statuses = [status(0, created), status(20, created, running), ended]
    events = [event("Started", STARTED), event("BackOff", FAILED)]
    return [recordings.MANIFEST, job, *statuses, pod(), *events, samples, recordings.log(text=text)]


@pytest.fixture
def link(tmp_path: pathlib.Path) -> Iterator[str]:
    file = tmp_path / "mnist.recording.jsonl.gz"
    file.write_bytes(recordings.encoded(lines()))
    with opened(file, tmp_path) as found:
        yield found


def slider(page: Page) -> Locator:
    return page.get_by_role("slider", name="Moment of the recording")


def test_the_keyboard_moves_the_moment_of_the_overview(chromium: Browser, link: str) -> None:
    with tab(chromium, link) as page:
        facts, phases = page.locator(".job-facts").first, page.get_by_role("region", name="Phases")
        expect(facts).to_contain_text("Failed")
        expect(slider(page)).to_have_value("60")
        slider(page).press("Home")
        expect(page).to_have_url(re.compile(r"\?t=2026-11-18T07%3A30%3A00Z$"))
        expect(facts).to_contain_text("Starting")
        expect(phases).not_to_contain_text("Running")
        assert not Axe().run(page, options=RULES).response["violations"]
        page.get_by_role("button", name="Next change").click()
        expect(slider(page)).to_have_attribute("aria-valuetext", re.compile("Running"))
        expect(facts).to_contain_text("Running")
        expect(phases).to_contain_text("Running")
        expect(phases).not_to_contain_text("Failed")
        slider(page).press("End")
        expect(page).to_have_url(re.compile(r"/mnist(@|%40)file-\w+$"))
        expect(facts).to_contain_text("Failed")
        expect(phases).to_contain_text("Failed")


def test_a_linked_moment_is_that_of_all_tabs(chromium: Browser, link: str) -> None:
    with tab(chromium, link) as page:
        expect(slider(page)).to_be_visible()
        page.goto(f"{page.url.partition('?')[0]}/logs?t=2026-11-18T07:30:25Z")
        expect(page.get_by_role("log")).to_contain_text("step 1")
        expect(page.get_by_role("log")).not_to_contain_text("step 2")
        expect(page.get_by_text("exit code 3")).to_have_count(0)
        tabs = page.get_by_role("navigation", name="Parts of the job")
        tabs.get_by_role("link", name="Events").click()
        expect(page.get_by_role("cell", name="Started")).to_be_visible()
        expect(page.get_by_role("cell", name="BackOff")).to_have_count(0)
        tabs.get_by_role("link", name="Metrics").click()
        expect(page.locator(".chart-legend").first).to_contain_text("0.25")
        tabs.get_by_role("link", name="Replicas").click()
        expect(page.get_by_role("table", name="Replicas")).to_contain_text("Running")
        slider(page).press("End")
        expect(page.get_by_role("table", name="Replicas")).to_contain_text("Failed")
        tabs.get_by_role("link", name="Logs").click()
        expect(page.get_by_role("log")).to_contain_text("step 2")


def test_another_view_of_the_yaml_keeps_the_moment(chromium: Browser, link: str) -> None:
    with tab(chromium, link) as page:
        expect(slider(page)).to_be_visible()
        page.goto(f"{page.url.partition('?')[0]}/yaml?t=2026-11-18T07:30:25Z")
        expect(slider(page)).to_have_value("25")
        for view in ("As submitted", "Full object"):
            page.get_by_role("radiogroup").get_by_text(view, exact=True).click()
            expect(page).to_have_url(re.compile(r"t=2026-11-18T07(:|%3A)30"))
            expect(slider(page)).to_have_value("25")


def test_the_time_bar_in_chinese(chromium: Browser, link: str) -> None:
    with tab(chromium, link, locale="zh-CN") as page:
        page.get_by_role("slider", name="录制的时刻").press("Home")
        expect(page.get_by_role("region", name="时间条")).to_contain_text("截至")
