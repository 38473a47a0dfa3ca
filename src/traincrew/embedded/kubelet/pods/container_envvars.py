"""The environment variables of a container."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import pathlib
from collections.abc import Awaitable, Callable, Mapping

import msgspec

from traincrew import errors
from traincrew.apimachinery.unstructured import Object
from traincrew.client import interfaces
from traincrew.embedded.kubelet.envvars import variables
from traincrew.embedded.kubelet.envvars.errors import ConfigError, ObjectNotFound
from traincrew.embedded.kubelet.envvars.variables import EnvVarSources
from traincrew.embedded.kubelet.images.programs import nslookup
from traincrew.embedded.kubelet.network import localhost_services
from traincrew.embedded.kubelet.objects.object_cache import ObjectSource
from traincrew.embedded.kubelet.pods.state_directory import PodStateDirectory
from traincrew.model.resources import SERVICES


@dataclasses.dataclass(frozen=True)
class HostEnvironment:
    """For containers without isolation: pods share the network and the files of the host, and every Service is at localhost."""

    client: interfaces.Reader
    domain: str
    api_server: tuple[str, int]
    """Host and port of the API server."""
    names_file: pathlib.Path
    """The names of the cluster, for containers without a DNS server."""

    async def localize(self, pod: Object, container: Object, sources: EnvVarSources) -> tuple[Object, EnvVarSources]:
        """Replaces names of Services in the container and in its ConfigMaps, but not in Secrets. Raises ApiError."""
        services, namespace = await self._services(), pod["metadata"]["namespace"]

        def localized(config_map: Object | None) -> Object | None:
            if config_map is None or not config_map.get("data"):
                return config_map
            data = localhost_services.point_to_localhost(config_map["data"], services, namespace, self.domain)
            return {**config_map, "data": data}

        maps = {name: localized(each) for name, each in sources.config_maps.items()}
        on_localhost = localhost_services.services_on_localhost(services, self.api_server)
        sources = dataclasses.replace(sources, config_maps=maps, services=on_localhost)
        return localhost_services.container_on_localhost(container, services, namespace, self.domain), sources

    async def _services(self) -> list[Object]:
        """From the API server: a job's Services are created before its pods, but the watch may deliver the pods first."""
        return [msgspec.json.decode(raw) async for page in self.client.pages(SERVICES, None) for raw in page.items]

    def defaults(self, directory: PodStateDirectory) -> dict[str, str]:
        """HOME of the user of the processes, and the files in which our own programs find the names of the cluster."""
        files = {nslookup.RESOLV_CONF: str(directory.etc / "resolv.conf"), nslookup.NAMES: str(self.names_file)}
        return {"HOME": os.path.expanduser("~"), **files}


@dataclasses.dataclass(frozen=True)
class EnvironmentBuilder:
    objects: ObjectSource
    services: Callable[[], list[Object]]
    node_address: str
    allocatable: Mapping[str, str]
    domain: str
    host: HostEnvironment | None = None
    """None: the containers are isolated."""

    async def build(self, pod: Object, container: Object, address: str) -> dict[str, str]:
        """Raises ConfigError or ApiError."""
        known = EnvVarSources(
            services=self.services(), pod_ips=(address,), host_ips=(self.node_address,), allocatable=self.allocatable
        )
        sources = await load_sources(pod, container, self.objects, known)
        if self.host is not None:
            container, sources = await self.host.localize(pod, container, sources)
        return variables.build_environment(pod, container, sources)

    def defaults(self, directory: PodStateDirectory) -> dict[str, str]:
        return self.host.defaults(directory) if self.host is not None else {}


async def load_sources(pod: Object, container: Object, objects: ObjectSource, rest: EnvVarSources) -> EnvVarSources:
    """`rest` with the ConfigMaps and Secrets that the container refers to. Raises ConfigError if they cannot be read."""
    namespace = pod["metadata"]["namespace"]
    maps, secrets = map(sorted, variables.referenced_objects(container))
    try:
        loaded = await asyncio.gather(
            *(_or_none(objects.get_config_map(namespace, name)) for name in maps),
            *(_or_none(objects.get_secret(namespace, name)) for name in secrets),
        )
    except errors.ApiError as error:
        raise ConfigError(error.message) from None
    config_maps = dict(zip(maps, loaded[: len(maps)], strict=True))
    return dataclasses.replace(rest, config_maps=config_maps, secrets=dict(zip(secrets, loaded[len(maps) :], strict=True)))


async def _or_none(request: Awaitable[Object]) -> Object | None:
    try:
        return await request
    except ObjectNotFound:
        return None
