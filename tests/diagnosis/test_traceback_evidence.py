"""The source line of an exception is part of its evidence, whatever it looks like. Real outputs of this Python."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest

from traincrew.diagnosis import cause
from traincrew.diagnosis.replica_end import ReplicaEnd


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("print([1, 2, 3][5])", "print([1, 2, 3][5])"),  # as many digits as a tensor has
        ("x = 100 / (2 - 1 - 1)", "x = 100 / (2 - 1 - 1)"),
        ("data = {}\nloss = 1 + data['lr'] * 2", "loss = 1 + data['lr'] * 2"),
        ("def f(a):\n    return a[0]\nf(\n    [\n    ],\n)", "return a[0]"),
    ],
)
def test_a_source_line_above_a_marker_is_kept(tmp_path: pathlib.Path, source: str, shown: str) -> None:
    script = tmp_path / "train.py"
    script.write_text(source)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    found = cause.examine(ReplicaEnd("Worker 0", done.stderr, done.returncode))
    assert f'File "{script}", line' in found.evidence[0]
    assert found.evidence[1] == f"  {shown}"
    assert found.evidence[2:] == (done.stderr.splitlines()[-1],)
