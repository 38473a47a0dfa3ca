"""The printers of objects, compared with the real API server."""

import contextlib
import datetime
import functools
import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import requests
from tests.cluster import printed_objects, printed_pods
from tests.cluster.api import Api, Object, RejectedRequest, eventually
from tests.cluster.printed_pods import PrintedObject
from tests.embedded.apiserver.printers.crd_resources import all_resources, crd, served_of

from traincrew.apimachinery import api_errors
from traincrew.apimachinery.resource_info import ResourceInfo
from traincrew.embedded.apiserver.endpoints import content_negotiation
from traincrew.embedded.apiserver.printers import tables
from traincrew.embedded.apiserver.schema import builtin_kinds

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
FAMILIES = {
    "pods": printed_pods.pods,
    "workloads": printed_objects.workloads,
    "network": printed_objects.network,
    "storage": printed_objects.storage,
    "cluster": printed_objects.cluster,
}


@pytest.mark.parametrize("family", FAMILIES)
def test_tables_have_the_same_columns_and_cells(api: Api, namespace: str, family: str) -> None:
    objects = FAMILIES[family]()
    with made(api, namespace, objects):
        for path in dict.fromkeys(each.path for each in objects):
            compare_tables(api, path.format(namespace=namespace), builtin(path))


def compare_tables(api: Api, path: str, served: ResourceInfo) -> None:
    earlier = now()
    asked = as_form(api, path, TABLE)
    later = now()
    listed = api.call("GET", path)
    kept = [msg(item) for item in listed["items"]]
    drawn = [tables.table(served, kept, include="Metadata", now=each, list_metadata={}) for each in (earlier, later)]
    assert [bare(head) for head in drawn[0]["columnDefinitions"]] == [bare(head) for head in asked["columnDefinitions"]]
    assert len(asked["rows"]) == len(kept) > 0
    for index, row in enumerate(asked["rows"]):
        ours = [each["rows"][index] for each in drawn]
        for cell, *candidates in zip(row["cells"], *(each["cells"] for each in ours), strict=True):
            assert cell in candidates, (path, row["cells"], ours[0]["cells"])
        assert ours[0].get("conditions") == row.get("conditions")


def is_empty(api: Api, path: str) -> bool:
    return bool(api.call("GET", path)["items"] == [])


def now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


def msg(item: Object) -> bytes:
    return json.dumps(item).encode()


def bare(head: Object) -> Object:
    """A column without its description, which is Kubernetes' prose."""
    return {key: value for key, value in head.items() if key != "description"}


def as_form(api: Api, path: str, accept: str) -> Any:
    response = api.session.get(api.server + path, headers={"Accept": accept}, timeout=60)
    assert response.status_code == 200, response.text
    return response.json()


def builtin(path: str) -> ResourceInfo:
    plural = path.rpartition("/")[2]
    group = path.split("/")[2] if path.startswith("/apis/") else ""
    version = path.split("/")[3] if group else "v1"
    return next(
        each for each in builtin_kinds.load().resources() if (each.group, each.version, each.plural) == (group, version, plural)
    )


@contextlib.contextmanager
def made(api: Api, namespace: str, objects: Sequence[PrintedObject]) -> Iterator[None]:
    """The objects, with their statuses; what is outside the namespace is deleted afterwards."""
    places = []
    try:
        for each in objects:
            body = json.loads(json.dumps(each.object).replace("{namespace}", namespace))
            path = each.path.format(namespace=namespace)
            place = f"{path}/{body['metadata']['name']}"
            places.append(place)
            api.call("POST", path, body)
            if each.status is not None:
                api.call("PATCH", f"{place}/status", {"status": each.status}, "application/merge-patch+json")
            if "delete" in body["metadata"].get("annotations", {}):
                api.call("DELETE", place)
        yield
    finally:
        for place in places:
            with contextlib.suppress(RejectedRequest):
                api.call("PATCH", place, {"metadata": {"finalizers": None}}, "application/merge-patch+json")
                api.call("DELETE", place, gracePeriodSeconds="0")


VALUES: list[Object] = [
    {},
    {"spec": {"text": "t", "number": 3, "fraction": 2.75, "flag": True, "none": None}},
    {"spec": {"text": 5, "number": "x", "fraction": 1e30, "flag": "no", "time": "2020-01-01T00:00:00Z"}},
    {
        "spec": {
            "text": {"b": "<", "a": [1, None]},
            "time": "never",
            "number": 2.9,
            "list": [{"n": "a", "v": 1}, {"n": "b", "v": 2}],
        }
    },
    {"spec": {"text": ["x", "y"], "time": 7, "list": [], "flag": False, "fraction": 0.00001}},
    {"spec": {"text": "", "time": "", "list": [{"n": "b", "v": {"w": True}}, {"n": 3}]}},
    {
        "spec": {
            "text": False,
            "time": "2020-01-01T00:00:00.5+02:00",
            "list": [{"n": "b"}, {"n": "b", "v": "second"}],
            "number": -1,
        }
    },
]
PATHS = {
    "text": ".spec.text", "number": ".spec.number", "fraction": ".spec.fraction", "flag": ".spec.flag", "none": ".spec.none",
    "time": ".spec.time", "first": ".spec.list[0].v", "last": ".spec.list[-1].v", "all": ".spec.list[*].v",
    "chosen": ".spec.list[?(@.n=='b')].v", "more": ".spec.list[?(@.v>1)].n", "some": ".spec.list[?(@.v)].n", "deep": "..w",
    "slice": ".spec.list[0:1].n", "both": ".spec.list[0,1].n", "name": ".metadata.name", "labels": ".metadata.labels.a",
}  # fmt: skip


