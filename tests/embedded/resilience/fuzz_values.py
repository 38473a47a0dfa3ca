"""Invalid values and corrupted bodies."""

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


def text(rng: random.Random) -> str:
    if rng.random() < 0.15:
        return "".join(chr(rng.randrange(0x250)) for _ in range(rng.randrange(12)))
    return rng.choice(TEXTS)


def value(rng: random.Random, depth: int = 3) -> Any:
    roll = rng.random()
    if depth and roll < 0.15:
        return [value(rng, depth - 1) for _ in range(rng.randrange(4))]
    if depth and roll < 0.35:
        return {rng.choice(KEYS): value(rng, depth - 1) for _ in range(rng.randrange(4))}
    if roll < 0.65:
        return text(rng)
    if roll < 0.85:
        return rng.choice(NUMBERS)
    return rng.choice((None, None, True, False, [], {}, [None], {"": None}))


def nested(rng: random.Random) -> bytes:
    depth = rng.choice((50, 199, 201, 1_100, 20_000, 100_000))
    opened, closed = rng.choice(((b"[", b"]"), (b'{"a":', b"}"), (b'{"metadata":{"a":[', b"]}}")))
    return opened * depth + b"1" + closed * rng.choice((depth, depth, 0))


def _truncated(rng: random.Random, body: bytes) -> bytes:
    return body[: rng.randrange(len(body) + 1)]


def _flipped(rng: random.Random, body: bytes) -> bytes:
    changed = bytearray(body or b"x")
    for _ in range(rng.randrange(1, 4)):
        changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def _inserted(rng: random.Random, body: bytes) -> bytes:
    at = rng.randrange(len(body) + 1)
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
    return body[:at] + rng.choice(what) + body[at:]


def _repeated(rng: random.Random, body: bytes) -> bytes:
    """A duplicate key in an object, or the whole body twice."""
    places = [at for at, sign in enumerate(body) if sign == ord("{")]
    if not places:
        return body + body
    at = rng.choice(places) + 1
    key = json.dumps(rng.choice(KEYS)).encode()
    twice = key + b":1," + key + b":" + to_json(value(rng, 1)) + b","
    return body[:at] + (twice if body[at : at + 1] != b"}" else twice[:-1]) + body[at:]


def corrupted(rng: random.Random, body: bytes) -> bytes:
    if rng.random() < 0.04:
        return nested(rng)
    return rng.choice((_truncated, _flipped, _inserted, _repeated, _repeated))(rng, body)


def to_json(what: Any) -> bytes:
    """JSON with everything that Python can write: lone surrogates as escapes, NaN, huge numbers."""
    return json.dumps(what).encode()
