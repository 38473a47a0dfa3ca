"""Writes requirements/frameworks/*.txt from the *.in beside them: exact versions with hashes, no addresses.

python -m tools.frameworks.locks [NAME...]
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "requirements" / "frameworks"
ALONE = ("data", "keras2", "horovod")
"""Locked without their dependencies."""
LEFT_OUT = {"torch": ("triton",), "horovod-torch": ("triton",)}
"""A compiler for GPU kernels, 0.7 GB; imported by nothing that runs on a CPU."""


def lock(uv: str, name: str) -> None:
    flags = ["--universal", "--python-version", "3.11", "--generate-hashes", "--no-emit-index-url", "--no-emit-find-links"]
    flags += ["--no-annotate", "--no-header", "--quiet"] + (["--no-deps"] if name in ALONE else [])
    for package in LEFT_OUT.get(name, ()):
        flags += ["--no-emit-package", package]
    subprocess.run([uv, "pip", "compile", *flags, f"{name}.in", "-o", f"{name}.txt"], cwd=FOLDER, check=True)


def main(names: list[str]) -> int:
    beside = Path(sys.executable).with_name("uv")
    uv = str(beside) if beside.exists() else shutil.which("uv")
    if uv is None:
        print("uv is not installed: make lock", file=sys.stderr)
        return 1
    for name in names or sorted(path.stem for path in FOLDER.glob("*.in")):
        lock(uv, name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
