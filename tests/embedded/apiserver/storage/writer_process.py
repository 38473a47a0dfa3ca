"""A process that writes continuously and prints every acknowledged write until it is killed. Arguments: file, history."""

from __future__ import annotations

import asyncio
import itertools
import os
import sys

from tests.embedded.apiserver.storage.stored_objects import body, describe, pod

from traincrew.embedded.apiserver.storage.records import StorageLimits
from traincrew.embedded.apiserver.storage.store import Store

WRITERS = 12
OBJECTS = 7
"""Objects of each writer."""


def report(*values: object) -> None:
    os.write(1, (" ".join(map(str, values)) + "\n").encode())


async def write(store: Store, writer: int) -> None:
    for number in itertools.count():
        key = pod(f"w{writer}-{number % OBJECTS}")
        if number % 5 == 4 and store.get(key):
            report("DELETED", (await store.delete(key)).revision, key.name, "-")
        else:
            text = f"{store.revision}-{number}-{'x' * (number * 97 % 3000)}"
            report("PUT", (await store.put(key, body(key, text))).revision, key.name, text)


async def main() -> None:
    store = Store.open(sys.argv[1], describe, StorageLimits(history_changes=int(sys.argv[2])))
    report("OPEN", store.revision, store.compacted, "-")
    await asyncio.gather(*(write(store, writer) for writer in range(WRITERS)))


if __name__ == "__main__":
    asyncio.run(main())
