"""-o of every verb; the verbs of the cluster; `open`."""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import pathlib
import signal
import time
from collections.abc import Iterator

import click
import pytest
import yaml
from tests.cli.cluster_fixture import TIMEOUT_SECONDS
from tests.cli.test_real_pods import Machine

from traincrew.cli.main import VERBS
from traincrew.console import page_files

ROOT = pathlib.Path(__file__).parents[2]
WITHOUT = {
    "exec",
    "cp",
    "export",
    "open",
    "console",
    "kubeconfig",
    "env",
    "node",
    "operator",
    "recorder",
    "completion",
    "manifests",
}
"""Verbs whose output belongs to a program, is read by one, is a file or a log. docs/cli.md lists them."""


def commands() -> Iterator[tuple[str, click.Command]]:
    for verb in VERBS:
        command = getattr(importlib.import_module(f"traincrew.cli.commands.{verb.replace('-', '_')}"), verb.replace("-", "_"))
        yield from [(verb, each) for each in command.commands.values()] if isinstance(command, click.Group) else [(verb, command)]


@pytest.mark.parametrize(("verb", "command"), [pytest.param(*each, id=f"{each[0]}-{each[1].name}") for each in commands()])
def test_every_verb_that_prints_results_has_output_formats(verb: str, command: click.Command) -> None:
    forms = [option.type.choices for option in command.params if "-o" in option.opts and isinstance(option.type, click.Choice)]
    assert [{"json", "yaml", "name"} <= set(each) for each in forms] == ([] if verb in WITHOUT else [True])


def test_the_page_names_the_verbs_without_output_formats() -> None:
    text = (ROOT / "docs" / "cli.md").read_text()
    section = text[text.index("## Output formats") :].split("\n## ")[0]
    sentence = next(each for each in section.split("\n\n") if "have no `-o`" in each)
    assert {verb for verb in VERBS if f"`{verb}`" in sentence} == WITHOUT


async def test_up_down_and_image_print_their_results(tmp_path: pathlib.Path) -> None:
    machine = Machine(tmp_path)
    code, out, err = await machine("up", "-o", "json")
    assert (code, out) == (2, ""), err
    assert "--output requires --detach" in err
    try:
        code, out, err = await machine("up", "--detach", "-o", "json")
        assert code == 0, err
        started = json.loads(out)
        assert (started["running"], started["data"]) == (True, str(machine.data))
        assert started["kubeconfig"] == (await machine("kubeconfig"))[1].strip()
        code, out, err = await machine("up", "--detach", "-o", "name")
        assert (code, out, "is already running" in err) == (0, f"node/{started['node']}\n", True)
        assert (await machine("image", "set", "a/b", "--workdir", "/data", "--cluster"))[0] == 0
        code, out, err = await machine("image", "rm", "a/b", "--cluster", "-o", "yaml")
        assert (code, yaml.safe_load(out)["workdir"]) == (0, "/data"), err
    finally:
        code, out, err = await machine("down", "-o", "json")
    assert (code, json.loads(out)["stopped"], json.loads(out)["node"]) == (0, True, started["node"]), err
    code, out, _ = await machine("down", "-o", "json")
    assert (code, json.loads(out)["stopped"]) == (0, False)


async def test_open_without_the_built_page_says_how_to_build_it(tmp_path: pathlib.Path) -> None:
    if page_files.is_built():
        pytest.skip("the page is built")
    code, _, err = await Machine(tmp_path)("open")
    assert (code, "Run `make console`" in err) == (2, True)


async def test_open_opens_the_link_in_the_browser(tmp_path: pathlib.Path) -> None:
    if not page_files.is_built():
        pytest.skip("needs `make console`")
    machine, opened = Machine(tmp_path), tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}.part && mv {opened}.part {opened}\n')
    browser.chmod(0o755)
    machine.env |= {"BROWSER": os.fspath(browser)}
    assert (await machine("up", "--detach", "--no-node"))[0] == 0
    try:
        process, printed = await machine.start("open", "--port", "0"), b""
        async with asyncio.timeout(TIMEOUT_SECONDS):
            assert process.stdout is not None
            while b"Press Ctrl-C" not in (line := await process.stdout.readline()):
                assert line, "the console has ended"
                printed += line
            while not opened.exists():
                await asyncio.to_thread(time.sleep, 0.05)
            process.send_signal(signal.SIGINT)
            await process.communicate()
        link = opened.read_text().strip()
        assert link.startswith("http://127.0.0.1:")
        assert link in printed.decode()
    finally:
        await machine("down", "--grace", "0")
