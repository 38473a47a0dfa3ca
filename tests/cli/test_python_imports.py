"""What a command needs from its environment."""

from __future__ import annotations

import pathlib

from traincrew.cli.jobs import command_needs, python_imports

SCRIPT = """
import os, numpy as np
from torch.nn import functional
from . import sibling
try:
    import tensorflow
except ImportError:
    tensorflow = None
if os.environ.get("X"):
    import xgboost
def main():
    import paddle
"""


def test_imports_that_every_run_executes_are_found() -> None:
    assert python_imports.of_source(SCRIPT) == python_imports.Imports(frozenset({"numpy", "torch"}))


def test_code_that_changes_sys_path_is_noticed() -> None:
    assert python_imports.of_source("import sys\nsys.path.insert(0, 'x')\nimport y").changes_path


def test_code_with_errors_is_left_to_python() -> None:
    assert python_imports.of_source("import (") == python_imports.Imports()


def test_the_script_of_a_launcher_is_found() -> None:
    command = ("mpirun", "-n", "2", "python", "-u", "train.py", "--data", "x.py")
    assert python_imports.of_command(command).scripts == ("train.py", "x.py")
    assert python_imports.of_command(("python", "-m", "torch.distributed.run", "a.py")).modules == ("torch.distributed.run",)
    assert python_imports.of_command(("python", "-c", "import torch")).code == ("import torch",)


def test_local_modules_are_followed(tmp_path: pathlib.Path) -> None:
    (tmp_path / "train.py").write_text("import model, json\n")
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "__init__.py").write_text("import torch\nimport train\n")
    needs = command_needs.find([("python", "train.py")], str(tmp_path))
    assert needs == command_needs.CommandNeeds(("python",), ("torch",), python="python")


def test_an_interpreter_with_a_path_is_the_one_that_is_asked(tmp_path: pathlib.Path) -> None:
    needs = command_needs.find([("venv/bin/python", "-c", "import torch")], str(tmp_path))
    assert (needs.interpreter, needs.programs) == (str(tmp_path / "venv/bin/python"), ())
