from __future__ import annotations

import ast
import pathlib

import pytest

import traincrew.embedded.node.lifecycle

HOME = pathlib.Path(next(iter(traincrew.embedded.node.lifecycle.__path__)))
IMPURE = {"asyncio", "logging", "os", "pathlib", "random", "socket", "sqlite3", "subprocess", "time", "uuid", "aiohttp"}
KNOWN = ("traincrew.embedded.node.lifecycle", "traincrew.embedded.node.sandbox.spec", "traincrew.embedded.builtin")


def imported(path: pathlib.Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return found


@pytest.mark.parametrize("path", sorted(HOME.glob("*.py")), ids=lambda path: path.stem)
def test_deciding_about_a_pod_knows_no_clock_no_file_no_network_no_chance(path: pathlib.Path) -> None:
    assert not {each.partition(".")[0] for each in imported(path)} & IMPURE
    assert all(each.startswith(KNOWN) for each in imported(path) if each.startswith("traincrew"))
