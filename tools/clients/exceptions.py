"""Tests of clients that are not run, with the reason. They need what a cluster on one machine does not have.

A reason is printed with each run. A test that fails for a fault of ours does not belong here: fix the fault.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

FILE = Path(__file__).with_name("exceptions.toml")


def clients() -> set[str]:
    return set(tomllib.loads(FILE.read_text()))


def of(client: str) -> dict[str, str]:
    """Test, as pytest names it → reason."""
    groups = tomllib.loads(FILE.read_text()).get(client, [])
    return {test: group["reason"] for group in groups for test in group["tests"]}