def test_custom_columns_have_the_same_cells(api: Api, namespace: str) -> None:
    columns = [
        {"name": f"{name} {type}", "type": type, "jsonPath": path, "priority": index % 2}
        for index, (name, path) in enumerate(PATHS.items())
        for type in ("string", "integer", "number", "boolean", "date")
    ]
    for kind, given in (("Wcol", columns), ("Wage", None), ("Wone", [columns[0] | {"description": "Text", "format": "int32"}])):
        definition = crd(kind, given)
        (served,) = served_of(definition)
        path = f"/apis/example.com/v1/namespaces/{namespace}/{served.plural}"
        with made(api, namespace, [PrintedObject("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)]):
            eventually(functools.partial(is_empty, api, path))
            for index, value in enumerate(VALUES):
                metadata = {"name": f"w{index}", "labels": {"a": "b"} if index else {}}
                api.call("POST", path, {"apiVersion": "example.com/v1", "kind": kind, "metadata": metadata, **value})
            compare_tables(api, path, served)


def test_the_project_s_kinds_are_printed_alike(api: Api, namespace: str) -> None:
    replicas = {"Worker": {"replicas": 2, "template": {"spec": {"containers": [{"name": "jax", "image": "i"}]}}}}
    conditions = [
        {"type": type, "status": status, "lastTransitionTime": "2024-01-01T00:00:00Z"}
        for type, status in (("Created", "True"), ("Running", "False"), ("Succeeded", "True"))
    ]
    body = {"apiVersion": "kubeflow.org/v1", "kind": "JAXJob", "metadata": {"name": "j"}, "spec": {"jaxReplicaSpecs": replicas}}
    path = "/apis/kubeflow.org/v1/namespaces/{namespace}/jaxjobs"
    with made(api, namespace, [PrintedObject(path, body, {"conditions": conditions})]):
        served = next(each for each in all_resources() if each.kind == "JAXJob")
        compare_tables(api, path.format(namespace=namespace), served)


ACCEPTED = (
    "", "*/*", "text/html", "text/html,*/*", "application/*", "application/json;q=0.5,application/yaml", "garbage", TABLE,
    "application/json;as=Foo;v=v1;g=meta.k8s.io", "application/json;as=Foo;v=v1;g=meta.k8s.io,application/json",
    "application/json;as=Table;v=v2;g=meta.k8s.io,application/json", "application/json;sv=1", "application/json;stream=foo",
    "application/json;stream=watch", "application/cbor,application/json", "application/yaml;as=Table;v=v1;g=meta.k8s.io",
    "application/json;as=Table;v=v1beta1;g=meta.k8s.io", "*/*;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    "text/*;q=1,application/yaml;q=0.1,*/*;q=0.5", "application/json;as=Table", "application/cbor",
)  # fmt: skip


@pytest.mark.parametrize("header", ACCEPTED)
def test_the_same_form_is_chosen_for_an_accept_header(api: Api, namespace: str, header: str) -> None:
    for path, listed in (
        (f"/api/v1/namespaces/{namespace}/pods", content_negotiation.LIST),
        (f"/apis/kubeflow.org/v1/namespaces/{namespace}/tfjobs", ()),
    ):
        response = asked(api, path, header)
        form = chosen(header, listed)
        if isinstance(form, api_errors.StatusError):
            status = response.json()
            assert (response.status_code, status["reason"], status["message"]) == (406, form.reason, form.message)
        else:
            assert (response.status_code, response.headers["Content-Type"]) == (200, form.content_type)
            assert (f"meta.k8s.io/{form.version}" in response.text) == bool(form.kind)


def asked(api: Api, path: str, header: str) -> requests.Response:
    """A real API server that has just begun to serve a kind may say for a while that it is busy."""
    given: dict[str, Any] = {"Accept": header or None}

    def ask() -> requests.Response | None:
        found = api.session.get(api.server + path, headers=given, timeout=60)
        return None if found.status_code == 429 else found

    answer: requests.Response = eventually(lambda: (found := ask()) is not None and [found])[0]
    return answer


def chosen(header: str, listed: tuple[str, ...]) -> content_negotiation.Representation | api_errors.StatusError:
    try:
        return content_negotiation.negotiate(header, listed=listed)
    except api_errors.StatusError as rejection:
        return rejection
