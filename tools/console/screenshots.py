"""python -m tools.console.screenshots [--docs] [FOLDER]: pictures of every page of the console, of a real cluster with real jobs.

Every page in dark and light, in English and Chinese, narrow and wide, into a folder (dist/screenshots). With --docs, also
those of docs/.
"""

from __future__ import annotations

import argparse
import pathlib
import tempfile
from typing import Any

import yaml
from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright
from tests.console_browser import console_process
from tests.console_browser.console_process import Console, Machine
from tools.console import seed_004

ROOT = pathlib.Path(__file__).parents[2]
JOBS = ROOT / "tests/console_browser/jobs.yaml"
DOCS = {"jobs": "console-jobs.png", "failure": "console-failure.png"}
"""Pages that the documentation shows, light and in English."""
SIZE: ViewportSize = {"width": 1200, "height": 800}
OTHER_SIZES: dict[str, ViewportSize] = {"narrow": {"width": 420, "height": 860}, "wide": {"width": 1920, "height": 1080}}
SETTLED = 3_000
"""ms: charts and dry runs come after the page."""
DEVICES = ("--device", "nvidia.com/vgpu=4", "--device", "nvidia.com/gpumem=16000")
RECORDED = "old-run"

PAGES = {
    "jobs": "/jobs",
    "jobs-deleted": "/jobs?deleted=1",
    "jobs-no-match": "/jobs?q=nothing",
    "failure": "/jobs/default/pytorchjob/broken",
    "running": "/jobs/default/pytorchjob/digits",
    "waiting": "/jobs/default/jaxjob/large-model",
    "replicas": "/jobs/default/pytorchjob/digits/replicas",
    "replica": "/jobs/default/pytorchjob/digits/replicas/worker-1",
    "logs": "/jobs/default/pytorchjob/digits/logs",
    "logs-consensus": "/jobs/default/pytorchjob/digits/logs?mode=consensus",
    "metrics": "/jobs/default/pytorchjob/digits/metrics",
    "tensorboard": "/jobs/default/pytorchjob/digits/tensorboard",
    "events": "/jobs/default/pytorchjob/broken/events",
    "yaml": "/jobs/default/pytorchjob/digits/yaml",
    "yaml-diff": "/jobs/default/pytorchjob/digits/yaml?view=diff",
    "new-job": "/jobs/new?kind=pytorchjob",
    "copy": "/jobs/new?from=default/pytorchjob/digits",
    "templates": "/templates",
    "nodes": "/nodes",
    "queues": "/queues",
    "not-found": "/jobs/default/pytorchjob/nothing",
}


def wait(page: Page) -> None:
    page.locator("h1").first.wait_for()
    page.wait_for_function("document.querySelectorAll('[aria-busy=true], .mantine-Loader-root').length === 0")
    page.wait_for_timeout(SETTLED)


def shoot(page: Page, file: pathlib.Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=file, animations="disabled")


class Studio:
    def __init__(self, browser: Browser, console: Console, folder: pathlib.Path) -> None:
        self.browser, self.console, self.folder = browser, console, folder
        self.state = console_process.sign_in(browser, console, folder / "state.json")

    def page(self, language: str, scheme: Any, **options: Any) -> Page:
        context = self.browser.new_context(
            base_url=self.console.origin,
            storage_state=self.state,
            locale=language,
            color_scheme=scheme,
            viewport=SIZE,
            **options,
        )
        context.add_init_script(f"localStorage.setItem('mantine-color-scheme-value', '{scheme}')")
        page = context.new_page()
        page.set_default_timeout(120_000)
        return page

    def sizes(self) -> None:
        for size, viewport in OTHER_SIZES.items():
            page = self.page("en-US", "light")
            page.set_viewport_size(viewport)
            for name, address in PAGES.items():
                page.goto(address)
                wait(page)
                shoot(page, self.folder / f"{size}-{name}.png")
            page.context.close()

    def pages(self, language: str, scheme: Any) -> None:
        page = self.page(language, scheme)
        for name, address in PAGES.items():
            page.goto(address)
            wait(page)
            shoot(page, self.folder / f"{name}.{language}.{scheme}.png")
        page.keyboard.press("Control+k")
        shoot(page, self.folder / f"palette.{language}.{scheme}.png")
        page.context.close()
        self.signed_out(language, scheme)

    def signed_out(self, language: str, scheme: Any) -> None:
        context = self.browser.new_context(base_url=self.console.origin, locale=language, color_scheme=scheme, viewport=SIZE)
        page = context.new_page()
        page.goto("/jobs")
        wait(page)
        shoot(page, self.folder / f"sign-in.{language}.{scheme}.png")
        context.close()


def create_jobs(machine: Machine) -> None:
    """Jobs in every state, and one that is deleted."""
    jobs: list[dict[str, Any]] = list(yaml.safe_load_all(JOBS.read_text()))
    done = next(each for each in jobs if each["metadata"]["name"] == "evaluate")
    machine.create([{**done, "metadata": {"name": RECORDED}}])
    machine.wait(f"tfjob/{RECORDED}", "Succeeded")
    machine.create(jobs)
    for job, condition in (("pytorchjob/digits", "Running"), ("pytorchjob/broken", "Failed"), ("tfjob/evaluate", "Succeeded")):
        machine.wait(job, condition)
    machine.api.delete("tfjobs", "default", RECORDED)


def main() -> None:
    parser = argparse.ArgumentParser(prog="tools.console.screenshots")
    parser.add_argument("folder", nargs="?", type=pathlib.Path, default=ROOT / "dist/screenshots")
    parser.add_argument("--docs", action="store_true", help="also write the pictures of the documentation")
    wanted = parser.parse_args()
    wanted.folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="screenshots-") as folder,
        console_process.machine(pathlib.Path(folder) / "data", *DEVICES) as machine,
        console_process.console(machine) as console,
        sync_playwright() as playwright,
    ):
        seed_004.use_environments(machine)
        create_jobs(machine)
        browser = playwright.chromium.launch(executable_path=console_process.chromium(), args=["--no-sandbox"])
        studio = Studio(browser, console, wanted.folder)
        for language in ("en-US", "zh-CN"):
            seed_004.walk(studio.page(language, "light"), wanted.folder, language)
        for language, scheme in (("en-US", "light"), ("en-US", "dark"), ("zh-CN", "light"), ("zh-CN", "dark")):
            studio.pages(language, scheme)
        studio.sizes()
        browser.close()
        studio.state.unlink()
    if wanted.docs:
        copy_to_docs(wanted.folder)


def copy_to_docs(folder: pathlib.Path) -> None:
    for name, file in DOCS.items():
        (ROOT / "docs" / file).write_bytes((folder / f"{name}.en-US.light.png").read_bytes())
    for picture in folder.glob("004-*.png"):
        (ROOT / "docs/seeds/images" / picture.name.replace(".en-US", "")).write_bytes(picture.read_bytes())


if __name__ == "__main__":
    main()
