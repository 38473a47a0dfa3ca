"""Seed 004 as a person does it: from the form, through state and resource use, to the log of each replica, with a real mpirun."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect
from tests.console_browser.console_process import Machine
from tools.frameworks import images

from traincrew.embedded.kubelet.images import image_map, image_map_files

IMAGE = "traincrew/openmpi:4"
# The arguments of the document, which begin with the command again; the program is a smaller one.
ARGUMENTS = """mpirun --allow-run-as-root -np 2 -bind-to none -map-by slot \\
  -x NCCL_DEBUG=INFO -x PATH -mca pml ob1 -mca btl ^openib \\
  python /examples/mpi/pi/pi.py"""


@pytest.fixture(scope="module")
def open_mpi(machine: Machine) -> str:
    """The image of the form is the environment of `make framework-openmpi4`."""
    ours = tuple(each for each in images.entries() if "openmpi4" in each.environment and each.pattern.startswith("traincrew/"))
    assert ours, "Open MPI is not built. Run `make test-console-core`, which builds it."
    file = machine.config / "traincrew" / image_map_files.NAME
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(image_map.render(ours))
    return IMAGE


@pytest.mark.core
def test_an_mpi_job_from_the_form_to_its_logs(page: Page, open_mpi: str) -> None:
    page.goto("/jobs")
    page.get_by_role("main").get_by_role("link", name="New job").click()
    page.get_by_role("textbox", name="Name").fill("seed-004")
    page.get_by_role("textbox", name="Description").fill("pi on two workers")
    page.get_by_role("combobox", name="Image").fill(open_mpi)
    page.get_by_role("textbox", name="Start command").fill("mpirun")
    page.get_by_role("textbox", name="Arguments").fill(ARGUMENTS)
    page.get_by_role("button", name="Remove it from the arguments").click()
    expect(page.get_by_text("-np 2 uses all 2 slots of the workers.")).to_be_visible()
    for role in ("Launcher", "Worker"):
        group = page.get_by_role("group", name=role, exact=True)
        group.get_by_role("textbox", name="CPU").fill("100m")
        group.get_by_role("textbox", name="Memory").fill("128Mi")
    expect(page.get_by_text("3 replicas")).to_be_visible()
    page.get_by_text("Advanced", exact=True).click()
    page.get_by_role("combobox", name="Pods after the end").click()
    page.get_by_role("option", name="Keep all").click()
    page.get_by_role("button", name="Submit").click()

    expect(page.get_by_role("heading", name="seed-004")).to_be_visible()
    expect(page.locator(".job-head")).to_contain_text("Succeeded", timeout=120_000)
    parts = page.get_by_role("navigation", name="Parts of the job")
    parts.get_by_role("link", name=re.compile("^Replicas")).click()
    for replica in ("launcher", "worker-0", "worker-1"):
        expect(page.get_by_role("row", name=re.compile(f"^{replica}"))).to_be_visible()
    page.get_by_role("row", name=re.compile("^launcher")).get_by_role("link", name="Logs").click()
    log = page.get_by_role("log")
    expect(log).to_contain_text("pi is approximately 3.14")
    expect(log).to_contain_text("ranks on seed-004-worker-0 seed-004-worker-1")
    expect(page.get_by_text("launcher: exit code 0")).to_be_visible()
    page.get_by_role("link", name="Jobs").first.click()
    expect(page.get_by_role("row", name="seed-004")).to_contain_text("pi on two workers")
