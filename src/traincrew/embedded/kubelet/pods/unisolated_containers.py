"""What a container is told where pods have neither a network nor files of their own: everything is at this host."""

from __future__ import annotations

import dataclasses
import os
import pathlib
from typing import Any

import msgspec

from traincrew.client import port
from traincrew.embedded.kubelet.environment.variables import EnvironmentSources
from traincrew.embedded.kubelet.images.programs import nslookup
from traincrew.embedded.kubelet.network import localhost_services
from traincrew.embedded.kubelet.pods.tools import Tools
from traincrew.model.resources import SERVICES

Object = dict[str, Any]


async def services(client: port.Reader) -> list[Object]:
    """As of now: a job's Services are made before its pods, but a watch may tell of the pods first. Raises ApiError."""
    return [msgspec.json.decode(raw) async for page in client.pages(SERVICES, None) for raw in page.items]


def told(
    pod: Object, written: Object, known: EnvironmentSources, found: list[Object], tools: Tools
) -> tuple[Object, EnvironmentSources]:
    """The container and what it may know, with names of Services replaced. What secrets say is not looked at."""
    namespace, domain = pod["metadata"]["namespace"], tools.options.domain
    maps = {name: _map(each, found, namespace, domain) for name, each in known.config_maps.items()}
    known = dataclasses.replace(known, config_maps=maps, services=localhost_services.services_on_localhost(found, tools.api))
    return localhost_services.container_on_localhost(written, found, namespace, domain), known


def _map(found: Object | None, services: list[Object], namespace: str, domain: str) -> Object | None:
    if found is None or not found.get("data"):
        return found
    return {**found, "data": localhost_services.point_to_localhost(found["data"], services, namespace, domain)}


def variables(directory: pathlib.Path, tools: Tools) -> dict[str, str]:
    """HOME is that of whoever the processes belong to; our own tools find the cluster's names in files."""
    own = {nslookup.RESOLV_CONF: str(directory / "etc" / "resolv.conf"), nslookup.NAMES: str(tools.names)}
    return {"HOME": os.path.expanduser("~"), **own}
