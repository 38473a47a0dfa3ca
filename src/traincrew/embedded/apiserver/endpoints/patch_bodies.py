"""What a patch says, and what it has made of an object: it must still be one of its kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from traincrew.apimachinery import api_errors, field_errors, go_format
from traincrew.apimachinery.resource_info import Object, ResourceInfo, Schema
from traincrew.embedded.apiserver.requests.request import JSON, Request
from traincrew.embedded.apiserver.schema import decoding, json_tree, patched_object_errors, serialization


class Patch(NamedTuple):
    content: Any
    """Of whatever shape: each type of patch knows its own."""
    twice: tuple[str, ...] = ()
    """The fields that it has more than once, in the words of strict reading."""


def read(request: Request) -> Patch:
    try:
        found = serialization.read(request.body, JSON)
        if not found.unsure:
            return Patch(found.value)
        twice = dict.fromkeys(json_tree.duplicates(found.nodes))
        return Patch(json_tree.plain(found.nodes), tuple(f'duplicate field "{path}"' for path in twice))
    except (serialization.ParseError, json_tree.TooLarge) as error:
        message = str(error).removeprefix(serialization.PARSE_ERROR)
        strategic = "strategic" in request.content_type.lower()
        raise api_errors.bad_request(message if strategic else f"error decoding patch: {message}") from None


class PatchedObject(NamedTuple):
    """What has come out of a patch."""

    object: Object
    against: Sequence[str] = ()
    """What strict reading holds against the patch itself."""
    strategic: Any = None
    """The patch, if it was a strategic one: its faults are told in other words."""


class ObjectDecoder(NamedTuple):
    """What it must be."""

    schema: Schema
    expected: decoding.Expected

    def read(self, text: bytes) -> tuple[Object, list[str]]:
        """The object, and what strict reading holds against it."""
        return decoding.read(text, JSON, self.schema, self.expected)[:2]


def decoder(info: ResourceInfo) -> ObjectDecoder:
    return ObjectDecoder(info.schema, decoding.Expected(info.kind, info.api_version))


def decode(made: PatchedObject, form: ObjectDecoder, validation: str) -> tuple[Object, tuple[str, ...]]:
    try:
        obj, strict = form.read(msgspec.json.encode(made.object))
    except decoding.DecodeError as error:
        why = patched_object_errors.first_error(made.object, form.schema) if made.strategic is not None else ""
        raise _refused(made, why or str(error)) from None
    message = [*made.against, *(_in_order(made, form, strict) if strict else ())]
    if not message or validation == "Ignore":
        return obj, ()
    if validation == "Strict":
        raise _refused(made, decoding.strict_message(message))
    return obj, tuple(message)


def _in_order(made: PatchedObject, form: ObjectDecoder, strict: list[str]) -> list[str]:
    """Strategic patches have theirs sorted; of the others, the fields are, as in any map that Go writes as JSON."""
    return sorted(strict) if made.strategic is not None else form.read(_sorted(made.object))[1]


def _sorted(obj: Object) -> bytes:
    return msgspec.json.encode(obj, order="sorted")


def _refused(made: PatchedObject, why: str) -> api_errors.StatusError:
    shown = _sorted(made.object).decode() if made.strategic is None else go_format.plain(made.strategic)
    return api_errors.invalid("", "", "", [field_errors.invalid("patch", shown, why)])
