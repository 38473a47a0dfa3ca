from collections.abc import Iterator
from typing import Any

from tests.embedded.apiserver.printers.crd_resources import all_resources, crd, served_of

from traincrew.apimachinery.unstructured import Object
from traincrew.embedded.apiserver.discovery import version_priority
from traincrew.embedded.apiserver.openapi import crds, documents, gnostic, v2
from traincrew.embedded.apiserver.schema import builtin_kinds

DEFINITIONS = builtin_kinds.load().definitions


def every_document() -> Iterator[Object]:
    for group, versions in version_priority.groups(all_resources()).items():
        for version in versions:
            document = documents.document(all_resources(), group, version, DEFINITIONS)
            assert document is not None
            yield document


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


def test_every_reference_resolves() -> None:
    for document in every_document():
        known = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
        assert set(references(document)) <= known
    older = v2.document(all_resources(), DEFINITIONS)
    assert set(references(older)) <= {f"#/definitions/{name}" for name in older["definitions"]}


def test_every_patchable_resource_documents_field_validation() -> None:
    for document in every_document():
        patches = [item["patch"] for item in document["paths"].values() if "patch" in item]
        patches = [patch for patch in patches if patch["x-kubernetes-action"] != "connect"]
        for patch in patches:
            names = {parameter["name"] for parameter in patch["parameters"]}
            assert {"fieldValidation", "dryRun", "fieldManager", "force"} <= names
            assert patch["x-kubernetes-group-version-kind"]["kind"]
    jobs = documents.document(all_resources(), "kubeflow.org", "v1", DEFINITIONS)
    assert jobs is not None
    assert "patch" in jobs["paths"]["/apis/kubeflow.org/v1/namespaces/{namespace}/tfjobs/{name}"]


def test_operation_ids_are_unique() -> None:
    for document in every_document():
        names = [
            operation["operationId"]
            for item in document["paths"].values()
            for method, operation in item.items()
            if method != "parameters"
        ]
        assert len(names) == len(set(names))


def test_the_index_lists_every_document_and_changes_with_a_definition() -> None:
    index = documents.index(all_resources())["paths"]
    assert index["api/v1"]["serverRelativeURL"].startswith("/openapi/v3/api/v1?hash=")
    assert "apis/kubeflow.org/v2beta1" in index
    one, other = served_of(crd("Widget")), served_of(crd("Widget", schema={"type": "object"}))
    assert documents.digest(one, "example.com", "v1") != documents.digest(other, "example.com", "v1")
    assert documents.digest(one, "example.com", "v1") == documents.digest(served_of(crd("Widget")), "example.com", "v1")


def test_an_embedded_resource_has_the_fields_of_every_object() -> None:
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
    assert "apiVersion" not in inner["properties"]  # the definition itself is not changed


def test_the_protobuf_form_is_equivalent_to_the_json_form() -> None:
    document = v2.document(all_resources(), DEFINITIONS)
    (definitions,) = [body for number, body in fields(gnostic.encode(document)) if number == 9]
    decoded = dict(named(body) for _, body in fields(definitions))
    assert decoded.keys() == document["definitions"].keys()
    for name, schema in document["definitions"].items():
        assert read(decoded[name]) == protobuf_subset(schema), name


def protobuf_subset(schema: Any) -> Any:
    """The part of a JSON schema that the protobuf form keeps."""
    kept = {key: schema[key] for key in ("$ref", "format", "description", "type", "required") if key in schema}
    for keyword in ("items", "additionalProperties"):
        if keyword in schema:
            kept[keyword] = protobuf_subset(schema[keyword])
    if "properties" in schema:
        kept["properties"] = {key: protobuf_subset(inner) for key, inner in schema["properties"].items()}
    return kept | {"extensions": {key for key in schema if key.startswith("x-")}}


def read(body: bytes) -> Any:
    decoded: dict[str, Any] = {"extensions": set()}
    for number, value in fields(body):
        match number:
            case 1 | 2 | 4:
                decoded[{1: "$ref", 2: "format", 4: "description"}[number]] = value.decode()
            case 19:
                decoded.setdefault("required", []).append(value.decode())
            case 21 | 23:
                decoded["additionalProperties" if number == 21 else "items"] = read(fields(value)[0][1])
            case 22:
                decoded["type"] = fields(value)[0][1].decode()
            case 25:
                decoded["properties"] = {name: read(schema) for name, schema in map(named, (body for _, body in fields(value)))}
            case 31:
                decoded["extensions"].add(named(value)[0])
    return decoded


def named(body: bytes) -> tuple[str, bytes]:
    (_, name), (_, value) = fields(body)
    return name.decode(), value


def fields(body: bytes) -> list[tuple[int, bytes]]:
    """Decodes a protobuf message with length-delimited fields only."""
    result, position = [], 0
    while position < len(body):
        tag, position = varint(body, position)
        assert tag & 7 == 2
        length, position = varint(body, position)
        result.append((tag >> 3, body[position : position + length]))
        position += length
    assert position == len(body)
    return result


def varint(body: bytes, position: int) -> tuple[int, int]:
    value, shift = 0, 0
    while True:
        byte = body[position]
        value |= (byte & 0x7F) << shift
        position, shift = position + 1, shift + 7
        if byte < 0x80:
            return value, position
