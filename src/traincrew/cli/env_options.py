"""The option --env NAME=VALUE of `run` and of `image set`."""

from __future__ import annotations

import re

from traincrew import errors


def parse(given: tuple[str, ...], environ: dict[str, str]) -> tuple[tuple[str, str], ...]:
    """NAME=VALUE, or NAME alone for the value of the current environment."""
    found = []
    for text in given:
        name, equals, value = text.partition("=")
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.-]*", name):
            raise errors.SettingsError(f"invalid --env {text!r}: expected NAME=VALUE")
        if not equals and name not in environ:
            raise errors.SettingsError(f"invalid --env {name}: the variable is not set. Use {name}=VALUE.")
        found.append((name, value if equals else environ[name]))
    return tuple(found)
