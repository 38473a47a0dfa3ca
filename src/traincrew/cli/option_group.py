"""Options that several verbs share, passed to each of them as one value."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def option_group(parameter: str, record: type, options: Sequence[Callable[[Any], Any]]) -> Callable[[F], F]:
    """A decorator that adds the options to a verb. The verb receives their values in `parameter`, as an instance of `record`.

    record: a dataclass of strings, with a field for each option.
    """

    def decorate(command: F) -> F:
        def wrapper(*arguments: Any, **values: Any) -> Any:
            chosen = {field.name: values.pop(field.name) or "" for field in dataclasses.fields(record)}
            return command(*arguments, **{parameter: record(**chosen)}, **values)

        wrapper.__doc__, wrapper.__name__ = command.__doc__, command.__name__
        # click stores the options that are declared below this decorator on the wrapped function.
        wrapper.__click_params__ = getattr(command, "__click_params__", [])  # type: ignore[attr-defined]
        decorated: Any = wrapper
        for option in reversed(options):
            decorated = option(decorated)
        return decorated  # type: ignore[no-any-return]

    return decorate
