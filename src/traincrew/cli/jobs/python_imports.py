"""The modules that Python code imports when it starts. Pure."""

from __future__ import annotations

import ast
import dataclasses
import sys
from collections.abc import Iterator, Sequence


@dataclasses.dataclass(frozen=True)
class Imports:
    modules: frozenset[str] = frozenset()
    """Top-level names, without those of the standard library."""
    changes_path: bool = False
    """The code changes sys.path: its modules may be anywhere."""


@dataclasses.dataclass(frozen=True)
class PythonCode:
    """The Python code that a command runs."""

    modules: tuple[str, ...] = ()
    """Of `python -m MODULE`."""
    code: tuple[str, ...] = ()
    """Of `python -c CODE`."""
    scripts: tuple[str, ...] = ()


def of_command(command: Sequence[str]) -> PythonCode:
    """What the words of a command show. A command line inside one word, such as that of `sh -c`, is not read."""
    modules, code, scripts = list[str](), list[str](), list[str]()
    words = iter(command)
    python = False
    for word in words:
        if word.rpartition("/")[2].startswith("python"):
            python = True
        elif python and word in ("-c", "-m"):
            (code if word == "-c" else modules).append(next(words, ""))
            python = False
        elif word.endswith(".py"):
            scripts.append(word)
            python = False
    return PythonCode(tuple(modules), tuple(code), tuple(scripts))


def of_source(source: str) -> Imports:
    """Imports that are executed in every run: not those in functions, in `try` or under a condition."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return Imports()  # Python reports it better
    names = {name.partition(".")[0] for name in _names(tree.body)}
    changes = any(
        isinstance(node, ast.Attribute) and node.attr == "path" and isinstance(node.value, ast.Name) and node.value.id == "sys"
        for node in ast.walk(tree)
    )
    return Imports(frozenset(names - set(sys.stdlib_module_names)), changes)


def _names(body: Sequence[ast.stmt]) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
        elif isinstance(node, ast.With):
            yield from _names(node.body)
