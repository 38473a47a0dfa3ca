"""Asks the API server whether the operator may watch objects of a namespace, so that it makes no request that is forbidden."""

from __future__ import annotations

import asyncio
import logging

import msgspec

from traincrew import errors
from traincrew.client import interfaces
from traincrew.client.informer import Scope
from traincrew.model.resources import Resource

log = logging.getLogger(__name__)

REVIEWS = Resource("authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", namespaced=False)
RETRY_SECONDS = 2.0


async def may_watch(client: interfaces.Writer, scope: Scope, name: str = "") -> bool:
    """name: the only object, if the scope has one."""
    try:
        return all([await _is_allowed(client, scope, verb, name) for verb in ("list", "watch")])
    except errors.ApiError as error:
        log.warning("rights are not known", extra={"namespace": scope.namespace, "error": error.message})
        return False


async def _is_allowed(client: interfaces.Writer, scope: Scope, verb: str, name: str) -> bool:
    of = scope.resource
    attributes = {"verb": verb, "group": of.group, "resource": of.plural, "namespace": scope.namespace or "", "name": name}
    body = {"apiVersion": REVIEWS.api_version, "kind": REVIEWS.kind, "spec": {"resourceAttributes": attributes}}
    while True:
        try:
            answer = msgspec.json.decode(await client.create(REVIEWS, None, msgspec.json.encode(body)))
        except errors.TemporaryError:
            await asyncio.sleep(RETRY_SECONDS)
        else:
            return bool(answer["status"]["allowed"])
