"""Metadata that the server sets (name, namespace, uid, creation time), and checks of the values that clients send."""

from __future__ import annotations

import random

import msgspec

from traincrew.apimachinery import api_errors, field_errors
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.endpoints import version_conversion
from traincrew.embedded.apiserver.requests.request import ApiRequest
from traincrew.embedded.apiserver.requests.scope import RequestScope

SUFFIX = "bcdfghjklmnpqrstvwxz2456789"
"""The characters of generated names. Without vowels, names contain no words."""
SUFFIX_LENGTH, LONGEST_NAME = 5, 63
NAMESPACE_MISMATCH = "the namespace of the provided object does not match the namespace sent on the request"
NEVER_FROM_CLIENT = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "resourceVersion")


def filled(scope: RequestScope, request: ApiRequest, obj: Object) -> Object:
    """A new object with the metadata that the server sets, but for a generated name."""
    given = obj.get("metadata") or {}
    _check_namespace(request, given)
    metadata = {key: value for key, value in given.items() if key not in NEVER_FROM_CLIENT and value is not None}
    if request.info.namespaced:
        metadata["namespace"] = request.namespace
    else:
        metadata.pop("namespace", None)
    metadata["uid"] = scope.new_uid()
    metadata["creationTimestamp"] = scope.now()
    return obj | {"metadata": metadata}


def check(request: ApiRequest, given: Object) -> None:
    """Checks the metadata of a new object after mutating admission."""
    if (given.get("resourceVersion") or "0") != "0":
        raise api_errors.bad_request("resourceVersion should not be set on objects to be created")
    if request.name and given.get("name") and given["name"] != request.name:
        raise api_errors.bad_request(_name_mismatch(request, given))
    if not given.get("name") and not given.get("generateName"):
        error = field_errors.required("metadata.name", "name or generateName is required")
        raise api_errors.invalid(request.info.kind, request.info.group, "", [error])


def named(template: bytes) -> Object:
    """The object that the template encodes, with a generated name."""
    obj: Object = msgspec.json.decode(template)
    prefix = str(obj["metadata"]["generateName"])[: LONGEST_NAME - SUFFIX_LENGTH]
    obj["metadata"]["name"] = prefix + "".join(random.choices(SUFFIX, k=SUFFIX_LENGTH))
    return obj


def prepare_for_update(request: ApiRequest, new: Object, old: Object) -> Object:
    """The updated object with type and metadata that no update changes: namespace and resourceVersion."""
    metadata = {key: value for key, value in new.get("metadata", {}).items() if value is not None and key != "selfLink"}
    if request.info.namespaced:
        metadata["namespace"] = request.namespace
    metadata["resourceVersion"] = old["metadata"]["resourceVersion"]
    return version_conversion.with_type_meta(new, request.info) | {"metadata": metadata}


def check_identity(request: ApiRequest, metadata: Object) -> None:
    """An updated object must have the name and the namespace of the URL."""
    if not metadata.get("name"):
        raise api_errors.bad_request(
            f"the name of the object ({request.name} based on URL) was undeterminable: name must be provided"
        )
    if metadata["name"] != request.name:
        raise api_errors.bad_request(_name_mismatch(request, metadata))
    _check_namespace(request, metadata)


def _name_mismatch(request: ApiRequest, metadata: Object) -> str:
    return f"the name of the object ({metadata['name']}) does not match the name on the URL ({request.name})"


def _check_namespace(request: ApiRequest, metadata: Object) -> None:
    if request.info.namespaced and metadata.get("namespace") and metadata["namespace"] != request.namespace:
        raise api_errors.bad_request(NAMESPACE_MISMATCH)
