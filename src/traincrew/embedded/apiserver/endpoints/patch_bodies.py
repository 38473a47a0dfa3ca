"""Decoding of patches and of patched objects, which must still be objects of their kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from traincrew.apimachinery import api_errors, field_errors, go_format
from traincrew.apimachinery.resource_info import ResourceInfo, Schema
from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.requests.request import JSON, ApiRequest
from traincrew.embedded.apiserver.schema import decoding, json_tree, serialization, strategic_merge_errors


class PatchBody(NamedTuple):
    content: Any
    """Its shape depends on the type of the patch."""
    duplicate_fields: tuple[str, ...] = ()
    """Fields that occur more than once, with the messages of strict decoding."""


def read(request: ApiRequest) -> PatchBody:
    try:
        content = serialization.read(request.body, JSON)
        if not content.unsure:
            return PatchBody(content.value)
        duplicate_fields = dict.fromkeys(json_tree.duplicates(content.nodes))
        return PatchBody(json_tree.plain(content.nodes), tuple(f'duplicate field "{path}"' for path in duplicate_fields))
    except (serialization.ParseError, json_tree.TooLarge) as error:
        message = str(error).removeprefix(serialization.PARSE_ERROR)
        strategic = "strategic" in request.content_type.lower()
        raise api_errors.bad_request(message if strategic else f"error decoding patch: {message}") from None


class PatchedObject(NamedTuple):
    """An object after a patch, before it is decoded."""

    object: Object
    strict_errors: Sequence[str] = ()
    """Errors of strict decoding of the patch itself."""
    strategic: Any = None
    """The patch, if it is a strategic merge patch: its errors are worded differently."""


class ObjectDecoder(NamedTuple):
    """Decodes an object of one kind."""

    schema: Schema
    expected: decoding.Expected

    def read(self, text: bytes) -> tuple[Object, list[str]]:
        """The object, and the errors of strict decoding."""
        return decoding.read(text, JSON, self.schema, self.expected)[:2]


def decoder(info: ResourceInfo) -> ObjectDecoder:
    return ObjectDecoder(info.schema, decoding.Expected(info.kind, info.api_version))


def decode(patched: PatchedObject, decoder: ObjectDecoder, validation: str) -> tuple[Object, tuple[str, ...]]:
    try:
        obj, strict = decoder.read(msgspec.json.encode(patched.object))
    except decoding.DecodeError as error:
        why = strategic_merge_errors.first_error(patched.object, decoder.schema) if patched.strategic is not None else ""
        raise _invalid_patch(patched, why or str(error)) from None
    messages = [*patched.strict_errors, *(_in_order(patched, decoder, strict) if strict else ())]
    if not messages or validation == "Ignore":
        return obj, ()
    if validation == "Strict":
        raise _invalid_patch(patched, decoding.strict_message(messages))
    return obj, tuple(messages)


def _in_order(patched: PatchedObject, decoder: ObjectDecoder, strict: list[str]) -> list[str]:
    """Of strategic merge patches, the errors are sorted; of others, the fields, as in every map that Go writes as JSON."""
    return sorted(strict) if patched.strategic is not None else decoder.read(_sorted(patched.object))[1]


def _sorted(obj: Object) -> bytes:
    return msgspec.json.encode(obj, order="sorted")


def _invalid_patch(patched: PatchedObject, why: str) -> api_errors.StatusError:
    shown = _sorted(patched.object).decode() if patched.strategic is None else go_format.plain(patched.strategic)
    return api_errors.invalid("", "", "", [field_errors.invalid("patch", shown, why)])
