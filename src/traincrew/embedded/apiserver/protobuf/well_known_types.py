"""Types that are messages in protobuf and scalars in JSON: Time, Quantity, IntOrString. None is JSON's null."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable
from typing import Any

import msgspec

from traincrew.apimachinery import go_base64, quantities, times
from traincrew.embedded.apiserver.protobuf.wire_format import Malformed

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_STRAY = re.compile("[\udc80-\udcff]")


def text(raw: bytes) -> str:
    """Every invalid byte of UTF-8 becomes a replacement character, as in Go."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return _STRAY.sub("\ufffd", raw.decode("utf-8", "surrogateescape"))


def number(value: float) -> int | float:
    if not math.isfinite(value):
        raise Malformed(f"json: unsupported value: {_INFINITE.get(value, 'NaN')}")
    return int(value) if value.is_integer() and abs(value) < 1e21 else value


_INFINITE = {math.inf: "+Inf", -math.inf: "-Inf"}

base64 = go_base64.encode


def _moment(message: dict[str, Any], micros: int) -> datetime.datetime | None:
    if not message:
        return None
    try:
        moment = _EPOCH + datetime.timedelta(seconds=message.get("seconds", 0), microseconds=micros)
    except OverflowError:
        raise Malformed("Time.MarshalJSON: year outside of range [0,9999]") from None
    return None if moment == times.ZERO else moment


def _time(message: dict[str, Any]) -> str | None:
    moment = _moment(message, 0)
    return times.rfc3339(moment) if moment else None


def _micro_time(message: dict[str, Any]) -> str | None:
    moment = _moment(message, int(message.get("nanos", 0) / 1000))
    return times.rfc3339_micro(moment) if moment else None


def _quantity(message: dict[str, Any]) -> str:
    try:
        return quantities.canonical(message.get("string", "0"))
    except quantities.QuantityError as error:
        raise Malformed(str(error)) from None


def _int_or_string(message: dict[str, Any]) -> int | str:
    match message.get("type", 0):
        case 0:
            integer: int = message.get("intVal", 0)
            return integer
        case 1:
            words: str = message.get("strVal", "")
            return words
    raise Malformed("impossible IntOrString.Type")


def _json(message: dict[str, Any]) -> Any:
    raw = message.get("raw") or message.get("Raw")
    if not raw:
        return None
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Malformed(f"json: {error}") from None


def _strings(message: dict[str, Any]) -> Any:
    return message.get("items")


def _schema_or_array(message: dict[str, Any]) -> Any:
    return message.get("jSONSchemas") or message.get("schema")


def _schema_or_bool(message: dict[str, Any]) -> Any:
    return message.get("schema", message.get("allows", False))


def _schema_or_strings(message: dict[str, Any]) -> Any:
    return message.get("property") or message.get("schema")


FORMS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "authentication.v1.ExtraValue": _strings,
    "authorization.v1.ExtraValue": _strings,
    "meta.v1.FieldsV1": _json,
    "meta.v1.MicroTime": _micro_time,
    "meta.v1.Time": _time,
    "api.resource.Quantity": _quantity,
    "util.intstr.IntOrString": _int_or_string,
    "pkg.runtime.RawExtension": _json,
    "apiextensions.v1.JSON": _json,
    "apiextensions.v1.JSONSchemaPropsOrArray": _schema_or_array,
    "apiextensions.v1.JSONSchemaPropsOrBool": _schema_or_bool,
    "apiextensions.v1.JSONSchemaPropsOrStringArray": _schema_or_strings,
}
"""From the fields of a message to its JSON value."""
