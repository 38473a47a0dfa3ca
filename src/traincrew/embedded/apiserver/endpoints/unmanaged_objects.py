"""Warns the creator of an object that no controller acts on it: with a Warning header and an event.

In Kubernetes such an object would wait for its controller for ever, without a sign.
"""

from __future__ import annotations

import contextlib

import msgspec

from traincrew.apimachinery import api_errors
from traincrew.apimachinery.unstructured import Object
from traincrew.client import events
from traincrew.embedded.apiserver.authn import users
from traincrew.embedded.apiserver.endpoints import write_path
from traincrew.embedded.apiserver.registry import unmanaged_kinds
from traincrew.embedded.apiserver.requests.query_parameters import WriteOptions
from traincrew.embedded.apiserver.requests.request import ApiRequest, Response
from traincrew.embedded.apiserver.requests.scope import RequestScope

COMPONENT = "traincrew-apiserver"
REASON = "NoController"
_USER = users.User("system:apiserver", (users.MASTERS, users.AUTHENTICATED))
_OPTIONS = WriteOptions(dry_run=False, validation="Ignore", manager=COMPONENT, force=None)


async def report(scope: RequestScope, request: ApiRequest, options: WriteOptions, response: Response) -> Response:
    """Adds the warning to the response to a create, and records the event."""
    info = request.info
    text = unmanaged_kinds.warning(info.group, info.kind) if info.definition is None and scope.controllers_enabled else ""
    if not text:
        return response
    response.warnings = (*response.warnings, text)
    if not options.dry_run:
        # The object is stored already: its creator gets the warning even if the event is refused.
        with contextlib.suppress(api_errors.StatusError):
            await _record(scope, request, msgspec.json.decode(response.body), text)
    return response


async def _record(scope: RequestScope, request: ApiRequest, created: Object, text: str) -> None:
    info, meta = request.info, created["metadata"]
    advice = unmanaged_kinds.advice(info.group, info.kind)
    message = f"{text[0].upper()}{text[1:]}.{' ' if advice else ''}{advice}"
    involved = events.ObjectReference(
        info.kind, info.api_version, meta["namespace"], meta["name"], meta["uid"], meta["resourceVersion"]
    )
    source = events.EventSource(COMPONENT, instance=COMPONENT)
    event = events.RecordedEvent(involved, source, events.WARNING, REASON, message, scope.clock())
    body = events.build(event, _event_name(meta), events.Series(message, event.time))
    listed = scope.registry.find("", "v1", "events")
    assert listed is not None
    await write_path.create(scope, ApiRequest(_USER, "create", listed, meta["namespace"]), _OPTIONS, body)


def _event_name(meta: Object) -> str:
    """At most 253 characters. The names of objects that follow each other under one name differ by the uid."""
    return f"{meta['name'][:200].rstrip('-.')}.{meta['uid']}"
