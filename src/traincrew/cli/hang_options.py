"""The options of verbs that report jobs which seem to hang: after how much silence."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


@dataclasses.dataclass(frozen=True)
class HangOptions:
    silent_after: str
    differs_after: str


def options(command: F) -> F:
    """Add the options. The verb receives them as `hang_options`."""

    def wrapper(*arguments: Any, **values: Any) -> Any:
        chosen = HangOptions(values.pop("silent_after"), values.pop("differs_after"))
        return command(*arguments, hang_options=chosen, **values)

    wrapper.__doc__, wrapper.__name__ = command.__doc__, command.__name__
    wrapper.__click_params__ = getattr(command, "__click_params__", [])  # type: ignore[attr-defined]
    decorated: Any = wrapper
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated  # type: ignore[no-any-return]


_OPTIONS = (
    click.option(
        "--silent-after",
        metavar="TIME",
        default="5m",
        envvar="TRAINCREW_SILENT_AFTER",
        show_default=True,
        help="Report a running job if no replica has printed anything for TIME. Also $TRAINCREW_SILENT_AFTER.",
    ),
    click.option(
        "--differs-after",
        metavar="TIME",
        default="2m",
        envvar="TRAINCREW_DIFFERS_AFTER",
        show_default=True,
        help="Report a replica that differs from the others and has printed nothing for TIME. Also $TRAINCREW_DIFFERS_AFTER.",
    ),
)
