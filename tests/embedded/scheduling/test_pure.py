from __future__ import annotations

import ast
import pathlib

import pytest

import traincrew.embedded.scheduler
import traincrew.embedded.scheduling

HOME = pathlib.Path(next(iter(traincrew.embedded.scheduling.__path__)))
SHELL = pathlib.Path(next(iter(traincrew.embedded.scheduler.__path__)))
IMPURE = {"asyncio", "logging", "os", "pathlib", "random", "socket", "sqlite3", "subprocess", "time", "uuid", "aiohttp"}


def imported(path: pathlib.Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {node.module or "", *(f"{node.module}.{each.name}" for each in node.names)}
    return found


@pytest.mark.parametrize("path", sorted(HOME.glob("*.py")), ids=lambda path: path.stem)
def test_placement_knows_no_clock_no_file_no_network_no_chance(path: pathlib.Path) -> None:
    assert not {each.partition(".")[0] for each in imported(path)} & IMPURE
    assert not any(each.startswith("traincrew.embedded.scheduler.") for each in imported(path))


@pytest.mark.parametrize("path", sorted(SHELL.glob("*.py")), ids=lambda path: path.stem)
def test_the_shell_is_a_client_of_the_api_and_knows_no_server(path: pathlib.Path) -> None:
    assert not any(each.startswith(("traincrew.embedded.store", "traincrew.embedded.api")) for each in imported(path))
