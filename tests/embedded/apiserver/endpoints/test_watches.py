"""Watches in process: their timeout ends them, and nothing else of the task that reads them."""

from __future__ import annotations

import asyncio
import pathlib

from tests.embedded.apiserver.endpoints import in_process_api

from traincrew.embedded.apiserver.requests.query_parameters import Query
from traincrew.embedded.apiserver.requests.request import ApiRequest


async def test_a_timeout_while_an_event_is_being_handled_does_not_cancel_the_handler(tmp_path: pathlib.Path) -> None:
    async with in_process_api.in_process_api(tmp_path) as api:
        await api.create("configmaps", "a")
        info = api.control_plane.registry.find("", "v1", "configmaps")
        assert info is not None
        query = Query({"timeoutSeconds": ["1"], "fieldSelector": ["metadata.name=a"]})
        watch = api.control_plane.handler.watch(ApiRequest(api.user, "watch", info, "default", query=query))
        handled = []
        async for batch in watch.events():
            await asyncio.sleep(1.5)  # longer than the watch lasts
            handled += [event.type for event in batch]
        assert handled == ["ADDED"]
