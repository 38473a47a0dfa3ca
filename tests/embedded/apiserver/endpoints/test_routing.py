from __future__ import annotations

import pytest

from traincrew.apimachinery import api_errors
from traincrew.embedded.apiserver.endpoints import routing
from traincrew.embedded.apiserver.registry.resources import Registry
from traincrew.embedded.apiserver.requests import request_info
from traincrew.embedded.apiserver.requests.query_parameters import Query
from traincrew.embedded.apiserver.schema import builtin_kinds

REGISTRY = Registry(builtin_kinds.load().resources(), lambda: "")
NAMES = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}


def crd(**metadata: str) -> dict[str, object]:
    version = {"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}}
    spec = {"group": "example.com", "scope": "Namespaced", "names": NAMES, "versions": [version]}
    established = {"conditions": [{"type": "Established", "status": "True"}]}
    return {"metadata": {"name": "widgets.example.com", **metadata}, "spec": spec, "status": established}


def routed(method: str, path: str) -> str | int:
    """The verb, or the status code of the error."""
    target = request_info.parse(request_info.decoded(path.partition("?")[0]))
    assert target is not None
    served = REGISTRY.find(target.group, target.version, target.resource)
    assert served is not None
    verb = routing.verb(method, target, Query(request_info.query(path.partition("?")[2])))
    error = routing.routing_error(method, verb, target, served)
    return verb if error is None else error.code


@pytest.mark.parametrize(
    ("request_line", "expected"),
    [
        ("GET /api/v1/pods", "list"),
        ("GET /api/v1/pods?watch=1", "watch"),
        ("GET /api/v1/watch/namespaces/x/pods/a", "watch"),
        ("DELETE /api/v1/namespaces/x/pods", "deletecollection"),
        ("DELETE /api/v1/pods", 405),
        ("POST /api/v1/pods", 405),
        ("HEAD /api/v1/namespaces/x/pods/a", 405),
        ("GET /api/v1/pods/a", 404),
        ("GET /api/v1/namespaces/x/pods/a/nothing", 404),
        ("GET /api/v1/namespaces/x/pods/a%2Fstatus", "get"),
        ("GET /api/v1/namespaces/x/pods/a/log/b", 404),
        ("DELETE /api/v1/namespaces/x/pods/a/log", 405),
        ("PUT /api/v1/namespaces/x/finalize", "update"),
        ("DELETE /api/v1/namespaces", 405),
        ("GET /api/v1/namespaces/x/pods/%2e%2e", 400),
        ("GET /api/v1/namespaces/x/nodes", 404),
    ],
)
def test_built_in_resources_have_the_routes_of_kubernetes(request_line: str, expected: str | int) -> None:
    assert routed(*request_line.split()) == expected


@pytest.mark.parametrize(
    ("request_line", "expected"),
    [
        ("HEAD /apis/example.com/v1/namespaces/x/widgets/a", "get"),
        ("PUT /apis/example.com/v1/namespaces/x/widgets", 400),
        ("GET /apis/example.com/v1/widgets/a", 404),
        ("DELETE /apis/example.com/v1/namespaces/x/widgets/a/status", 405),
        ("GET /apis/example.com/v1/namespaces/x/widgets/a/scale", 404),
        ("POST /apis/example.com/v1/namespaces/x/widgets", "create"),
    ],
)
def test_custom_resources_have_the_routes_of_apiextensions(request_line: str, expected: str | int) -> None:
    REGISTRY.define(crd())
    assert routed(*request_line.split()) == expected


def test_a_terminating_definition_rejects_new_objects() -> None:
    REGISTRY.define(crd(deletionTimestamp="2001-01-01T00:00:00Z"))
    assert routed("POST", "/apis/example.com/v1/namespaces/x/widgets") == 405
    assert routed("GET", "/apis/example.com/v1/namespaces/x/widgets") == "list"


def test_malformed_percent_encoding_is_rejected_in_a_path_and_ignored_in_a_query() -> None:
    with pytest.raises(api_errors.PlainTextError):
        request_info.decoded("/api/v1/%zz")
    assert request_info.query("a=%zz&b=1;2&c=x+y&c=%20") == {"c": ["x y", " "]}
