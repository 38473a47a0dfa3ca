"""The write path. Every write of an object takes the same steps, in the order of kube-apiserver:

decode                 by the handlers: create, update, patch (apply is one of them), scale, binding, eviction
default                strategy.default
managed fields         field_manager
mutating admission     admission chain
escalation check       authz, for the objects of RBAC
prepare                strategy.prepare_for_create, strategy.prepare_for_update
validate               strategy.validate, strategy.validate_update
validating admission   admission chain
store
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from traincrew.apimachinery import api_errors, field_errors, go_format, json_equality
from traincrew.apimachinery.patches import field_managers
from traincrew.apimachinery.patches.managed_fields import WriteContextFields
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.admission import chain
from traincrew.embedded.apiserver.admission.attributes import CREATE, UPDATE, AdmissionAttributes
from traincrew.embedded.apiserver.authn import token_secrets
from traincrew.embedded.apiserver.authz import escalation
from traincrew.embedded.apiserver.endpoints import (
    field_manager,
    graceful_deletion,
    namespace_contents,
    owner_references,
    system_fields,
    version_conversion,
)
from traincrew.embedded.apiserver.registry.builtin.write_context import WriteContext
from traincrew.embedded.apiserver.registry.service_allocation import ServiceAllocator
from traincrew.embedded.apiserver.requests.query_parameters import WriteOptions
from traincrew.embedded.apiserver.requests.request import ApiRequest, Response
from traincrew.embedded.apiserver.requests.scope import RequestScope, decoded, encoded
from traincrew.embedded.apiserver.schema import coercion
from traincrew.embedded.apiserver.storage.errors import RevisionConflict
from traincrew.embedded.apiserver.storage.records import Key, Record

ATTEMPTS = 5
NAME_ATTEMPTS = 8
MAX_VERSION_DIGITS = 20
"""Of a resource version."""
RBAC = "rbac.authorization.k8s.io"


class UpdatedObject(NamedTuple):
    """The result of transforming a stored object."""

    object: Object
    warnings: tuple[str, ...] = ()
    applied: bool = False
    """By server-side apply: the managed fields are settled already."""
    guaranteed: bool = False
    """By the server itself, as with GuaranteedUpdate in Kubernetes: without strategy and admission."""
    subresource: str = ""
    """The subresource that managed fields and admission see, where the strategy handles the whole object: scale."""


Transform = Callable[[Object], Awaitable[UpdatedObject]]
"""From the stored object (a copy, in the version of the request) to the updated one. Called again after a conflict."""


class _Write:
    """The steps between decoding and storing, for a new object (`old` is None) and for an updated one."""

    def __init__(self, scope: RequestScope, request: ApiRequest, options: WriteOptions) -> None:
        self.scope, self.request, self.options = scope, request, options
        self._info, self._strategy, self._chain = request.info, scope.strategy(request.info), chain.of(scope)

        self.admitted_subresource = request.subresource

    def mutate(self, new: Object, old: Object | None, context: WriteContextFields | None) -> list[str]:
        """From defaults to mutating admission, in place."""
        self._strategy.default(new)
        warnings = owner_references.deduplicate(new, self.request.verb == "patch")
        if context is not None:
            field_managers.update_managed_fields(old, new, self._info.schema, **context)
        self._chain.admit(self._attributes(new, old))
        return warnings

    def validate(self, new: Object, old: Object | None) -> list[str]:
        """From the strategy's preparation to validating admission, in place."""
        scope, info, attributes = self.scope, self._info, self._attributes(new, old)
        if info.group == RBAC:
            escalation.check(scope.policy, self.request.user, self.request.asked, new, old)
        try:
            errors = self._validate(new, old)
        except field_errors.TooManyErrors as stopped:
            errors = stopped.errors
        if errors:
            raise api_errors.invalid(info.kind, (info.stored_as or info).group, attributes.name, errors)
        return [*self._chain.validate(attributes), *self._strategy.warnings(new, old)]

    def _validate(self, new: Object, old: Object | None) -> list[field_errors.FieldError]:
        if old is None:
            self._strategy.prepare_for_create(new, _context(self.scope, new))
            return self._strategy.validate(new)
        subresource = self.request.subresource
        self._strategy.prepare_for_update(new, old, subresource, _context(self.scope, old))
        return self._strategy.validate_update(new, old, subresource)

    def _attributes(self, new: Object, old: Object | None) -> AdmissionAttributes:
        request, metadata = self.request, new["metadata"]
        operation, subresource = (CREATE, "") if old is None else (UPDATE, self.admitted_subresource)
        name = metadata.get("name") or metadata.get("generateName") or ""
        return AdmissionAttributes(operation, self._info, request.namespace, name, subresource, new, old, request.annotations)


def _context(scope: RequestScope, obj: Object) -> WriteContext:
    allocator, identity = ServiceAllocator(scope.store), scope.identity
    return WriteContext(
        uid=obj["metadata"]["uid"],
        now=scope.now(),
        allocate_ip=allocator.allocate_ip,
        ip_in_use=allocator.ip_in_use,
        allocate_port=allocator.allocate_port,
        port_in_use=allocator.port_in_use,
        token_secret=lambda secret: token_secrets.populated(secret, identity.tokens, identity.authority),
    )


