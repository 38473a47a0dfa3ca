"""Records or draws docs/first-steps.svg.

`python -m tools.recording draw` draws the picture from the capture, docs/first-steps.cast; `make generate` runs it.
`python -m tools.recording record` captures anew, from a real run of the commands of first-steps.txt in the current tree. It needs
`make setup framework-torch`. The output has the paths of the machine: record in a home that may be shown, such as
`HOME=/home/ada python -m tools.recording record`, in a clone in that home.
"""

from __future__ import annotations

import os
import pathlib
import sys
import tempfile

from tools.recording import capture, cast, svg

ROOT = pathlib.Path(__file__).parents[2]
CAPTURE, PICTURE = ROOT / "docs" / "first-steps.cast", ROOT / "docs" / "first-steps.svg"
COMMANDS = pathlib.Path(__file__).with_name("first-steps.txt")
SIZE = (112, 30)
LONGEST_PAUSE = 1.5
"""Seconds. Longer pauses are shortened in the capture."""
_VARIABLES = ("HOME", "LANG", "USER", "TRAINCREW_DATA", "XDG_STATE_HOME")


def record() -> None:
    environment = {name: os.environ[name] for name in _VARIABLES if name in os.environ}
    environment["PATH"] = os.pathsep.join((str(ROOT / ".venv" / "bin"), os.environ["PATH"]))
    commands = COMMANDS.read_text().splitlines()
    with tempfile.TemporaryDirectory(dir=ROOT, prefix=".recording-") as state:
        environment.setdefault("XDG_STATE_HOME", state)
        outputs = capture.capture(commands, SIZE, str(ROOT / "examples" / "pytorch" / "mnist"), environment)
    CAPTURE.write_text(cast.dump(cast.Cast(*SIZE, tuple(cast.with_shorter_pauses(outputs, LONGEST_PAUSE)))))


def draw() -> None:
    PICTURE.write_text(svg.draw(cast.load(CAPTURE.read_text())))


if __name__ == "__main__":
    if sys.argv[1:] not in (["record"], ["draw"]):
        sys.exit("usage: python -m tools.recording record | draw")
    if sys.argv[1] == "record":
        record()
    draw()
