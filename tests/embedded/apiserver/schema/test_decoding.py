from __future__ import annotations

import contextlib
import json
import random
from typing import Any

import pytest
from tests.embedded.apiserver.schema import malformed_bodies, random_objects, widget_crd

from traincrew.apimachinery import api_errors
from traincrew.embedded.apiserver.schema import builtin_kinds, decoding

POD = decoding.Expected("Pod", "v1")
TITLES: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod"}
STRICT = 'Pod in version "v1" cannot be handled as a Pod: strict decoding error: '


def read(body: Any, validation: Any = "Strict", content: str = "application/json") -> decoding.Decoded:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return decoding.decode(raw, content, builtin_kinds.load().schema("", "v1", "Pod"), POD, validation)


def decode_error(body: Any, validation: Any = "Strict", content: str = "application/json") -> str:
    with pytest.raises(api_errors.StatusError) as caught:
        read(body, validation, content)
    assert caught.value.code == 400
    return caught.value.message


def container(**fields: Any) -> dict[str, Any]:
    return {**TITLES, "metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", **fields}]}}


def test_a_valid_object_is_decoded_unchanged() -> None:
    pod = container(image="i", args=["x"], ports=[{"containerPort": 80}])
    assert read(pod) == (pod, ())


def test_type_meta_may_be_omitted() -> None:
    assert read({"metadata": {"name": "a"}}).object == {**TITLES, "metadata": {"name": "a"}}


def test_nulls_are_dropped_and_in_lists_they_are_empty() -> None:
    decoded = read(container(image=None, args=[None, "a"], env=[None], resources=None)).object
    assert decoded["spec"]["containers"] == [{"name": "c", "args": ["", "a"], "env": [{}]}]


def test_quantities_and_times_take_their_canonical_form() -> None:
    pod = container(resources={"limits": {"cpu": 1.5, "memory": "1.5Gi", "x/y": "1000m"}})
    pod["metadata"]["deletionTimestamp"] = "2020-01-01T00:00:00.5+02:00"
    decoded = read(pod).object
    assert decoded["spec"]["containers"][0]["resources"]["limits"] == {"cpu": "1500m", "memory": "1536Mi", "x/y": "1"}
    assert decoded["metadata"]["deletionTimestamp"] == "2019-12-31T22:00:00Z"


def test_unknown_fields_are_reported_in_order() -> None:
    pod = container(foo=1, bar=2) | {"baz": {}}
    message = 'unknown field "spec.containers[0].foo", unknown field "spec.containers[0].bar", unknown field "baz"'
    assert decode_error(pod) == STRICT + message


def test_unknown_fields_are_dropped_with_a_warning_or_silently() -> None:
    pod = container(foo=1)
    assert read(pod, "Warn") == (container(), ('unknown field "spec.containers[0].foo"',))
    assert read(pod, "") == (container(), ('unknown field "spec.containers[0].foo"',))
    assert read(pod, "Ignore") == (container(), ())


def test_names_differ_by_their_case() -> None:
    assert decode_error({**TITLES, "Spec": {}}) == STRICT + 'unknown field "Spec"'


def test_at_most_a_hundred_unknown_fields_are_reported() -> None:
    assert len(read({**TITLES, **{f"x{number}": 1 for number in range(200)}}, "Warn").warnings) == 100


def test_duplicates_are_reported_at_every_level() -> None:
    body = b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","labels":{"x":"1","x":"2"}},"metadata":{"name":"b"}}'
    assert decode_error(body) == STRICT + 'duplicate field "metadata.labels.x", duplicate field "metadata"'
    assert read(body, "Ignore").object["metadata"]["name"] == "b"


def test_strings_with_colons_are_not_duplicates() -> None:
    text = '{"a":1,"a":2}'
    decoded = read({**TITLES, "metadata": {"name": "a", "annotations": {"x": text, "y": '": ":'}}})
    assert decoded.object["metadata"]["annotations"]["x"] == text


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"image": 5}, "number into Go struct field Container.spec.containers.image of type string"),
        ({"args": "x"}, "string into Go struct field Container.spec.containers.args of type []string"),
        ({"env": [5]}, "number into Go struct field Container.spec.containers.env of type v1.EnvVar"),
        ({"imagePullPolicy": []}, "array into Go struct field Container.spec.containers.imagePullPolicy of type v1.PullPolicy"),
        (
            {"ports": [{"containerPort": 80.0}]},
            "number 80.0 into Go struct field ContainerPort.spec.containers.ports.containerPort of type int32",
        ),
        (
            {"ports": [{"hostPort": 2**40}]},
            f"number {2**40} into Go struct field ContainerPort.spec.containers.ports.hostPort of type int32",
        ),
        ({"stdin": "x"}, "string into Go struct field Container.spec.containers.stdin of type bool"),
        (
            {"resources": {"limits": []}},
            "array into Go struct field ResourceRequirements.spec.containers.resources.limits of type v1.ResourceList",
        ),
    ],
)
def test_a_value_of_a_wrong_type_is_reported_with_the_message_of_go(fields: dict[str, Any], message: str) -> None:
    assert (
        decode_error(container(**fields)) == f'Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal {message}'
    )


def test_the_first_type_error_is_reported_unless_a_quantity_is_malformed() -> None:
    assert "containers.image of" in decode_error(container(image=5, args=5))
    assert "quantities must match" in decode_error(container(image=5, resources={"limits": {"cpu": "x"}}))


