"""The figures as bars, in SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

COLOURS = {"rigid": "#888888", "Horovod": "#2b7bba", "torchrun": "#e07b39"}
WIDTH, PANEL, BAR = 720, 150, 16


class Bars(NamedTuple):
    title: str
    values: Sequence[tuple[str, float]]


def draw(workloads: Mapping[str, Sequence[tuple[str, tuple[float, float, float]]]]) -> str:
    """One panel for each workload, seed by seed. An open day shows completion times, the others productive GPU time."""
    panels = [_bars(name, rows) for name, rows in workloads.items()]
    height = sum(_height(panel) for panel in panels) + 20
    size = f'width="{WIDTH}" height="{height}" font-family="sans-serif" font-size="12"'
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" {size}>']
    top = 0
    for panel in panels:
        parts += _panel(panel, top)
        top += _height(panel)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _bars(name: str, rows: Sequence[tuple[str, tuple[float, float, float]]]) -> Bars:
    shown = 2 if "endless" in name else 0
    unit = "productive GPU time, %" if shown else "mean completion time, min"
    return Bars(f"{name}: {unit}", [(label, row[shown]) for label, row in rows])


def _height(panel: Bars) -> int:
    return 40 + BAR * len(panel.values)


def _panel(panel: Bars, top: int) -> list[str]:
    largest = max(value for _, value in panel.values) or 1.0
    parts = [f'<text x="10" y="{top + 24}" font-weight="bold">{panel.title}</text>']
    for number, (label, value) in enumerate(panel.values):
        y, length = top + 34 + number * BAR, value / largest * (WIDTH - 220)
        parts.append(f'<text x="{PANEL - 60}" y="{y + 11}" text-anchor="end">{label}</text>')
        parts.append(f'<rect x="{PANEL - 50}" y="{y}" width="{length:.1f}" height="{BAR - 3}" fill="{COLOURS[label]}"/>')
        parts.append(f'<text x="{PANEL - 44 + length:.1f}" y="{y + 11}">{value:.1f}</text>')
    return parts
