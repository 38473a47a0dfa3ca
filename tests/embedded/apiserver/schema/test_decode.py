from __future__ import annotations

import contextlib
import json
import random
from typing import Any

import pytest
from tests.embedded.apiserver.schema import bodies, samples, widgets

from traincrew.apimachinery import api_errors
from traincrew.embedded.apiserver.schema import builtin_kinds, decoding

POD = decoding.Expected("Pod", "v1")
TITLES: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod"}
STRICT = 'Pod in version "v1" cannot be handled as a Pod: strict decoding error: '


def read(body: Any, validation: Any = "Strict", content: str = "application/json") -> decoding.Decoded:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return decoding.decode(raw, content, builtin_kinds.load().schema("", "v1", "Pod"), POD, validation)


def refused(body: Any, validation: Any = "Strict", content: str = "application/json") -> str:
    with pytest.raises(api_errors.StatusError) as caught:
        read(body, validation, content)
    assert caught.value.code == 400
    return caught.value.message


def container(**fields: Any) -> dict[str, Any]:
    return {**TITLES, "metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", **fields}]}}


def test_an_object_is_read_as_it_is() -> None:
    pod = container(image="i", args=["x"], ports=[{"containerPort": 80}])
    assert read(pod) == (pod, ())


def test_titles_may_be_left_out() -> None:
    assert read({"metadata": {"name": "a"}}).object == {**TITLES, "metadata": {"name": "a"}}


def test_nulls_are_dropped_and_in_lists_they_are_empty() -> None:
    found = read(container(image=None, args=[None, "a"], env=[None], resources=None)).object
    assert found["spec"]["containers"] == [{"name": "c", "args": ["", "a"], "env": [{}]}]


def test_quantities_and_times_take_their_canonical_form() -> None:
    pod = container(resources={"limits": {"cpu": 1.5, "memory": "1.5Gi", "x/y": "1000m"}})
    pod["metadata"]["deletionTimestamp"] = "2020-01-01T00:00:00.5+02:00"
    found = read(pod).object
    assert found["spec"]["containers"][0]["resources"]["limits"] == {"cpu": "1500m", "memory": "1536Mi", "x/y": "1"}
    assert found["metadata"]["deletionTimestamp"] == "2019-12-31T22:00:00Z"


def test_every_unknown_field_is_told_in_order() -> None:
    pod = container(foo=1, bar=2) | {"baz": {}}
    message = 'unknown field "spec.containers[0].foo", unknown field "spec.containers[0].bar", unknown field "baz"'
    assert refused(pod) == STRICT + message


def test_unknown_fields_are_dropped_with_a_warning_or_silently() -> None:
    pod = container(foo=1)
    assert read(pod, "Warn") == (container(), ('unknown field "spec.containers[0].foo"',))
    assert read(pod, "") == (container(), ('unknown field "spec.containers[0].foo"',))
    assert read(pod, "Ignore") == (container(), ())


def test_names_differ_by_their_case() -> None:
    assert refused({**TITLES, "Spec": {}}) == STRICT + 'unknown field "Spec"'


def test_no_more_than_a_hundred_unknown_fields_are_told() -> None:
    assert len(read({**TITLES, **{f"x{number}": 1 for number in range(200)}}, "Warn").warnings) == 100


def test_duplicates_are_told_wherever_they_are() -> None:
    body = b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","labels":{"x":"1","x":"2"}},"metadata":{"name":"b"}}'
    assert refused(body) == STRICT + 'duplicate field "metadata.labels.x", duplicate field "metadata"'
    assert read(body, "Ignore").object["metadata"]["name"] == "b"


def test_what_only_looks_like_a_duplicate_is_none() -> None:
    text = '{"a":1,"a":2}'
    found = read({**TITLES, "metadata": {"name": "a", "annotations": {"x": text, "y": '": ":'}}})
    assert found.object["metadata"]["annotations"]["x"] == text


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
def test_a_value_of_a_wrong_type_is_told_in_gos_words(fields: dict[str, Any], message: str) -> None:
    assert refused(container(**fields)) == f'Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal {message}'


def test_of_several_wrong_types_the_first_is_told_but_a_quantity_has_the_last_word() -> None:
    assert "containers.image of" in refused(container(image=5, args=5))
    assert "quantities must match" in refused(container(image=5, resources={"limits": {"cpu": "x"}}))


