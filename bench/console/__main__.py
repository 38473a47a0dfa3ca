"""python -m bench.console [--jobs 5000] [--lines 1000000] [--tabs 20]: the page of the console in Debian's Chromium."""

from __future__ import annotations

import argparse
import asyncio
import concurrent.futures
import os
import pathlib
import statistics
import tempfile
import time
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright
from tests.console_browser import console_process
from tests.console_browser.console_process import Console, Machine
from tests.console_browser.page_transfer import PageTransfer

from bench.console import page_measures, react_logviewer, workload
from bench.console.workload import job
from bench.node.bench_cluster import cpu_seconds, tree

TAB_SECONDS = 20.0
CHANGES = 50
"""Jobs that change in a second."""


class Bench:
    def __init__(self, browser: Browser, machine: Machine, console: Console) -> None:
        self.browser, self.machine, self.console = browser, machine, console
        page = self.tab()
        page.goto(console.link)
        page.locator("h1").first.wait_for()
        self.state = page.context.storage_state()
        page.context.close()

    def tab(self, **options: Any) -> Page:
        page = self.browser.new_context(base_url=self.console.origin, locale="en-US", **options).new_page()
        page.set_default_timeout(300_000)
        return page

    def paint(self) -> None:
        times, found = [], ""
        for _ in range(5):
            page = self.tab(storage_state=self.state)
            transfer = PageTransfer(page)
            times.append(page_measures.first_paint(page, "/jobs"))
            found = f"{transfer.total / 1000:.0f} kB in {len(transfer.files)} files"
            page.context.close()
        row("first paint, median of 5", f"{statistics.median(times):.0f} ms")
        row("first page on the wire, with headers", found)

    def list(self, count: int) -> None:
        config = self.machine.data / "kubeconfig"
        # Playwright has an event loop in this thread.
        with concurrent.futures.ThreadPoolExecutor(1) as thread:
            thread.submit(asyncio.run, workload.create_jobs(config, count)).result()
        page = self.tab(storage_state=self.state)
        page.goto("/jobs?sort=name")
        page_measures.until(lambda: int(page.locator("[role=grid]").get_attribute("aria-rowcount") or 0) > count)
        found = page_measures.frames(page, "[role=grid]")
        row(f"list of {count} jobs, scrolled", f"{found['fps']:.0f} frames/s, longest {found['longest']:.0f} ms")
        with workload.changing(config, count, CHANGES):
            page.get_by_text("change ").first.wait_for()
            found = page_measures.frames(page, "[role=grid]")
        row(f"the same while {CHANGES} jobs change a second", f"{found['fps']:.0f} frames/s, longest {found['longest']:.0f} ms")
        page.context.close()

    def logs(self, lines: int) -> None:
        self.machine.create([job("lines", workload.LINES.format(lines=lines)), job("clock", workload.CLOCK)])
        page = self.tab(storage_state=self.state)
        page.goto("/jobs/default/jaxjob/clock/logs")
        page.locator(".log-row").first.wait_for()
        delays = page_measures.line_delays(page, 100)
        row("line to screen, 100 lines", f"median {delays[50]:.0f} ms, 95 % {delays[94]:.0f} ms")
        first = page_measures.shown_after(page, "/jobs/default/jaxjob/lines/logs?all=1", ".log-row")
        page.locator(".log-row >> text=all lines").wait_for()
        found = page_measures.frames(page, "[role=log]")
        view = page_measures.LogView(first, found["fps"], found["longest"], page_measures.heap(page))
        row(f"log of {lines} lines: what the page keeps, scrolled", str(view))
        page.context.close()

    def tabs(self, count: int, jobs: int) -> None:
        """The jobs exist: those of the list."""
        pages = [self.tab(storage_state=self.state) for _ in range(count)]
        for page in pages:
            page.goto("/jobs")
            page.locator("[role=row]").nth(1).wait_for()
        self.cpu(f"CPU of the server, {count} tabs with a list of {jobs} jobs")
        with workload.changing(self.machine.data / "kubeconfig", jobs, CHANGES):
            self.cpu(f"the same while {CHANGES} jobs change a second")
        for page in pages:
            page.goto("/jobs/default/jaxjob/clock/logs")
            page.locator(".log-row").first.wait_for()
        self.cpu(f"{count} tabs with a log of ten lines a second")
        for page in pages:
            page.context.close()

    def cpu(self, what: str) -> None:
        before, began = self.console_cpu(), time.monotonic()
        time.sleep(TAB_SECONDS)
        used = (self.console_cpu() - before) / (time.monotonic() - began)
        row(what, f"{used * 100:.1f} % of a core")

    def console_cpu(self) -> float:
        """Seconds of the console and all processes below it."""
        return sum(map(cpu_seconds, tree(self.console.process.pid)))


def other_view(lines: int) -> None:
    """The page of the console keeps 100,000 lines of a log; the other view keeps them all."""
    for count in sorted({min(lines, 100_000), lines}):
        row(f"{react_logviewer.PACKAGE}, {count} lines, scrolled", react_logviewer.in_limited_time(count))


def row(what: str, value: str) -> None:
    print(f"{what:<58} {value}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.console")
    parser.add_argument("--jobs", type=int, default=5000)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--tabs", type=int, default=20)
    wanted = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="bench-console-") as folder,
        console_process.machine(pathlib.Path(folder) / "data") as machine,
        console_process.console(machine) as console,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=console_process.chromium(), args=["--no-sandbox"])
        row("load of the machine", f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        bench = Bench(browser, machine, console)
        bench.paint()
        bench.logs(wanted.lines)
        bench.list(wanted.jobs)
        bench.tabs(wanted.tabs, wanted.jobs)
        browser.close()
        other_view(wanted.lines)


if __name__ == "__main__":
    main()
