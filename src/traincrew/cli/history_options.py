"""The flags of the history: where it is, and how much is kept."""

from __future__ import annotations

import click

from traincrew import errors, settings
from traincrew.apimachinery import quantities
from traincrew.cli.option_group import add_options
from traincrew.cli.whole_number import WholeNumber
from traincrew.history import locations

location = click.option(
    "--history", metavar="LOCATION", envvar="TRAINCREW_HISTORY", default="",
    help="The history: the path of a SQLite file, or postgresql://USER:PASSWORD@HOST/DATABASE. Default: $TRAINCREW_HISTORY, "
         "where other users of the machine do not see the password.",
)  # fmt: skip
add_limits = add_options((
    click.option("--max-age", type=WholeNumber(1), default=30, show_default=True, metavar="DAYS",
                 help="Remove a job from the history so many days after its deletion."),
    click.option("--max-size", default="1Gi", show_default=True, metavar="SIZE",
                 help="Size of the history. The jobs that were deleted first are removed first."),
    click.option("--max-log-size", default="64Mi", show_default=True, metavar="SIZE",
                 help="Size of the copied log of one container, compressed. Its oldest lines are removed first."),
))  # fmt: skip


def parse(max_age: int, max_size: str, max_log_size: str, namespaces: tuple[str, ...]) -> settings.History:
    """Raise SettingsError."""
    return settings.History(
        max_age_seconds=max_age * 86400.0,
        max_bytes=_size("--max-size", max_size),
        max_log_bytes=_size("--max-log-size", max_log_size),
        namespaces=tuple(dict.fromkeys(name for name in namespaces if name)),
    )


def _size(flag: str, text: str) -> int:
    found = quantities.value(text) if quantities.is_quantity(text) else 0
    if found < 1 << 20:
        raise errors.SettingsError(f"{flag} {text!r} is not a size of 1Mi or more. Write it as 500Mi or 10Gi.")
    return found


def checked(found: str) -> str:
    """A location as the user wrote it, in which a scheme is spelled right. Raise SettingsError."""
    scheme = locations.scheme(found)
    if scheme and scheme not in locations.POSTGRES_SCHEMES:
        raise errors.SettingsError(f"--history: {scheme}:// is not supported. Use postgresql://… or the path of a file.")
    return found
