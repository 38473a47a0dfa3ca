"""Encodes protobuf messages, valid and invalid ones."""

from __future__ import annotations


def varint(value: int) -> bytes:
    out = bytearray()
    value &= 2**64 - 1
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def length_delimited(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def varint_field(number: int, value: int) -> bytes:
    return varint(number << 3) + varint(value)


def map_entry(number: int, key: str, value: bytes) -> bytes:
    return length_delimited(number, length_delimited(1, key.encode()) + length_delimited(2, value))


def body(api_version: str, kind: str, raw: bytes) -> bytes:
    title = length_delimited(1, api_version.encode()) + length_delimited(2, kind.encode())
    return b"k8s\0" + length_delimited(1, title) + length_delimited(2, raw) + length_delimited(3, b"") + length_delimited(4, b"")


NAMED = length_delimited(1, b"x")
CONFIG = length_delimited(1, NAMED) + map_entry(2, "a", b"b")
"""The config map x with a: b."""

REJECTED: dict[str, bytes] = {
    "nothing": b"",
    "the prefix alone": b"k8s\0",
    "JSON": b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x"}}',
    "another prefix": b"k8s\1aaa",
    "an envelope cut off": body("v1", "ConfigMap", CONFIG)[:12],
    "an object cut off": body("v1", "ConfigMap", CONFIG[:-1]),
    "an end without a group": body("v1", "ConfigMap", b"\x0c"),
    "a group without an end": body("v1", "ConfigMap", CONFIG + b"\x7b\x08\x01"),
    "field 0": body("v1", "ConfigMap", b"\x02\x00"),
    "a number for metadata": body("v1", "ConfigMap", b"\x08\x01"),
    "a number for a map": body("v1", "ConfigMap", b"\x10\x01"),
    "a text for a boolean": body("v1", "ConfigMap", length_delimited(4, b"yes")),
    "a number of eleven bytes": body("v1", "ConfigMap", b"\xff" * 11),
    "a negative length": body("v1", "ConfigMap", b"\x0a" + b"\xff" * 9 + b"\x01"),
    "wire type 7": body("v1", "ConfigMap", b"\x7f"),
    "an unknown kind": body("v1", "Foo", CONFIG),
    "an unknown version": body("v2", "ConfigMap", CONFIG),
}
"""Bodies of a config map that the API server rejects with 400."""

ACCEPTED: dict[str, bytes] = {
    "a plain one": body("v1", "ConfigMap", CONFIG),
    "no title": b"k8s\0" + length_delimited(2, CONFIG),
    "no version": b"k8s\0" + length_delimited(1, length_delimited(2, b"ConfigMap")) + length_delimited(2, CONFIG),
    "no readable version": body("a/b/c", "ConfigMap", CONFIG),
    "a version with a slash before it": body("/v1", "ConfigMap", CONFIG),
    "a version with a slash after it": body("v1/", "ConfigMap", CONFIG),
    "an unknown text": body("v1", "ConfigMap", CONFIG + length_delimited(15, b"zz")),
    "an unknown group": body("v1", "ConfigMap", CONFIG + b"\x7b\x08\x01\x7c"),
    "field 1 with bits that are cut off": body("v1", "ConfigMap", CONFIG + b"\x8a\x80\x80\x80\x80\x01\x00"),
    "metadata in two pieces": body(
        "v1", "ConfigMap", length_delimited(1, length_delimited(1, b"y") + map_entry(11, "l", b"1")) + CONFIG
    ),
    "an empty map entry's value": body("v1", "ConfigMap", CONFIG + length_delimited(2, length_delimited(1, b"k"))),
    "a false pointer": body("v1", "ConfigMap", CONFIG + varint_field(4, 0)),
    "bytes": body("v1", "ConfigMap", CONFIG + map_entry(3, "bin", b"\x00\xff")),
    "text that is no UTF-8": body("v1", "ConfigMap", CONFIG + length_delimited(1, map_entry(12, "a", b"\xe6\xbc \xed\xa0\x80"))),
}
"""Bodies that are decoded to the config map x."""
