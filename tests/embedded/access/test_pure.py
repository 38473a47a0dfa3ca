from __future__ import annotations

import ast
import pathlib

import pytest

import traincrew.embedded.access

HOME = pathlib.Path(next(iter(traincrew.embedded.access.__path__)))
PURE = (
    "aggregation", "attributes", "bindings", "claims", "escalation", "impersonation", "origins", "rbac", "redaction",
    "review_selectors", "reviews", "rights", "rules", "users",
)  # fmt: skip
IMPURE = {"asyncio", "logging", "os", "pathlib", "random", "socket", "sqlite3", "subprocess", "time", "uuid", "aiohttp"}


@pytest.mark.parametrize("name", PURE)
def test_pure_parts_know_no_clock_no_file_no_network_no_chance(name: str) -> None:
    imported = set()
    for node in ast.walk(ast.parse((HOME / f"{name}.py").read_text())):
        if isinstance(node, ast.Import):
            imported |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported |= {node.module or "", *(f"{node.module}.{each.name}" for each in node.names)}
    assert not {each.partition(".")[0] for each in imported} & IMPURE
    ours = {each.removeprefix("traincrew.embedded.access.") for each in imported if each.startswith("traincrew.embedded.access.")}
    assert {each.partition(".")[0] for each in ours} <= set(PURE)
