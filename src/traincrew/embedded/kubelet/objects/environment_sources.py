"""Reads the objects that a container's environment variables refer to."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any

from traincrew import errors
from traincrew.embedded.kubelet.environment.errors import ConfigError, ObjectNotFound
from traincrew.embedded.kubelet.environment.variables import EnvironmentSources, referenced_objects
from traincrew.embedded.kubelet.objects.object_cache import ObjectSource

Object = dict[str, Any]


async def load_sources(pod: Object, container: Object, objects: ObjectSource, rest: EnvironmentSources) -> EnvironmentSources:
    """`rest` with the config maps and secrets that the container names. Raises ConfigError if the API server does not say."""
    namespace = pod["metadata"]["namespace"]
    maps, secrets = referenced_objects(container)
    try:
        found = await asyncio.gather(
            *(_or_none(objects.get_config_map(namespace, name)) for name in sorted(maps)),
            *(_or_none(objects.get_secret(namespace, name)) for name in sorted(secrets)),
        )
    except errors.ApiError as error:
        raise ConfigError(error.message) from None
    config_maps = dict(zip(sorted(maps), found[: len(maps)], strict=True))
    return dataclasses.replace(rest, config_maps=config_maps, secrets=dict(zip(sorted(secrets), found[len(maps) :], strict=True)))


async def _or_none(asked: Any) -> Object | None:
    try:
        found: Object = await asked
    except ObjectNotFound:
        return None
    return found
