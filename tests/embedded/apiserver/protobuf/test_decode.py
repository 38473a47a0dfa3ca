"""Decoding of protobuf: bodies that kubectl 1.32 sent, handwritten bodies, and random bytes."""

from __future__ import annotations

import base64
import contextlib
import json
import pathlib
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies
from tests.embedded.apiserver.protobuf import protobuf_encoding
from tests.embedded.apiserver.protobuf.protobuf_encoding import body, length_delimited, map_entry, varint_field

from traincrew.apimachinery.api_errors import StatusError
from traincrew.embedded.apiserver import protobuf
from traincrew.embedded.apiserver.protobuf import messages
from traincrew.embedded.apiserver.schema import builtin_kinds

SENT: list[dict[str, Any]] = json.loads((pathlib.Path(__file__).parent / "bodies.json").read_text())
BODIES = [base64.b64decode(each["body"]) for each in SENT]
CRD = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")


@pytest.mark.parametrize("sent", SENT, ids=lambda sent: str(sent["object"]["kind"]))
def test_bodies_of_kubectl_are_decoded(sent: dict[str, Any]) -> None:
    kind, version = sent["object"]["kind"], sent["object"]["apiVersion"]
    assert protobuf.decode(base64.b64decode(sent["body"]), version, kind) == (version, kind, sent["object"])


def test_every_served_kind_has_a_message() -> None:
    catalog = messages.load()
    for served in builtin_kinds.load().resources():
        assert catalog.kind(served.api_version, served.kind), served
        for part in served.subresources:
            api_version = f"{part.group}/{part.version}" if part.group else part.version or served.api_version
            assert catalog.kind(api_version, part.kind) or part.kind.endswith("Options"), part


def test_delete_options_belong_to_every_group() -> None:
    raw = varint_field(1, 0) + length_delimited(4, b"Orphan") + length_delimited(2, length_delimited(1, b"u"))
    expected = {"gracePeriodSeconds": 0, "propagationPolicy": "Orphan", "preconditions": {"uid": "u"}}
    for version in ("v1", "apps/v1", "kubeflow.org/v1"):
        _, _, decoded = protobuf.decode(body(version, "DeleteOptions", raw), "v1", "DeleteOptions")
        assert decoded == {"kind": "DeleteOptions", "apiVersion": version} | expected


@pytest.mark.parametrize("name", protobuf_encoding.ACCEPTED)
def test_unusual_bodies_are_decoded(name: str) -> None:
    api_version, kind, decoded = protobuf.decode(protobuf_encoding.ACCEPTED[name], "v1", "ConfigMap")
    assert (api_version, kind, decoded["metadata"]["name"], decoded["data"]["a"]) == ("v1", "ConfigMap", "x", "b")


def pod(raw: bytes) -> Any:
    return protobuf.decode(body("v1", "Pod", raw), "v1", "Pod")[2]


def test_pieces_of_a_struct_are_merged_and_the_last_value_counts() -> None:
    spec = [
        length_delimited(2, varint_field(11, 1)),
        length_delimited(2, length_delimited(3, b"Never")),
        length_delimited(2, varint_field(11, 0)),
    ]
    assert pod(spec[0] + spec[1])["spec"] == {"hostNetwork": True, "restartPolicy": "Never"}
    assert pod(b"".join(spec))["spec"] == {"restartPolicy": "Never"}


def test_numbers_may_be_packed() -> None:
    groups = length_delimited(4, protobuf_encoding.varint(5) + protobuf_encoding.varint(-1)) + varint_field(4, 7)
    assert pod(length_delimited(2, length_delimited(14, groups)))["spec"]["securityContext"] == {"supplementalGroups": [5, -1, 7]}


def test_times_are_those_of_json() -> None:
    def metadata(time: bytes) -> Any:
        return pod(length_delimited(1, length_delimited(8, time)))["metadata"]

    assert metadata(b"") == {}
    assert metadata(varint_field(1, -62135596800)) == {}
    assert metadata(varint_field(1, 0) + varint_field(2, 5)) == {"creationTimestamp": "1970-01-01T00:00:00Z"}
    assert metadata(varint_field(1, -62135596799)) == {"creationTimestamp": "0001-01-01T00:00:01Z"}


def decode_error(sent: bytes, api_version: str = "v1", kind: str = "Pod") -> str:
    with pytest.raises(StatusError) as caught:
        protobuf.decode(sent, api_version, kind)
    assert (caught.value.code, caught.value.reason) == (400, "BadRequest")
    return caught.value.message


@pytest.mark.parametrize("name", protobuf_encoding.REJECTED)
def test_malformed_bodies_are_rejected(name: str) -> None:
    assert "ConfigMap" in decode_error(protobuf_encoding.REJECTED[name], kind="ConfigMap")


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (length_delimited(1, length_delimited(8, varint_field(1, 2**62))), "year outside of range"),
        (length_delimited(1, length_delimited(17, length_delimited(7, length_delimited(1, b"{")))), "json: "),
        (length_delimited(1, length_delimited(17, length_delimited(7, length_delimited(1, b"[" * 100_000)))), "json: "),
        (length_delimited(2, map_entry(32, "cpu", length_delimited(1, b"many"))), "quantities must match the regular expression"),
    ],
)
def test_values_without_a_json_form_are_rejected(raw: bytes, why: str) -> None:
    assert why in decode_error(body("v1", "Pod", raw))


def schema(depth: int) -> bytes:
    raw = b""
    for _ in range(depth):
        raw = length_delimited(28, raw)
    validation = length_delimited(1, raw)
    return body(*CRD, length_delimited(2, length_delimited(7, length_delimited(4, validation))))


def test_depth_is_bounded() -> None:
    decoded = protobuf.decode(schema(100), *CRD)[2]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    for _ in range(100):
        decoded = decoded["not"]
    assert decoded == {}
    assert decode_error(schema(10_000), *CRD).endswith("proto: exceeded max depth")


def test_the_number_of_messages_is_bounded() -> None:
    assert decode_error(body("v1", "Pod", length_delimited(2, length_delimited(2, b"") * 500_000))).endswith(
        "proto: too many messages"
    )


def assert_decoded_or_rejected(sent: bytes) -> None:
    """Only a StatusError may be raised, and a decoded object must be encodable as JSON."""
    with contextlib.suppress(StatusError):
        _, _, decoded = protobuf.decode(sent, "v1", "Pod")
        json.dumps(decoded, allow_nan=False).encode()


@pytest.mark.parametrize("sent", BODIES)
def test_a_truncated_body_is_decoded_or_rejected(sent: bytes) -> None:
    for end in range(len(sent)):
        assert_decoded_or_rejected(sent[:end])


@hypothesis.settings(max_examples=1000, deadline=None)
@hypothesis.given(
    sent=strategies.sampled_from(BODIES),
    changes=strategies.lists(strategies.tuples(strategies.integers(4, 2000), strategies.integers(0, 255)), max_size=6),
)
def test_a_body_with_changed_bytes_is_decoded_or_rejected(sent: bytes, changes: list[tuple[int, int]]) -> None:
    changed = bytearray(sent)
    for api_version, byte in changes:
        changed[min(api_version, len(sent) - 1)] = byte
    assert_decoded_or_rejected(bytes(changed))


@hypothesis.settings(max_examples=700, deadline=None)
@hypothesis.given(kind=strategies.sampled_from(sorted(messages.load().kinds)), raw=strategies.binary(max_size=200))
def test_any_bytes_are_decoded_or_rejected(kind: str, raw: bytes) -> None:
    version, _, name = kind.rpartition("/")
    assert_decoded_or_rejected(body(version or "v1", name, raw))
