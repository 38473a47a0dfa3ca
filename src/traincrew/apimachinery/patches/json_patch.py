"""JSON patch (RFC 6902), with the deviations of the Kubernetes API server."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec

from traincrew.apimachinery import api_errors, field_errors, go_format, json_equality
from traincrew.apimachinery.api_errors import StatusError, bad_request, request_entity_too_large
from traincrew.apimachinery.patches import path_elements
from traincrew.apimachinery.patches.patch_errors import PatchRejected
from traincrew.apimachinery.unstructured import Object

MAX_OPERATIONS = 10_000
MAX_COPIED_BYTES = 3 * 1024 * 1024
"""Of all values that one patch copies, in JSON."""

_FIELDS = ("op", "path", "from", "value")
_TYPE_META = r'struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'
_INDEX = re.compile(r"[+-]?[0-9]{1,19}", re.ASCII)


def apply(document: Object, operations: Any, *, lenient: bool = False) -> Object:
    """The patched document. The arguments are not changed; the result shares parts with them.

    Lenient: fieldValidation is Ignore, then the API server reads the patch in another way.
    """
    validate(operations, lenient)
    patched = _Document(document)
    for operation in operations or ():
        patched.execute(operation)
    return ensure_object(patched.root)


def validate(operations: Any, lenient: bool = False) -> None:
    """The body must be a list of operations. Raises 400."""
    if operations is None:
        return
    if not isinstance(operations, list):
        raise _decode_error(operations, "jsonpatch.Patch" if lenient else "[]handlers.jsonPatchOp", lenient)
    for operation in operations:
        _validate_operation(operation, lenient)
    if len(operations) > MAX_OPERATIONS:
        detail = f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(operations)}"
        raise request_entity_too_large(f"Request entity too large: {detail}")


def ensure_object(patched: Any) -> Object:
    """The patched value must still be an object."""
    if isinstance(patched, dict):
        return patched
    text, json_type = path_elements.literal(patched), go_format.json_type(patched)
    why = f"couldn't get version/kind; json parse error: json: cannot unmarshal {json_type} into Go value of type {_TYPE_META}"
    raise api_errors.invalid("", "", "", [field_errors.invalid("patch", text, why)])


def unknown_fields(operations: list[Object]) -> list[str]:
    """The errors of strict field validation for a patch that `validate` accepts."""
    unknown = ((at, field) for at, operation in enumerate(operations) for field in operation or () if field not in _FIELDS)
    return [f'json patch unknown field "[{at}].{field}"' for at, field in unknown]


def _validate_operation(operation: Any, lenient: bool) -> None:
    if operation is None:
        return
    if not isinstance(operation, dict):
        raise _decode_error(operation, "jsonpatch.Operation" if lenient else "handlers.jsonPatchOp", lenient)
    for field in ("op", "path", "from"):
        value = operation.get(field)
        if value is None or isinstance(value, str):
            continue
        if lenient:
            raise PatchRejected()
        go_field = f"Go struct field jsonPatchOp.{field} of type string"
        raise bad_request(f"error decoding patch: json: cannot unmarshal {go_format.json_type(value)} into {go_field}")


def _decode_error(value: Any, go_type: str, lenient: bool) -> StatusError:
    why = f"json: cannot unmarshal {go_format.json_type(value)} into Go value of type {go_type}"
    return bad_request(why if lenient else f"error decoding patch: {why}")


class _Document:
    """A document that shares unchanged parts with the original."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self._own: dict[int, Any] = {}
        """Containers that are not shared, by identity."""
        self._copied = 0
        """Bytes."""

    def execute(self, operation: Object | None) -> None:
        do = _OPERATIONS.get((operation or {}).get("op") or "")
        if do is None or operation is None:
            raise PatchRejected()
        do(self, operation)

    def add(self, operation: Object) -> None:
        self._put(_field(operation, "path"), operation.get("value"))

    def remove(self, operation: Object) -> None:
        self._take(_field(operation, "path"))

    def replace(self, operation: Object) -> None:
        path = _field(operation, "path")
        if path == "":
            if isinstance(value := operation.get("value"), dict | list):
                self.root = value
            return
        container, key = self._find(path)
        if isinstance(container, dict):
            container[key] = operation.get("value")
        else:
            container[_index(key, len(container))] = operation.get("value")

    def move(self, operation: Object) -> None:
        value = self._take(_field(operation, "from"))
        self._put(_field(operation, "path"), value)

    def copy(self, operation: Object) -> None:
        container, key = self._find(_field(operation, "from"))
        value = container.get(key) if isinstance(container, dict) else container[_index(key, len(container))]
        path = _field(operation, "path")
        self._count_copy(value)
        self._disown(value)
        self._put(path, value)

    def test(self, operation: Object) -> None:
        path, expected = _field(operation, "path"), operation.get("value")
        if path == "":
            value = self.root
        else:
            container, key = self._find(path)
            value = container.get(key) if isinstance(container, dict) else container[_index(key, len(container))]
        if "value" not in operation or not json_equality.deep_equal(value, expected):
            raise PatchRejected()

    def _put(self, path: str, value: Any) -> None:
        container, key = self._find(path)
        if isinstance(container, dict):
            container[key] = value
        elif key == "-":
            container.append(value)
        else:
            container.insert(_index(key, len(container) + 1), value)

    def _take(self, path: str) -> Any:
        container, key = self._find(path)
        if isinstance(container, list):
            return container.pop(_index(key, len(container)))
        if key not in container:
            raise PatchRejected()
        return container.pop(key)

    def _find(self, path: str) -> tuple[Any, str]:
        """The container of the value at a path, ready to be changed, and the key of the value."""
        keys = path.split("/")[1:]
        if not keys or not isinstance(self.root, dict | list):
            raise PatchRejected()
        self.root = container = self._owned(self.root)
        for key in map(_unescape, keys[:-1]):
            at: Any = key if isinstance(container, dict) else _index(key, len(container))
            if isinstance(container, dict) and key not in container:
                raise PatchRejected()
            if not isinstance(container[at], dict | list):
                raise PatchRejected()
            container[at] = container = self._owned(container[at])
        return container, _unescape(keys[-1])

    def _owned(self, container: Any) -> Any:
        if id(container) in self._own:
            return container
        copied = container.copy()
        self._own[id(copied)] = copied
        return copied

    def _count_copy(self, value: Any) -> None:
        """A patch of a few kilobytes could double an object a hundred times."""
        try:
            self._copied += len(msgspec.json.encode(value))
        except RecursionError:
            raise PatchRejected() from None
        if self._copied > MAX_COPIED_BYTES:
            raise PatchRejected()

    def _disown(self, value: Any) -> None:
        """The value will be in two places, which must change independently."""
        pending = [value]
        while pending:
            each = pending.pop()
            if isinstance(each, dict | list) and self._own.pop(id(each), None) is not None:
                pending += each.values() if isinstance(each, dict) else each


_OPERATIONS: dict[str, Callable[[_Document, Object], None]] = {
    "add": _Document.add,
    "remove": _Document.remove,
    "replace": _Document.replace,
    "move": _Document.move,
    "copy": _Document.copy,
    "test": _Document.test,
}


def _field(operation: Object, name: str) -> str:
    value = operation.get(name)
    if value is None:
        raise PatchRejected()
    return str(value)


def _unescape(key: str) -> str:
    return key.replace("~1", "/").replace("~0", "~") if "~" in key else key


def _index(key: str, length: int) -> int:
    """Negative indices count from the end."""
    if not _INDEX.fullmatch(key):
        raise PatchRejected()
    index = int(key)
    if not -length <= index < length:
        raise PatchRejected()
    return index + length if index < 0 else index