async def create(
    scope: RequestScope, request: ApiRequest, options: WriteOptions, obj: Object, warnings: tuple[str, ...] = ()
) -> Response:
    """`obj` is decoded, in the version of the request."""
    write, given = _Write(scope, request, options), obj.get("metadata") or {}
    obj = system_fields.filled(scope, request, obj)
    # After an apply, the managed fields are settled already.
    tracked = request.verb != "patch" and field_manager.is_tracked(obj["metadata"])
    context = field_manager.write_context(scope, request, options.manager) if tracked else None
    warnings = (*write.mutate(obj, None, context), *warnings)
    system_fields.check(request, given)
    if given.get("name"):
        return await _create(write, obj, warnings)
    template = encoded(obj)
    for _ in range(NAME_ATTEMPTS - 1):
        try:
            return await _create(write, system_fields.named(template), warnings)
        except api_errors.StatusError as error:
            if error.reason != "AlreadyExists":
                raise
    return await _create(write, system_fields.named(template), warnings)


async def _create(write: _Write, obj: Object, warnings: tuple[str, ...]) -> Response:
    scope, info = write.scope, write.request.info
    warnings = (*warnings, *write.validate(obj, None))
    key = Key(info.store_name, write.request.namespace, str(obj["metadata"]["name"]))
    stored = version_conversion.to_storage(obj, info)
    if write.options.dry_run:
        if (existing := scope.store.head(key)) is not None:
            raise _already_exists(write.request, existing)
        return Response(201, encoded(version_conversion.from_storage(stored, info)), warnings)
    try:
        record = await _put_new(scope, key, stored)
    except RevisionConflict as stale:
        raise _already_exists(write.request, stale.current, key.name) from None
    return Response(201, version_conversion.encoded_object(record, info), warnings)


async def _put_new(scope: RequestScope, key: Key, stored: Object) -> Record:
    if key.resource == "namespaces" and scope.controllers_enabled:
        return await namespace_contents.create(scope, key, stored)
    return await scope.store.put(key, stored, 0)


def _already_exists(request: ApiRequest, existing: Record | None, name: str = "") -> api_errors.StatusError:
    name = existing.key.name if existing else name
    error = api_errors.already_exists(api_errors.StatusDetails(request.info.plural, request.info.group, name))
    if existing and decoded(existing)["metadata"].get("deletionTimestamp"):
        error.message = f"object is being deleted: {error.message}"
    return error


async def update(scope: RequestScope, request: ApiRequest, options: WriteOptions, transform: Transform) -> Response:
    """Tries again after a conflict with another writer. A writer that names the version it builds on gets the conflict."""
    write = _Write(scope, request, options)
    for _ in range(ATTEMPTS):
        record = scope.existing(request.info, request.namespace, request.name)
        old = version_conversion.decoded_object(record, request.info)
        updated = await transform(version_conversion.decoded_object(record, request.info))
        _check_version(scope, request, updated.object["metadata"].get("resourceVersion") or "", record.revision)
        try:
            return await _update(write, record, old, updated)
        except RevisionConflict:
            continue
    raise api_errors.optimistic_lock_conflict(request.subject)


def _check_version(scope: RequestScope, request: ApiRequest, named: str, stored: int) -> None:
    digits = named if named.isascii() and named.isdecimal() else ""
    if named and (not digits or len(digits) > MAX_VERSION_DIGITS):
        why = "value out of range" if digits else "invalid syntax"
        raise api_errors.bad_request(f"strconv.ParseUint: parsing {go_format.quote(named)}: {why}")
    version = int(digits or 0)
    if not version and not scope.strategy(request.info).allow_unconditional_update:
        error = field_errors.FieldError(
            field_errors.INVALID, "metadata.resourceVersion", "Invalid value: 0x0: must be specified for an update"
        )
        raise api_errors.invalid(request.info.plural, request.info.group, request.name, [error])
    if version and version != stored:
        raise api_errors.optimistic_lock_conflict(request.subject)


async def _update(write: _Write, record: Record, old: Object, updated: UpdatedObject) -> Response:
    scope, request, info = write.scope, write.request, write.request.info
    new = system_fields.prepare_for_update(request, updated.object, old)
    warnings = updated.warnings
    write.admitted_subresource = updated.subresource or request.subresource
    context = None
    if not updated.applied and old["metadata"].get("managedFields"):
        tracked = request._replace(subresource=write.admitted_subresource)
        context = field_manager.write_context(scope, tracked, write.options.manager)
    if not updated.guaranteed:
        warnings = (*write.mutate(new, old, context), *warnings)
        if context is not None:
            field_managers.ignore_timestamps(old, new)
        warnings = (*warnings, *write.validate(new, old))
    elif context is not None:
        field_managers.update_managed_fields(old, new, info.schema, **context)
    if graceful_deletion.is_ready_for_removal(new):
        return await _remove(write, record, new)
    if info.definition is not None:
        coercion.integral_floats_to_integers(new)
    if json_equality.deep_equal(new, old):
        return Response(200, version_conversion.encoded_object(record, info), warnings)
    stored = version_conversion.to_storage(new, info)
    if write.options.dry_run:
        return Response(200, encoded(version_conversion.from_storage(stored, info)), warnings)
    stored_record = await scope.store.put(record.key, stored, record.revision)
    return Response(200, version_conversion.encoded_object(stored_record, info), warnings)


async def _remove(write: _Write, record: Record, new: Object) -> Response:
    """The update removed the last finalizer of a deleted object. The object is removed; the response shows it updated."""
    if not write.options.dry_run:
        await write.scope.store.delete(record.key, record.revision)
    return Response(200, encoded(new))
