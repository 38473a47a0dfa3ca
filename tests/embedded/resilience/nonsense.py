"""Values that no honest client sends, and bodies that were damaged on their way."""

from __future__ import annotations

import json
import random
from typing import Any

TEXTS = (
    "", " ", "a", "x" * 300, "\0", "a\0b", "\ud800", "\udfff\ud800", "\u202e", "é", "😀", "\r\n", "../..", "a/b", "%00",
    "%zz", "{}", "[]", "null", "true", "0", "-1", "1e999", "NaN", "99999999999999999999999", "0x10", "1_000", " 1", "١٢",
    "²", "=", "a=b,c!=d", "in (", "!a", "a in (b,c),d", "$(HOME)", "$patch", "2020-01-01T00:00:00Z",
    "9999-99-99T99:99:99Z", "0001-01-01T00:00:00Z", "10Gi", "1e400", "-1m", "1.5.5", "Always", "ClusterIP", "None",
    "10.0.0.300", "::1", "fe80::1%lo", "http://a b", "(a+)+$", "[", "\\", "self.x > 1", "a.b.c", "metadata.name",
    "kubeflow.org/v1", "v1", "/v1", "a/b/c", "Pod", "default", "kube-system", "-a-", "A.B", "a" * 64, "a." * 127,
    "é" * 64,
)  # fmt: skip
NUMBERS = (
    0, 1, -1, 2, 7, 80, 65535, 65536, 2**31 - 1, 2**31, -(2**31) - 1, 2**53 + 1, 2**63 - 1, 2**63, -(2**63) - 1, 2**64,
    10**40, 10**400, 0.5, -0.0, 1.0, 1e20, 1e308, float("inf"), float("nan"), 1e-320,
)  # fmt: skip
KEYS = (
    "", "a", "name", "kind", "apiVersion", "metadata", "spec", "status", "$patch", "$retainKeys",
    "$setElementOrder/containers", "$deleteFromPrimitiveList/finalizers", "labels", "é", "\0", "\ud800", "x" * 300,
    "a.b/c", "a/b/c", "k:{}", "f:a", ".", "~1", "0", "-",
)  # fmt: skip


def text(chance: random.Random) -> str:
    if chance.random() < 0.15:
        return "".join(chr(chance.randrange(0x250)) for _ in range(chance.randrange(12)))
    return chance.choice(TEXTS)


def value(chance: random.Random, depth: int = 3) -> Any:
    roll = chance.random()
    if depth and roll < 0.15:
        return [value(chance, depth - 1) for _ in range(chance.randrange(4))]
    if depth and roll < 0.35:
        return {chance.choice(KEYS): value(chance, depth - 1) for _ in range(chance.randrange(4))}
    if roll < 0.65:
        return text(chance)
    if roll < 0.85:
        return chance.choice(NUMBERS)
    return chance.choice((None, None, True, False, [], {}, [None], {"": None}))


def nested(chance: random.Random) -> bytes:
    depth = chance.choice((50, 199, 201, 1_100, 20_000, 100_000))
    opened, closed = chance.choice(((b"[", b"]"), (b'{"a":', b"}"), (b'{"metadata":{"a":[', b"]}}")))
    return opened * depth + b"1" + closed * chance.choice((depth, depth, 0))


def _truncated(chance: random.Random, body: bytes) -> bytes:
    return body[: chance.randrange(len(body) + 1)]


def _flipped(chance: random.Random, body: bytes) -> bytes:
    changed = bytearray(body or b"x")
    for _ in range(chance.randrange(1, 4)):
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


def _inserted(chance: random.Random, body: bytes) -> bytes:
    at = chance.randrange(len(body) + 1)
    what = (
        b"\0",
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        b"\xed\xa0\x80",
        b"{",
        b"]",
        b",",
        b'"',
        b"\\u0000",
        b"\\ud83d",
        b"1e999",
        b"//",
        b"\n---\n",
        b"&a *a",
    )
    return body[:at] + chance.choice(what) + body[at:]


def _repeated(chance: random.Random, body: bytes) -> bytes:
    """A key twice in an object, or the whole body twice."""
    places = [at for at, sign in enumerate(body) if sign == ord("{")]
    if not places:
        return body + body
    at = chance.choice(places) + 1
    key = json.dumps(chance.choice(KEYS)).encode()
    twice = key + b":1," + key + b":" + dumped(value(chance, 1)) + b","
    return body[:at] + (twice if body[at : at + 1] != b"}" else twice[:-1]) + body[at:]


def damaged(chance: random.Random, body: bytes) -> bytes:
    if chance.random() < 0.04:
        return nested(chance)
    return chance.choice((_truncated, _flipped, _inserted, _repeated, _repeated))(chance, body)


def dumped(what: Any) -> bytes:
    """As JSON with everything that Python can write: halves of surrogates as escapes, NaN, enormous numbers."""
    return json.dumps(what).encode()
