"""Paths below the home directory of the user, as people write them."""

from __future__ import annotations

import os


def abbreviate(path: str) -> str:
    home = os.path.expanduser("~")
    return f"~{path.removeprefix(home)}" if path.startswith(f"{home}/") else path
