"""-o: the format in which a verb prints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

FORMS = ("text", "json", "yaml", "name")


def option(*more: str) -> Callable[[F], F]:
    """Add -o. The verb receives `form`. more: formats of this verb in addition to those of every verb."""
    return click.option(
        "-o",
        "--output",
        "form",
        type=click.Choice([FORMS[0], *more, *FORMS[1:]]),
        default="text",
        show_default=True,
        help="Output format.",
    )
