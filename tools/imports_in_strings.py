"""Checks that programs inside strings import modules and names that exist.

Tests and the kubelet start Python programs that are written as strings, which neither mypy nor ruff reads.

Usage: python -m tools.imports_in_strings
"""

from __future__ import annotations

import ast
import importlib
import pathlib
import re
import sys
from collections.abc import Iterator
from typing import NamedTuple

ROOT = pathlib.Path(__file__).parents[1]
FOLDERS = ("src", "tests", "tools", "bench")
_IMPORT = re.compile(r"\bfrom ((?:traincrew|tests|tools|bench)(?:\.\w+)*) import (\w+(?:, \w+)*)")


class Import(NamedTuple):
    path: pathlib.Path
    line: int
    module: str
    name: str


def imports(path: pathlib.Path) -> Iterator[Import]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for found in _IMPORT.finditer(node.value):
                yield from (Import(path, node.lineno, found[1], name) for name in found[2].split(", "))


def exists(module: str, name: str) -> bool:
    try:
        if hasattr(importlib.import_module(module), name):
            return True
        importlib.import_module(f"{module}.{name}")
    except ModuleNotFoundError:
        return False
    return True


def main() -> None:
    sys.path.insert(0, str(ROOT))
    files = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    wrong = [found for path in files for found in imports(path) if not exists(found.module, found.name)]
    for found in wrong:
        print(f"{found.path.relative_to(ROOT)}:{found.line}: no {found.name} in {found.module}", file=sys.stderr)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
