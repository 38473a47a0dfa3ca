from __future__ import annotations

import pathlib
from collections.abc import AsyncIterator, Iterator

import pytest
from tests.console import console_fixture
from tests.console.console_fixture import Browser, Machine


@pytest.fixture(scope="session")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    with console_fixture.running_machine(tmp_path_factory.mktemp("console") / "data") as found:
        yield found


@pytest.fixture
async def visitor(machine: Machine, tmp_path: pathlib.Path) -> AsyncIterator[Browser]:
    """A browser that is not signed in."""
    async with console_fixture.console(machine.kubeconfig, tmp_path / "page", machine.data) as found:
        yield found


@pytest.fixture
async def browser(visitor: Browser) -> Browser:
    await visitor.sign_in()
    return visitor
