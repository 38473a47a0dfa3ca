"""Where a history is: the path of a SQLite file, or the URL of a PostgreSQL database."""

from __future__ import annotations

import re

POSTGRES_SCHEMES = ("postgresql", "postgres")


def scheme(location: str) -> str:
    """Of a URL; empty: the location is a path."""
    found = re.match(r"([a-z][a-z0-9+.-]*)://", location, re.IGNORECASE)
    return found[1] if found is not None else ""
