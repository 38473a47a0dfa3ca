from collections.abc import Iterator
from typing import Any

from tests.embedded.apiserver.printers.customs import crd, everything, served_of

from traincrew.apimachinery.resource_info import Object
from traincrew.embedded.apiserver.discovery import version_priority
from traincrew.embedded.apiserver.openapi import crds, documents, gnostic, v2
from traincrew.embedded.apiserver.schema import builtin_kinds

DEFINITIONS = builtin_kinds.load().definitions


def every_document() -> Iterator[Object]:
    for group, versions in version_priority.groups(everything()).items():
        for version in versions:
            found = documents.document(everything(), group, version, DEFINITIONS)
            assert found is not None
            yield found


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "$ref" and isinstance(inner, str):
                yield inner
            else:
                yield from references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from references(inner)


def test_every_reference_leads_somewhere() -> None:
    for document in every_document():
        known = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
        assert set(references(document)) <= known
    older = v2.document(everything(), DEFINITIONS)
    assert set(references(older)) <= {f"#/definitions/{name}" for name in older["definitions"]}


def test_every_resource_that_can_be_patched_says_that_fields_can_be_validated() -> None:
    for document in every_document():
        patches = [item["patch"] for item in document["paths"].values() if "patch" in item]
        for patch in patches:
            names = {parameter["name"] for parameter in patch["parameters"]}
            assert {"fieldValidation", "dryRun", "fieldManager", "force"} <= names
            assert patch["x-kubernetes-group-version-kind"]["kind"]
    jobs = documents.document(everything(), "kubeflow.org", "v1", DEFINITIONS)
    assert jobs is not None
    assert "patch" in jobs["paths"]["/apis/kubeflow.org/v1/namespaces/{namespace}/tfjobs/{name}"]


def test_operations_have_names_of_their_own() -> None:
    for document in every_document():
        names = [
            operation["operationId"]
            for item in document["paths"].values()
            for method, operation in item.items()
            if method != "parameters"
        ]
        assert len(names) == len(set(names))


def test_the_index_leads_to_every_document_and_changes_with_a_definition() -> None:
    index = documents.index(everything())["paths"]
    assert index["api/v1"]["serverRelativeURL"].startswith("/openapi/v3/api/v1?hash=")
    assert "apis/kubeflow.org/v2beta1" in index
    one, other = served_of(crd("Widget")), served_of(crd("Widget", schema={"type": "object"}))
    assert documents.digest(one, "example.com", "v1") != documents.digest(other, "example.com", "v1")
    assert documents.digest(one, "example.com", "v1") == documents.digest(served_of(crd("Widget")), "example.com", "v1")


def test_an_embedded_resource_has_what_every_object_has() -> None:
    inner: Object = {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "required": ["kind"],
        "properties": {"a": {"type": "string"}},
    }
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"all": {"type": "array", "items": inner}}}},
    }
    (widgets,) = served_of(crd("Widget", schema=schema))
    published = crds.definitions(widgets)["com.example.v1.Widget"]
    embedded = published["properties"]["spec"]["properties"]["all"]["items"]
    assert embedded["properties"].keys() == {"a", "apiVersion", "kind", "metadata"}
    assert embedded["required"] == ["kind", "apiVersion"]
    assert published["properties"].keys() == {"spec", "apiVersion", "kind", "metadata"}
    assert "apiVersion" not in inner["properties"]  # the definition itself is left alone


def test_the_protobuf_form_says_what_the_json_form_says() -> None:
    document = v2.document(everything(), DEFINITIONS)
    (definitions,) = [body for number, body in fields(gnostic.encode(document)) if number == 9]
    decoded = dict(named(body) for _, body in fields(definitions))
    assert decoded.keys() == document["definitions"].keys()
    for name, schema in document["definitions"].items():
        assert read(decoded[name]) == told(schema), name


def told(schema: Any) -> Any:
    """Of a schema in JSON, what the protobuf form keeps."""
    kept = {key: schema[key] for key in ("$ref", "format", "description", "type", "required") if key in schema}
    for keyword in ("items", "additionalProperties"):
        if keyword in schema:
            kept[keyword] = told(schema[keyword])
    if "properties" in schema:
        kept["properties"] = {key: told(inner) for key, inner in schema["properties"].items()}
    return kept | {"extensions": {key for key in schema if key.startswith("x-")}}


def read(body: bytes) -> Any:
    found: dict[str, Any] = {"extensions": set()}
    for number, value in fields(body):
        match number:
            case 1 | 2 | 4:
                found[{1: "$ref", 2: "format", 4: "description"}[number]] = value.decode()
            case 19:
                found.setdefault("required", []).append(value.decode())
            case 21 | 23:
                found["additionalProperties" if number == 21 else "items"] = read(fields(value)[0][1])
            case 22:
                found["type"] = fields(value)[0][1].decode()
            case 25:
                found["properties"] = {name: read(schema) for name, schema in map(named, (body for _, body in fields(value)))}
            case 31:
                found["extensions"].add(named(value)[0])
    return found


def named(body: bytes) -> tuple[str, bytes]:
    (_, name), (_, value) = fields(body)
    return name.decode(), value


def fields(body: bytes) -> list[tuple[int, bytes]]:
    """A protobuf message whose fields are all of the kind that has a length."""
    found, position = [], 0
    while position < len(body):
        tag, position = varint(body, position)
        assert tag & 7 == 2
        length, position = varint(body, position)
        found.append((tag >> 3, body[position : position + length]))
        position += length
    assert position == len(body)
    return found


def varint(body: bytes, position: int) -> tuple[int, int]:
    value, shift = 0, 0
    while True:
        byte = body[position]
        value |= (byte & 0x7F) << shift
        position, shift = position + 1, shift + 7
        if byte < 0x80:
            return value, position
