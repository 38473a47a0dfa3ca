"""What the commands of a job need from their environment: programs, and modules that their scripts import."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import re
from collections.abc import Iterable, Sequence

from traincrew.cli.jobs import python_imports

_PYTHON = re.compile(r"python(3(\.\d+)?)?")
MAX_FILES = 200
"""Local modules that are read. More do not make the result better."""


@dataclasses.dataclass(frozen=True)
class CommandNeeds:
    programs: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    interpreter: str = ""
    """The Python that the command names by its path."""
    python: str = ""
    """The name of the Python that the command names without a path, such as `python3`."""
    certain: bool = True
    """False: the code changes sys.path, so that it may find its modules elsewhere."""


def find(commands: Iterable[Sequence[str]], directory: str) -> CommandNeeds:
    """directory: in which the commands run."""
    programs, modules, pythons, certain = list[str](), set[str](), list[str](), True
    for command in commands:
        pythons += _pythons(command)
        programs += [word for word in (command[0], *_pythons(command)) if "/" not in word]
        imports = _imports(python_imports.of_command(command), pathlib.Path(directory))
        modules |= imports.modules
        certain &= not imports.changes_path
    interpreter = next((os.path.join(directory, word) for word in pythons if "/" in word), "")
    return CommandNeeds(tuple(dict.fromkeys(programs)), tuple(sorted(modules)), interpreter, _name(pythons), certain)


def of_code(commands: Iterable[Sequence[str]]) -> CommandNeeds:
    """What the code of `python -c CODE` needs, for commands whose files are in an image."""
    commands = list(commands)
    python = _name(word for command in commands if command for word in _pythons(command))
    code = (source for command in commands for source in python_imports.of_command(command).code)
    imports = [python_imports.of_source(source) for source in code]
    modules = sorted({name for each in imports for name in each.modules})
    return CommandNeeds(modules=tuple(modules), python=python, certain=not any(each.changes_path for each in imports))


def _pythons(command: Sequence[str]) -> list[str]:
    """The interpreter is the first word, or follows a launcher such as mpirun."""
    if command[0].rpartition("/")[2] in ("sh", "bash"):
        return []
    return [word for word in command if _PYTHON.fullmatch(word.rpartition("/")[2]) and not os.path.isdir(word)][:1]


def _name(pythons: Iterable[str]) -> str:
    return next((word for word in pythons if "/" not in word), "")


def _imports(code: python_imports.PythonCode, directory: pathlib.Path) -> python_imports.Imports:
    """The imports of the code, and of the local modules that it imports."""
    pending = [(directory, python_imports.of_source(source)) for source in code.code]
    for script in code.scripts:
        path = directory / script
        pending += [(path.parent, _read(path))] if path.is_file() else []
    pending += [(directory, python_imports.Imports(frozenset({name.partition(".")[0]}))) for name in code.modules if name]
    modules, changes, seen = set[str](), False, set[pathlib.Path]()
    while pending:
        root, imports = pending.pop()
        changes |= imports.changes_path
        for name in imports.modules:
            local = _local(root, name)
            if local is None:
                modules.add(name)
            elif local not in seen and len(seen) < MAX_FILES:
                seen.add(local)
                pending.append((root, _read(local)))
    return python_imports.Imports(frozenset(modules), changes)


def _local(root: pathlib.Path, name: str) -> pathlib.Path | None:
    candidates = (root / f"{name}.py", root / name / "__init__.py", root / name)
    return next((path for path in candidates if path.exists()), None)


def _read(path: pathlib.Path) -> python_imports.Imports:
    try:
        return python_imports.of_source(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return python_imports.Imports()
