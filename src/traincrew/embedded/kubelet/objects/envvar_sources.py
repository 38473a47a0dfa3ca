"""Reads the objects that a container's environment variables refer to."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any

from traincrew import errors
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.kubelet.envvars.errors import ConfigError, ObjectNotFound
from traincrew.embedded.kubelet.envvars.variables import EnvVarSources, referenced_objects
from traincrew.embedded.kubelet.objects.object_cache import ObjectSource


async def load_sources(pod: Object, container: Object, objects: ObjectSource, rest: EnvVarSources) -> EnvVarSources:
    """`rest` with the ConfigMaps and Secrets that the container refers to. Raises ConfigError if they cannot be read."""
    namespace = pod["metadata"]["namespace"]
    maps, secrets = referenced_objects(container)
    try:
        loaded = await asyncio.gather(
            *(_or_none(objects.get_config_map(namespace, name)) for name in sorted(maps)),
            *(_or_none(objects.get_secret(namespace, name)) for name in sorted(secrets)),
        )
    except errors.ApiError as error:
        raise ConfigError(error.message) from None
    config_maps = dict(zip(sorted(maps), loaded[: len(maps)], strict=True))
    return dataclasses.replace(
        rest, config_maps=config_maps, secrets=dict(zip(sorted(secrets), loaded[len(maps) :], strict=True))
    )


async def _or_none(request: Any) -> Object | None:
    try:
        loaded: Object = await request
    except ObjectNotFound:
        return None
    return loaded
