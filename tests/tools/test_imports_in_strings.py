"""Imports inside strings are found and resolved."""

from __future__ import annotations

import pathlib

import pytest

from tools import imports_in_strings

PROGRAM = '''
START = """import sys
from PACKAGE.kinds import jax, no_such_kind
"""
"from somewhere.else import name"
f"{START}from PACKAGE.no_such_module import name"
'''.replace("PACKAGE", "traincrew")


def test_imports_of_our_packages_are_found_in_strings(tmp_path: pathlib.Path) -> None:
    (tmp_path / "a.py").write_text(PROGRAM)
    found = [(each.line, each.module, each.name) for each in imports_in_strings.imports(tmp_path / "a.py")]
    assert sorted(found) == [
        (2, "traincrew.kinds", "jax"),
        (2, "traincrew.kinds", "no_such_kind"),
        (6, "traincrew.no_such_module", "name"),
    ]


@pytest.mark.parametrize(
    ("module", "name", "there"),
    [
        pytest.param("traincrew.kinds", "jax", True, id="a module"),
        pytest.param("traincrew.kinds", "KINDS", True, id="a name"),
        pytest.param("traincrew.kinds", "no_such_kind", False, id="no such name"),
        pytest.param("traincrew.no_such_module", "name", False, id="no such module"),
    ],
)
def test_modules_and_names_are_resolved(module: str, name: str, there: bool) -> None:
    assert imports_in_strings.exists(module, name) is there
