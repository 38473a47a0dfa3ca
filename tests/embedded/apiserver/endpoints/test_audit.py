"""The audit log records requests of in-process clients, too."""

from __future__ import annotations

import json
import pathlib

import pytest

from traincrew import errors
from traincrew.embedded.bootstrap import BootstrapObjects, bootstrap
from traincrew.embedded.control_plane import ControlPlane, Options
from traincrew.model.resources import CONFIG_MAPS


async def test_requests_of_in_process_clients_are_audited(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "audit.log"
    nothing = BootstrapObjects((), (), ())
    options = Options(tmp_path / "data", "127.0.0.1", 0, nothing, tmp_path / "log", "0", audit_log=str(path))
    daemon = ControlPlane(options)
    try:
        await bootstrap(daemon.system_client("bootstrap"), daemon.options.bootstrap)
        before, client = path.stat().st_size, daemon.system_client("test")
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "not for the log"}}
        await client.create(CONFIG_MAPS, "default", json.dumps(body).encode())
        with pytest.raises(errors.NotFound):
            await client.get(CONFIG_MAPS, "default", "b")
        async for _ in client.pages(CONFIG_MAPS, None, labels="is=c"):
            pass
    finally:
        await daemon.close()
    written = path.read_bytes()[before:]
    entries = [json.loads(line) for line in written.splitlines()]
    assert [(each["verb"], each["requestURI"], each["responseStatus"]["code"]) for each in entries] == [
        ("create", "/api/v1/namespaces/default/configmaps", 201),
        ("get", "/api/v1/namespaces/default/configmaps/b", 404),
        ("list", "/api/v1/configmaps?limit=500&labelSelector=is%3Dc", 200),
    ]
    assert entries[0]["objectRef"]["name"] == "a"
    assert {each["userAgent"] for each in entries} == {"test"}
    assert b"not for the log" not in written
