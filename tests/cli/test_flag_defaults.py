"""The defaults of flags are those of settings.py."""

from __future__ import annotations

import re
from typing import Any

import click
import pytest

from traincrew import errors, settings
from traincrew.cli import history_options, node_options, sharing_options, size_arguments
from traincrew.cli.commands import node, operator, up


def _flags(add: Any, *arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    click.command()(add(lambda **flags: found.update(flags))).main(list(arguments), standalone_mode=False)
    return found


def _default(command: click.Command, name: str) -> Any:
    return next(each.default for each in command.params if each.name == name)


def test_without_flags_the_node_keeps_logs_as_the_settings_say() -> None:
    assert node_options.node(_flags(node_options.options)) == settings.Node()


def test_without_flags_the_history_is_limited_as_the_settings_say() -> None:
    given = _flags(history_options.add_limits)
    assert history_options.parse(**given, namespaces=()) == settings.History()


def test_without_flags_idle_capacity_is_shared_as_the_settings_say() -> None:
    assert sharing_options.parse(_flags(sharing_options.options)["sharing_options"]) == settings.Sharing()


@pytest.mark.parametrize(
    ("command", "name", "expected"),
    [
        (up.up, "overcommit", settings.Cluster.overcommit),
        (up.up, "listen", f"{settings.Cluster.listen}:{settings.Cluster.port}"),
        (node.node, "address", settings.JoinedNode.address),
        (node.node, "callers", settings.JoinedNode.callers),
        (operator.operator, "in_flight", settings.Operator.in_flight),
    ],
)
def test_a_flag_of_one_verb_has_the_default_of_its_setting(command: click.Command, name: str, expected: Any) -> None:
    assert _default(command, name) == expected


@pytest.mark.parametrize("command", [up.up, node.node, operator.operator], ids=lambda command: command.name)
def test_help_says_limits_of_numbers_in_words(command: click.Command) -> None:
    text = " ".join(command.get_help(click.Context(command, terminal_width=1000)).split())
    assert not re.search(r"x[<>]|[<>]=?x", text)


def test_help_says_defaults_of_numbers_as_people_write_them() -> None:
    text = " ".join(up.up.get_help(click.Context(up.up)).split())
    assert "[default: 7; 0 or more]" in text
    assert "[default: 0.05; 0.001 to 1]" in text


@pytest.mark.parametrize(
    ("flags", "error"),
    [
        (["--resize-budget", "2"], "2.0 is not in the range 0.001 to 1."),
        (["--resize-budget", "x"], "'x' is not a valid number."),
    ],
)
def test_an_invalid_number_is_rejected_with_its_limits(flags: list[str], error: str) -> None:
    with pytest.raises(click.BadParameter, match=re.escape(error)):
        _flags(sharing_options.options, *flags)


@pytest.mark.parametrize("text", ["1Gi", "64Mi", "1536Ki"])
def test_a_size_is_written_as_it_is_read(text: str) -> None:
    assert size_arguments.text(size_arguments.parse("--log-bytes", text)) == text


@pytest.mark.parametrize(("text", "minimum"), [("lots", "0"), ("-1", "0"), ("", "0"), ("1023Ki", "1Mi")])
def test_an_invalid_size_is_rejected_with_the_name_of_its_flag(text: str, minimum: str) -> None:
    with pytest.raises(errors.SettingsError, match="invalid --max-size"):
        size_arguments.parse("--max-size", text, minimum)
