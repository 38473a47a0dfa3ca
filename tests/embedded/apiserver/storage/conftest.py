from __future__ import annotations

import pathlib
from collections.abc import AsyncIterator, Callable

import pytest
from tests.embedded.apiserver.storage.stored_objects import describe

from traincrew.embedded.apiserver.storage.records import StorageLimits
from traincrew.embedded.apiserver.storage.store import Store

Open = Callable[..., Store]


@pytest.fixture
def path(tmp_path: pathlib.Path) -> pathlib.Path:
    return tmp_path / "data" / "state.db"


@pytest.fixture
async def opened(path: pathlib.Path) -> AsyncIterator[Open]:
    """Opens stores on the file. Stores that the test leaves open are closed."""
    stores: list[Store] = []

    def open_store(limits: StorageLimits | None = None) -> Store:
        stores.append(Store.open(path, describe, limits))
        return stores[-1]

    yield open_store
    for store in stores:
        await store.close()
