"""Chart and operator of an earlier commit, as a release with a version of its own."""

from __future__ import annotations

import contextlib
import pathlib
import re
import sys
from collections.abc import Iterator

from tests.node import earlier_source

COMMIT = "6850fc253c66e25dcaeaba2c3ad96c361556d10d"
"""Before elastic jobs, console and recorder: the chart has fewer values and templates, the CRDs have fewer columns and fields."""
VERSION = "0.0.9"


@contextlib.contextmanager
def unpacked() -> Iterator[pathlib.Path]:
    """The source tree with `src` and the chart. Pods see the directory of the interpreter, unlike those for temporary files."""
    with earlier_source.unpacked(COMMIT, "src", "charts/traincrew", parent=sys.prefix) as source:
        described = chart(source) / "Chart.yaml"
        described.write_text(re.sub(r"(?m)^(version|appVersion): .*$", rf"\1: {VERSION}", described.read_text()))
        yield source


def chart(source: pathlib.Path) -> pathlib.Path:
    return source / "charts" / "traincrew"