def test_yaml_is_read_as_well() -> None:
    text = b"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers: [{name: c}]\n"
    assert read(text, content="application/yaml").object == container()


def test_a_key_given_twice_in_yaml_is_told_with_its_line() -> None:
    text = b"apiVersion: v1\nkind: Pod\nfoo: 1\nfoo: 2\n"
    message = 'yaml: unmarshal errors:\n  line 4: key "foo" already set in map, unknown field "foo"'
    assert refused(text, content="application/yaml") == STRICT + message


@pytest.mark.parametrize("validation", ["Strict", "Warn", "Ignore"])
@pytest.mark.parametrize("kind", ["Pod", "Widget"])
def test_no_body_however_strange_gets_anything_but_an_answer(kind: str, validation: Any) -> None:
    schema = builtin_kinds.load().schema("", "v1", "Pod") if kind == "Pod" else widgets.served().schema
    expected = POD if kind == "Pod" else decoding.Expected("Widget", f"{widgets.GROUP}/v1")
    for content, body in bodies.strange(expected.kind, expected.api_version):
        with contextlib.suppress(api_errors.StatusError):
            found = decoding.decode(body, content, schema, expected, validation)
            json.dumps(found.object, ensure_ascii=False).encode()


def test_a_body_of_any_depth_gets_an_answer() -> None:
    for depth in (150, 1000, 5000, 100_000):
        body = b'{"apiVersion":"v1","kind":"Pod","spec":' + b'{"a":' * depth + b"1" + b"}" * depth + b"}"
        assert ("exceeded max depth" in refused(body)) is (depth > 200)


def test_the_quick_and_the_slow_way_read_the_same() -> None:
    """A duplicate that changes nothing makes the slow way necessary."""
    read_at_all = 0
    for seed in range(400):
        group, version, kind, _ = samples.KINDS[seed % len(samples.KINDS)]
        schema = builtin_kinds.load().schema(group, version, kind)
        expected = decoding.Expected(kind, f"{group}/{version}" if group else version)
        text = samples.manifest(seed, schema, expected.api_version, kind)
        twice = text[:-1] + f', "kind": "{kind}"}}'
        quick = outcome(text, schema, expected)
        assert quick == outcome(twice, schema, expected)
        read_at_all += quick[0] == "read"
    assert read_at_all > 50


def outcome(text: str, schema: dict[str, Any], expected: decoding.Expected) -> tuple[str, Any]:
    try:
        return "read", decoding.decode(text.encode(), "application/json", schema, expected, "Ignore").object
    except api_errors.StatusError as refusal:
        return "refused", refusal.message


def test_what_was_read_reads_the_same_again() -> None:
    for seed in range(300):
        group, version, kind, _ = samples.KINDS[seed % len(samples.KINDS)]
        schema = builtin_kinds.load().schema(group, version, kind)
        expected = decoding.Expected(kind, f"{group}/{version}" if group else version)
        first = outcome(samples.manifest(seed, schema, expected.api_version, kind), schema, expected)
        if first[0] == "read":
            assert outcome(json.dumps(first[1]), schema, expected) == first


def test_custom_resources_are_pruned_and_their_metadata_is_typed() -> None:
    body = widgets.widget(unknown=1, open={"a": 1, "kept": {}, "b": {"d": 1}}) | {"extra": 1}
    body["metadata"] |= {"labels": {}, "foo": 1, "creationTimestamp": None}
    expected = decoding.Expected("Widget", f"{widgets.GROUP}/v1")
    found = decoding.decode(json.dumps(body).encode(), "application/json", widgets.served().schema, expected, "Warn")
    assert found.object == widgets.widget(open={"a": 1, "kept": {}, "b": {}})
    fields = ("metadata.foo", "extra", "spec.open.b.d", "spec.unknown")
    assert found.warnings == tuple(f'unknown field "{field}"' for field in fields)


def test_bytes_at_random_get_an_answer() -> None:
    chance = random.Random(1)
    body = json.dumps(container(image="i", resources={"limits": {"cpu": "1"}})).encode()
    for _ in range(2000):
        damaged = bytearray(body)
        for _ in range(chance.randrange(1, 4)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        with contextlib.suppress(api_errors.StatusError):
            json.dumps(read(bytes(damaged), "Warn").object, ensure_ascii=False).encode()
