"""The resources that the operator watches, and the decoders of their objects."""

from __future__ import annotations

from typing import Any

import msgspec

from traincrew import settings
from traincrew.kinds import job_decoding
from traincrew.kinds.kind import JobKind
from traincrew.model import jobs, objects, resources
from traincrew.model.lenient_decoding import LenientDecoder, Unreadable
from traincrew.model.resources import Resource
from traincrew.operator.unreadable_objects import Decode

TYPES: dict[Resource, type[Any]] = {
    resources.PODS: objects.Pod,
    resources.SERVICES: objects.Plain,
    resources.CONFIG_MAPS: objects.ConfigMap,
    resources.SERVICE_ACCOUNTS: objects.Plain,
    resources.ROLES: objects.RbacRole,
    resources.ROLE_BINDINGS: objects.Plain,
    resources.BATCH_JOBS: objects.BatchJob,
    resources.AUTOSCALERS: objects.Autoscaler,
    resources.VOLCANO_POD_GROUPS: objects.PodGroup,
    resources.PLUGINS_POD_GROUPS: objects.PodGroup,
}
_UNWATCHED = (resources.SECRETS,)
_NO_TEMPLATE = msgspec.Raw(b"{}")


def watched(kinds: tuple[JobKind, ...], planning: settings.Planning) -> tuple[Resource, ...]:
    """Every resource of which some enabled kind creates objects."""
    used = [resource for kind in kinds for resource in kind.created_resources]
    if planning.gang_scheduler:
        volcano = planning.gang_scheduler.lower() == "volcano"
        used.append(resources.VOLCANO_POD_GROUPS if volcano else resources.PLUGINS_POD_GROUPS)
    return tuple(resource for resource in dict.fromkeys(used) if resource not in _UNWATCHED)


def object_decoder(type: type[Any]) -> Decode:
    decoder: LenientDecoder[Any] = LenientDecoder(type)
    return decoder.decode


def job_decoder(kind: JobKind) -> Decode:
    """Without the pod templates of finished jobs: they are never used again, and thousands of such jobs may exist."""

    def decode(raw: bytes) -> tuple[jobs.JobObject[Any], tuple[Unreadable, ...]]:
        stored, unreadable = job_decoding.decode_stored(kind, raw)
        if not stored.status.finished:
            return stored, unreadable
        specs = {
            key: msgspec.structs.replace(spec, template=_NO_TEMPLATE) if spec is not None else None
            for key, spec in (stored.spec.replica_specs or {}).items()
        }
        return msgspec.structs.replace(stored, spec=msgspec.structs.replace(stored.spec, replica_specs=specs)), unreadable

    return decode
