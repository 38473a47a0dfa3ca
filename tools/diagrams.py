"""Draws docs/parts.svg and docs/job.svg. `make generate` runs it.

The pictures follow the reader's light or dark mode and need no font of their own.
"""

from __future__ import annotations

import pathlib
from typing import NamedTuple
from xml.sax.saxutils import escape

DOCS = pathlib.Path(__file__).parents[1] / "docs"
STYLE = """
  text { font: 14px system-ui, sans-serif; fill: #1f2328; }
  .title { font-weight: 600; }
  .small { font-size: 12px; fill: #59636e; }
  .box { fill: #ffffff; stroke: #59636e; }
  .group { fill: #f6f8fa; stroke: #d1d9e0; }
  .pure { fill: #ddf4ff; stroke: #0969da; }
  .data { fill: #fff8c5; stroke: #9a6700; }
  .arrow { stroke: #59636e; stroke-width: 1.5; fill: none; marker-end: url(#head); }
  .head { fill: #59636e; }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc; }
    .small { fill: #9198a1; }
    .box { fill: #0d1117; stroke: #9198a1; }
    .group { fill: #151b23; stroke: #3d444d; }
    .pure { fill: #121d2f; stroke: #4493f8; }
    .data { fill: #272115; stroke: #d29922; }
    .arrow { stroke: #9198a1; }
    .head { fill: #9198a1; }
  }
"""
HEAD = (
    '<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto-start-reverse">'
    '<path class="head" d="M0 0L10 5L0 10z"/></marker></defs>'
)


class Box(NamedTuple):
    x: int
    y: int
    width: int
    height: int
    title: str
    lines: tuple[str, ...] = ()
    style: str = "box"

    def svg(self) -> str:
        top = self.y + 26
        parts = [f'<rect class="{self.style}" x="{self.x}" y="{self.y}" width="{self.width}" height="{self.height}" rx="6"/>']
        if self.title:
            parts.append(f'<text class="title" x="{self.x + 12}" y="{top}">{escape(self.title)}</text>')
        for number, line in enumerate(self.lines, 1):
            parts.append(f'<text class="small" x="{self.x + 12}" y="{top + 18 * number}">{escape(line)}</text>')
        return "\n".join(parts)


class Arrow(NamedTuple):
    points: str
    """Of an SVG path."""
    label: str = ""
    at: tuple[int, int] = (0, 0)

    def svg(self) -> str:
        label = f'<text class="small" x="{self.at[0]}" y="{self.at[1]}">{escape(self.label)}</text>' if self.label else ""
        return f'<path class="arrow" d="{self.points}"/>{label}'


class Diagram(NamedTuple):
    title: str
    description: str
    size: tuple[int, int]
    parts: tuple[Box | Arrow, ...]

    def svg(self) -> str:
        width, height = self.size
        return "\n".join(
            (
                f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"',
                f'  viewBox="0 0 {width} {height}" role="img">',
                f"<title>{escape(self.title)}</title>",
                f"<desc>{escape(self.description)}</desc>",
                f"<style>{STYLE}</style>",
                HEAD,
                *(part.svg() for part in self.parts),
                "</svg>\n",
            )
        )


PARTS = Diagram(
    "The parts of traincrew on one machine",
    "One process holds API server, operator, scheduler, kubelet, controllers and the recorder of the history. Each but the API "
    "server is a client of the API. "
    "Pods and their network live in processes of their own.",
    (920, 560),
    (
        Box(40, 20, 260, 62, "kubectl, SDK, traincrew", ("clients over HTTPS",)),
        Box(330, 20, 260, 62, "web console", ("console/: a process of its own",)),
        Box(620, 20, 260, 62, "cluster.db (SQLite)", ("every change is durable first",), "data"),
        Box(20, 105, 880, 335, "", (), "group"),
        Box(40, 125, 840, 68, "API server", ("embedded/apiserver: authenticate, authorize, validate, admit, store, watch",)),
        Box(40, 250, 195, 68, "operator", ("operator/",)),
        Box(255, 250, 195, 68, "scheduler", ("embedded/scheduler",)),
        Box(470, 250, 195, 68, "kubelet", ("embedded/kubelet",)),
        Box(685, 250, 195, 68, "controllers, recorder", ("embedded/controllers", "history/")),
        Box(40, 350, 195, 68, "plan(), allocate()", ("planner/, kinds/, sharing/",), "pure"),
        Box(255, 350, 195, 68, "schedule()", ("scheduling/",), "pure"),
        Box(470, 350, 195, 68, "next_steps()", ("kubelet/lifecycle",), "pure"),
        Box(685, 350, 195, 68, "blue: pure functions", ("no clock, file, network",), "pure"),
        Box(40, 470, 410, 68, "above: traincrew up (one process)", ("right: processes that outlive it",), "group"),
        Box(470, 470, 195, 68, "shim, one a pod", ("kubelet/runtime/shim",)),
        Box(685, 470, 195, 68, "netns daemon", ("kubelet/network: DNS",)),
        Arrow("M170 82V125"),
        Arrow("M460 82V125"),
        Arrow("M750 125V82"),
        *(Arrow(f"M{x} 250V193") for x in (137, 352, 567, 782)),
        *(Arrow(f"M{x} 318V350") for x in (137, 352, 567)),
        Arrow("M665 284H675V454H567V470"),
        Arrow("M665 504H685"),
    ),
)

STEPS = (
    ("1  submit", "cli/jobs/submit.py", "kubectl apply, traincrew run", "box"),
    ("2  authenticate, route, authorize", "embedded/apiserver/endpoints/dispatch.py", "the verb and who may use it", "box"),
    ("3  default, admit, validate, store", "embedded/apiserver/endpoints/write_path.py", "the job is durable", "box"),
    ("4  watch", "client/informer.py", "the job is in the work queue", "box"),
    ("5  observe", "operator/observer.py", "the state of the job and its objects", "box"),
    ("6  plan", "planner/plan.py, kinds/pytorch.py", "pods, services, status: values", "pure"),
    ("7  execute", "operator/plan_executor.py", "status first, then pods and services", "box"),
    ("8  schedule and bind", "scheduling/scheduling_cycle.py", "gangs whole or not at all", "pure"),
    ("9  next steps", "embedded/kubelet/lifecycle/next_steps.py", "start, probe, restart, stop", "pure"),
    ("10  run", "embedded/kubelet/pods/executor.py", "shim, rootfs, cgroup, network", "box"),
    ("11  report", "embedded/kubelet/pods/status_manager.py", "pod status; the operator plans again", "box"),
)
"""The numbers are those of the list in docs/architecture.md."""


def job() -> Diagram:
    parts: list[Box | Arrow] = []
    for number, (title, path, note, style) in enumerate(STEPS):
        column, row = number % 2, number // 2
        x, y = 20 + column * 450, 20 + row * 105
        parts.append(Box(x, y, 420, 80, title, (path, note), style))
        if number + 1 < len(STEPS):
            parts.append(Arrow(f"M440 {y + 40}H470") if column == 0 else Arrow(f"M{x + 60} {y + 80}L300 {y + 105}"))
    parts.append(Arrow("M230 625V643H8V270H20", "until the job has ended", (245, 660)))
    return Diagram(
        "The path of a job",
        "Eleven steps from the manifest to the end of the job. Blue steps are pure. After step 11 the operator observes again.",
        (920, 675),
        tuple(parts),
    )


def main() -> None:
    for name, diagram in (("parts.svg", PARTS), ("job.svg", job())):
        (DOCS / name).write_text(diagram.svg())


if __name__ == "__main__":
    main()
