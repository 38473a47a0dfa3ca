"""The walk of docs/seeds/004.md through the form, with pictures, in the language of the page."""

from __future__ import annotations

import pathlib
import sys

from playwright.sync_api import Page, expect
from tests.console_browser.console_process import Machine
from tools.frameworks import images

from traincrew.embedded.kubelet.images import image_map, image_map_files

IMAGE = "traincrew/openmpi:4"
DESCRIPTION = {"en-US": "Two ranks under mpirun", "zh-CN": "mpirun 下的两个 rank"}
PROGRAM = """import os, time
rank, world = os.environ["OMPI_COMM_WORLD_RANK"], os.environ["OMPI_COMM_WORLD_SIZE"]
print(f"rank={rank} world={world} host={os.uname().nodename}")
for step in range(1, 41):
    began = time.perf_counter()
    sum(i * i for i in range(1_000_000))
    print(f"rank {rank} step {step}/40 seconds: {time.perf_counter() - began:.3f}")
    time.sleep(1)"""
# As the document writes them: they begin with the command again.
ARGUMENTS = f"""mpirun --allow-run-as-root -np 2 -bind-to none -map-by slot \\
  -x NCCL_DEBUG=INFO -x LD_LIBRARY_PATH -x PATH -mca pml ob1 -mca btl ^openib \\
  python -u -c '{PROGRAM}'"""
FIELDS = {
    "en-US": {
        "name": "Name", "description": "Description", "image": "Image", "command": "Start command", "arguments": "Arguments",
        "remove": "Remove it from the arguments", "cpu": "CPU", "memory": "Memory", "submit": "Submit", "running": "Running",
        "succeeded": "Succeeded",
    },
    "zh-CN": {
        "name": "名称", "description": "描述", "image": "镜像", "command": "启动命令", "arguments": "命令参数",
        "remove": "从参数中删除", "cpu": "CPU", "memory": "内存", "submit": "提交", "running": "运行中", "succeeded": "成功",
    },
}  # fmt: skip
SAMPLED = 12_000
"""ms: the charts have more than one point then."""


def use_environments(machine: Machine) -> None:
    """Open MPI, and for the image of the other jobs the Python that runs this."""
    ours = tuple(each for each in images.entries() if "openmpi4" in each.environment and each.pattern.startswith("traincrew/"))
    assert ours, "Open MPI is not built. Run `make framework-openmpi4`."
    file = machine.config / "traincrew" / image_map_files.NAME
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(image_map.render((*ours, image_map.ImageMapEntry(pattern="python", environment=sys.prefix))))


def walk(page: Page, folder: pathlib.Path, language: str) -> None:
    words, name = FIELDS[language], "benchmarks-mpi" if language == "en-US" else "benchmarks-mpi-zh"

    def picture(part: str) -> None:
        page.screenshot(path=folder / f"004-{part}.{language}.png", animations="disabled")

    page.goto("/jobs/new?kind=mpijob")
    page.get_by_role("textbox", name=words["name"], exact=False).first.fill(name)
    page.get_by_role("textbox", name=words["description"]).first.fill(DESCRIPTION[language])
    page.get_by_role("combobox", name=words["image"]).first.fill(IMAGE)
    page.get_by_role("textbox", name=words["command"], exact=True).fill("mpirun")
    page.get_by_role("textbox", name=words["arguments"]).fill(ARGUMENTS)
    for role in ("Launcher", "Worker"):
        group = page.get_by_role("group", name=role, exact=True)
        group.get_by_role("textbox", name=words["cpu"]).fill("100m")
        group.get_by_role("textbox", name=words["memory"]).fill("256Mi")
    remove = page.get_by_role("button", name=words["remove"])
    remove.scroll_into_view_if_needed()
    page.wait_for_timeout(2_000)
    picture("form")
    remove.click()
    page.get_by_role("button", name=words["submit"]).click()
    head = page.locator(".job-head")
    expect(head).to_contain_text(words["running"], timeout=120_000)
    address = f"/jobs/default/mpijob/{name}"
    page.goto(f"{address}/metrics")
    page.wait_for_timeout(SAMPLED)
    picture("metrics")
    page.goto(address)
    page.wait_for_timeout(3_000)
    picture("job")
    page.set_viewport_size({"width": 1200, "height": 600})
    page.goto(f"{address}/logs")
    expect(head).to_contain_text(words["succeeded"], timeout=180_000)
    page.wait_for_timeout(2_000)
    picture("logs")
    page.context.close()
