"""Objects out of protobuf: bodies that kubectl 1.32 has sent, bodies put together by hand, and bytes of any kind."""

from __future__ import annotations

import base64
import contextlib
import json
import pathlib
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies
from tests.embedded.apiserver.protobuf import wiring
from tests.embedded.apiserver.protobuf.wiring import body, entry, lengthy, numeral

from traincrew.apimachinery.api_errors import StatusError
from traincrew.embedded.apiserver import protobuf
from traincrew.embedded.apiserver.protobuf import messages
from traincrew.embedded.apiserver.schema import builtin_kinds

SENT: list[dict[str, Any]] = json.loads((pathlib.Path(__file__).parent / "bodies.json").read_text())
BODIES = [base64.b64decode(each["body"]) for each in SENT]
CRD = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")


@pytest.mark.parametrize("sent", SENT, ids=lambda sent: str(sent["object"]["kind"]))
def test_what_kubectl_sends_is_read(sent: dict[str, Any]) -> None:
    kind, version = sent["object"]["kind"], sent["object"]["apiVersion"]
    assert protobuf.decode(base64.b64decode(sent["body"]), version, kind) == (version, kind, sent["object"])


def test_every_kind_that_is_served_is_known() -> None:
    catalog = messages.load()
    for served in builtin_kinds.load().resources():
        assert catalog.kind(served.api_version, served.kind), served
        for part in served.subresources:
            place = f"{part.group}/{part.version}" if part.group else part.version or served.api_version
            assert catalog.kind(place, part.kind) or part.kind.endswith("Options"), part


def test_delete_options_belong_to_every_group() -> None:
    raw = numeral(1, 0) + lengthy(4, b"Orphan") + lengthy(2, lengthy(1, b"u"))
    wanted = {"gracePeriodSeconds": 0, "propagationPolicy": "Orphan", "preconditions": {"uid": "u"}}
    for version in ("v1", "apps/v1", "kubeflow.org/v1"):
        _, _, found = protobuf.decode(body(version, "DeleteOptions", raw), "v1", "DeleteOptions")
        assert found == {"kind": "DeleteOptions", "apiVersion": version} | wanted


@pytest.mark.parametrize("name", wiring.ACCEPTED)
def test_unusual_bodies_are_read(name: str) -> None:
    api_version, kind, found = protobuf.decode(wiring.ACCEPTED[name], "v1", "ConfigMap")
    assert (api_version, kind, found["metadata"]["name"], found["data"]["a"]) == ("v1", "ConfigMap", "x", "b")


def pod(raw: bytes) -> Any:
    return protobuf.decode(body("v1", "Pod", raw), "v1", "Pod")[2]


def test_pieces_of_a_struct_are_merged_and_the_last_value_counts() -> None:
    spec = [lengthy(2, numeral(11, 1)), lengthy(2, lengthy(3, b"Never")), lengthy(2, numeral(11, 0))]
    assert pod(spec[0] + spec[1])["spec"] == {"hostNetwork": True, "restartPolicy": "Never"}
    assert pod(b"".join(spec))["spec"] == {"restartPolicy": "Never"}


def test_numbers_may_be_packed() -> None:
    groups = lengthy(4, wiring.varint(5) + wiring.varint(-1)) + numeral(4, 7)
    assert pod(lengthy(2, lengthy(14, groups)))["spec"]["securityContext"] == {"supplementalGroups": [5, -1, 7]}


def test_times_are_those_of_json() -> None:
    def metadata(time: bytes) -> Any:
        return pod(lengthy(1, lengthy(8, time)))["metadata"]

    assert metadata(b"") == {}
    assert metadata(numeral(1, -62135596800)) == {}
    assert metadata(numeral(1, 0) + numeral(2, 5)) == {"creationTimestamp": "1970-01-01T00:00:00Z"}
    assert metadata(numeral(1, -62135596799)) == {"creationTimestamp": "0001-01-01T00:00:01Z"}


def refused(sent: bytes, api_version: str = "v1", kind: str = "Pod") -> str:
    with pytest.raises(StatusError) as caught:
        protobuf.decode(sent, api_version, kind)
    assert (caught.value.code, caught.value.reason) == (400, "BadRequest")
    return caught.value.message


@pytest.mark.parametrize("name", wiring.REFUSED)
def test_malformed_bodies_are_refused(name: str) -> None:
    assert "ConfigMap" in refused(wiring.REFUSED[name], kind="ConfigMap")


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (lengthy(1, lengthy(8, numeral(1, 2**62))), "year outside of range"),
        (lengthy(1, lengthy(17, lengthy(7, lengthy(1, b"{")))), "json: "),
        (lengthy(1, lengthy(17, lengthy(7, lengthy(1, b"[" * 100_000)))), "json: "),
        (lengthy(2, entry(32, "cpu", lengthy(1, b"many"))), "quantities must match the regular expression"),
    ],
)
def test_values_that_json_has_no_form_for_are_refused(raw: bytes, why: str) -> None:
    assert why in refused(body("v1", "Pod", raw))


def schema(depth: int) -> bytes:
    raw = b""
    for _ in range(depth):
        raw = lengthy(28, raw)
    validation = lengthy(1, raw)
    return body(*CRD, lengthy(2, lengthy(7, lengthy(4, validation))))


def test_depth_is_bounded() -> None:
    found = protobuf.decode(schema(100), *CRD)[2]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    for _ in range(100):
        found = found["not"]
    assert found == {}
    assert refused(schema(10_000), *CRD).endswith("proto: exceeded max depth")


def test_the_number_of_messages_is_bounded() -> None:
    assert refused(body("v1", "Pod", lengthy(2, lengthy(2, b"") * 500_000))).endswith("proto: too many messages")


def read(sent: bytes) -> None:
    """Any exception but a Refusal fails the test, and so does what is no JSON."""
    with contextlib.suppress(StatusError):
        _, _, found = protobuf.decode(sent, "v1", "Pod")
        json.dumps(found, allow_nan=False).encode()


@pytest.mark.parametrize("sent", BODIES)
def test_a_body_cut_off_anywhere_is_read_or_refused(sent: bytes) -> None:
    for end in range(len(sent)):
        read(sent[:end])


@hypothesis.settings(max_examples=1000, deadline=None)
@hypothesis.given(
    sent=strategies.sampled_from(BODIES),
    changes=strategies.lists(strategies.tuples(strategies.integers(4, 2000), strategies.integers(0, 255)), max_size=6),
)
def test_a_body_with_changed_bytes_is_read_or_refused(sent: bytes, changes: list[tuple[int, int]]) -> None:
    changed = bytearray(sent)
    for place, byte in changes:
        changed[min(place, len(sent) - 1)] = byte
    read(bytes(changed))


@hypothesis.settings(max_examples=700, deadline=None)
@hypothesis.given(kind=strategies.sampled_from(sorted(messages.load().kinds)), raw=strategies.binary(max_size=200))
def test_any_bytes_are_read_or_refused(kind: str, raw: bytes) -> None:
    version, _, name = kind.rpartition("/")
    read(body(version or "v1", name, raw))