def test_yaml_is_decoded_too() -> None:
    text = b"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers: [{name: c}]\n"
    assert read(text, content="application/yaml").object == container()


def test_a_duplicate_yaml_key_is_reported_with_its_line() -> None:
    text = b"apiVersion: v1\nkind: Pod\nfoo: 1\nfoo: 2\n"
    message = 'yaml: unmarshal errors:\n  line 4: key "foo" already set in map, unknown field "foo"'
    assert decode_error(text, content="application/yaml") == STRICT + message


def test_a_yaml_key_that_is_given_three_times_is_reported_with_both_lines() -> None:
    text = b"apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  name: b\n  name: c\n"
    message = decode_error(text, content="application/yaml")
    assert 'line 5: key "name" already set in map' in message
    assert 'line 6: key "name" already set in map' in message


@pytest.mark.parametrize(("scalar", "value"), [(".nan", "NaN"), (".inf", "+Inf"), ("+.Inf", "+Inf"), ("-.INF", "-Inf")])
def test_a_yaml_number_that_is_not_finite_is_rejected_with_the_message_of_go(scalar: str, value: str) -> None:
    text = f"apiVersion: v1\nkind: Pod\nmetadata:\n  generation: {scalar}\n".encode()
    assert f"json: unsupported value: {value}" in decode_error(text, content="application/yaml")


@pytest.mark.parametrize("validation", ["Strict", "Warn", "Ignore"])
@pytest.mark.parametrize("kind", ["Pod", "Widget"])
def test_every_malformed_body_gets_a_response(kind: str, validation: Any) -> None:
    schema = builtin_kinds.load().schema("", "v1", "Pod") if kind == "Pod" else widget_crd.served().schema
    expected = POD if kind == "Pod" else decoding.Expected("Widget", f"{widget_crd.GROUP}/v1")
    for content, body in malformed_bodies.malformed(expected.kind, expected.api_version):
        with contextlib.suppress(api_errors.StatusError):
            decoded = decoding.decode(body, content, schema, expected, validation)
            json.dumps(decoded.object, ensure_ascii=False).encode()


def test_a_body_of_any_depth_gets_a_response() -> None:
    for depth in (150, 1000, 5000, 100_000):
        body = b'{"apiVersion":"v1","kind":"Pod","spec":' + b'{"a":' * depth + b"1" + b"}" * depth + b"}"
        assert ("exceeded max depth" in decode_error(body)) is (depth > 200)


def test_the_fast_and_the_slow_path_decode_the_same() -> None:
    """A duplicate that changes nothing forces the slow path."""
    read_at_all = 0
    for seed in range(400):
        group, version, kind, _ = random_objects.KINDS[seed % len(random_objects.KINDS)]
        schema = builtin_kinds.load().schema(group, version, kind)
        expected = decoding.Expected(kind, f"{group}/{version}" if group else version)
        text = random_objects.manifest(seed, schema, expected.api_version, kind)
        twice = text[:-1] + f', "kind": "{kind}"}}'
        quick = outcome(text, schema, expected)
        assert quick == outcome(twice, schema, expected)
        read_at_all += quick[0] == "read"
    assert read_at_all > 50


def outcome(text: str, schema: dict[str, Any], expected: decoding.Expected) -> tuple[str, Any]:
    try:
        return "read", decoding.decode(text.encode(), "application/json", schema, expected, "Ignore").object
    except api_errors.StatusError as error:
        return "rejected", error.message


def test_decoding_is_idempotent() -> None:
    for seed in range(300):
        group, version, kind, _ = random_objects.KINDS[seed % len(random_objects.KINDS)]
        schema = builtin_kinds.load().schema(group, version, kind)
        expected = decoding.Expected(kind, f"{group}/{version}" if group else version)
        first = outcome(random_objects.manifest(seed, schema, expected.api_version, kind), schema, expected)
        if first[0] == "read":
            assert outcome(json.dumps(first[1]), schema, expected) == first


def test_custom_resources_are_pruned_and_their_metadata_is_typed() -> None:
    body = widget_crd.widget(unknown=1, open={"a": 1, "kept": {}, "b": {"d": 1}}) | {"extra": 1}
    body["metadata"] |= {"labels": {}, "foo": 1, "creationTimestamp": None}
    expected = decoding.Expected("Widget", f"{widget_crd.GROUP}/v1")
    decoded = decoding.decode(json.dumps(body).encode(), "application/json", widget_crd.served().schema, expected, "Warn")
    assert decoded.object == widget_crd.widget(open={"a": 1, "kept": {}, "b": {}})
    fields = ("metadata.foo", "extra", "spec.open.b.d", "spec.unknown")
    assert decoded.warnings == tuple(f'unknown field "{field}"' for field in fields)


def test_random_bytes_get_a_response() -> None:
    rng = random.Random(1)
    body = json.dumps(container(image="i", resources={"limits": {"cpu": "1"}})).encode()
    for _ in range(2000):
        damaged = bytearray(body)
        for _ in range(rng.randrange(1, 4)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        with contextlib.suppress(api_errors.StatusError):
            json.dumps(read(bytes(damaged), "Warn").object, ensure_ascii=False).encode()
