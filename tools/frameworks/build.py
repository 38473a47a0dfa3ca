"""Builds missing environments one after the other and prints a table of all environments.

python -m tools.frameworks.build [NAME...]      without names: all but those built on demand
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from tools.frameworks import cache_paths, horovod, images, packages
from tools.frameworks.commands import BuildFailed, report, run
from tools.frameworks.recipes import RECIPES, Recipe, named


def build(recipe: Recipe) -> Path:
    """The environment of the recipe, built if it does not exist. Other processes see none or a complete one."""
    version, interpreter = packages.python(recipe)
    finished = cache_paths.environment(recipe, version)
    if cache_paths.built(finished) is None:
        with cache_paths.only_one_at_a_time(recipe.name, report):
            if cache_paths.built(finished) is None:
                _make(recipe, version, interpreter, finished)
    return finished


def _make(recipe: Recipe, version: str, interpreter: str, finished: Path) -> None:
    _room_for(recipe)
    started = time.monotonic()
    folder = cache_paths.unfinished(finished)
    report(f"{recipe.name}: {recipe.says}, with Python {version}, into {finished}")
    steps: list[tuple[str, Callable[[], None]]] = [
        ("an empty environment", lambda: packages.create(folder, interpreter, recipe.name)),
        ("packages", lambda: packages.install(folder, _wheels(recipe), f"{recipe.name}: packages")),
    ]
    if recipe.horovod:
        steps.append(("Horovod", lambda: horovod.compile_into(folder, recipe)))
    steps.append(("trimming", lambda: packages.trim(folder, recipe.trimmed)))
    steps.append(("a first use", lambda: _prove(folder, recipe)))
    for what, step in steps:
        _once(folder, recipe, what, step)
    taken = time.monotonic() - started
    about = cache_paths.Built(recipe.name, version, round(taken, 1), cache_paths.size(folder))
    (folder / "environment.json").write_text(json.dumps(asdict(about)) + "\n")
    os.sync()
    folder.rename(finished)
    horovod.forget_source(folder)
    report(f"{recipe.name}: ready after {taken:.0f} s")


def _once(folder: Path, recipe: Recipe, what: str, step: Callable[[], None]) -> None:
    """A step that an interrupted build has finished is not done again."""
    mark = folder / ".done" / what.replace(" ", "-")
    if mark.exists():
        return
    started = time.monotonic()
    step()
    mark.parent.mkdir(exist_ok=True)
    mark.touch()
    report(f"{recipe.name}: {what}: {time.monotonic() - started:.0f} s")


def _wheels(recipe: Recipe) -> tuple[Path, ...]:
    return tuple(lock for lock in cache_paths.locks(recipe) if lock.stem != "horovod")


def _prove(folder: Path, recipe: Recipe) -> None:
    path = os.pathsep.join((str(folder / "bin"), os.environ.get("PATH", os.defpath)))
    extra = {"PATH": path, **{name: value.format(here=folder) for name, value in recipe.variables}}
    run(f"{recipe.name}: a first use", [str(folder / "bin" / "python"), "-c", recipe.proof], extra=extra)


def _room_for(recipe: Recipe) -> None:
    cache_paths.root().mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(cache_paths.root()).free >> 20
    if free < recipe.megabytes:
        raise BuildFailed(
            f"{recipe.name} needs {recipe.megabytes} MB of disk, and {cache_paths.root()} has {free} MB left. "
            "Free some space, or set TRAINCREW_CACHE to a larger disk."
        )


def table() -> str:
    lines = [f"{'environment':20} {'Python':7} {'built in':>9} {'size':>8}  what"]
    for recipe in RECIPES:
        try:
            found = cache_paths.built(cache_paths.environment(recipe, packages.python(recipe)[0]))
        except BuildFailed:
            found = None
        state = (
            f"{found.python:7} {found.seconds:>7.0f} s {found.megabytes:>5} MB" if found else f"{'':7} {'not built':>9} {'':8}"
        )
        lines.append(f"{recipe.name:20} {state}  {recipe.says}")
    return "\n".join(lines)


def main(names: list[str]) -> int:
    known = {recipe.name for recipe in RECIPES}
    if unknown := set(names) - known:
        report(f"unknown: {', '.join(sorted(unknown))}; known are {', '.join(recipe.name for recipe in RECIPES)}")
        return 2
    failed = []
    for recipe in [named(name) for name in names] or [recipe for recipe in RECIPES if not recipe.on_demand]:
        try:
            build(recipe)
        except BuildFailed as error:
            report(str(error))
            failed.append(recipe.name)
    print(table())
    try:
        report(f"image names are in {images.register()}; see them with `traincrew image list`")
        declared = " ".join(f"--device {name}={count}" for name, count in images.DEVICES.items())
        report(f"jobs that ask for virtual GPUs: traincrew up {declared}")
    except BuildFailed as error:
        report(str(error))
        failed.append("ssh")
    if failed:
        report(f"not built: {', '.join(failed)}; the reason is above. Finished steps are kept for the next run")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
