"""Options that verbs share: added one by one, or passed to each verb as one value."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def add_options(options: Sequence[Callable[[Any], Any]]) -> Callable[[F], F]:
    """A decorator that adds the options to a verb, which receives each value by the name of its option."""

    def decorate(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def option_group(parameter: str, record: type, options: Sequence[Callable[[Any], Any]]) -> Callable[[F], F]:
    """A decorator that adds the options to a verb. The verb receives their values in `parameter`, as an instance of `record`.

    record: a dataclass of strings, with a field for each option.
    """

    def decorate(command: F) -> F:
        def wrapper(*arguments: Any, **values: Any) -> Any:
            given = {field.name: values.pop(field.name) for field in dataclasses.fields(record)}
            chosen = {name: "" if value is None else value for name, value in given.items()}
            return command(*arguments, **{parameter: record(**chosen)}, **values)

        wrapper.__doc__, wrapper.__name__ = command.__doc__, command.__name__
        # click stores the options that are declared below this decorator on the wrapped function.
        wrapper.__click_params__ = getattr(command, "__click_params__", [])  # type: ignore[attr-defined]
        return add_options(options)(wrapper)  # type: ignore[return-value]

    return decorate
