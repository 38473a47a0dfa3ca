import pytest

from traincrew.apimachinery.api_errors import StatusError
from traincrew.embedded.apiserver.endpoints import content_negotiation
from traincrew.embedded.apiserver.endpoints.content_negotiation import Representation, negotiate

TABLE = ";as=Table;v=v1;g=meta.k8s.io"
KUBECTL = f"application/json{TABLE},application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"
DISCOVERY = (
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"
)


@pytest.mark.parametrize(
    ("header", "form"),
    [
        ("", Representation()),
        ("*/*", Representation()),
        ("application/*", Representation()),
        ("application/json", Representation()),
        ("application/json;charset=utf-8", Representation()),
        ("application/json;stream=watch", Representation()),
        ("application/yaml", Representation("application/yaml")),
        ("application/json;q=0.5,application/yaml", Representation("application/yaml")),
        ("text/html,*/*;q=0.1", Representation()),
        ("application/vnd.kubernetes.protobuf,application/json", Representation()),
        ("application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json", Representation()),
        (KUBECTL, Representation(kind="Table", group="meta.k8s.io", version="v1")),
        (f"application/yaml{TABLE}", Representation("application/yaml", "Table", "meta.k8s.io", "v1")),
        (f"*/*{TABLE}", Representation(kind="Table", group="meta.k8s.io", version="v1")),
        ("application/json;as=Table;v=v2;g=meta.k8s.io,application/json", Representation()),
        ("application/json;as=Table;g=meta.k8s.io,application/json", Representation()),
        ("application/json;pretty=1", Representation(pretty=True)),
        (DISCOVERY, Representation()),
    ],
)
def test_the_preferred_served_media_type_is_chosen(header: str, form: Representation) -> None:
    assert negotiate(header) == form


@pytest.mark.parametrize(
    "header",
    [
        "application/vnd.kubernetes.protobuf", "text/html", "text/*", "garbage", "application/json;as=Foo;v=v1;g=meta.k8s.io",
        "application/json;sv=1", "application/json;stream=foo", "application/json/x", ",",
    ],
)  # fmt: skip
def test_unserved_kinds_are_rejected(header: str) -> None:
    with pytest.raises(
        StatusError, match="only the following media types are accepted: application/json, application/yaml"
    ) as caught:
        negotiate(header)
    assert (caught.value.code, caught.value.reason) == (406, "NotAcceptable")


def test_built_in_resources_are_routed_by_media_type_first() -> None:
    with pytest.raises(StatusError, match="406: Not Acceptable\n\nAvailable representations: application/json, application/yaml"):
        negotiate("text/html", listed=content_negotiation.OBJECT)
    with pytest.raises(StatusError, match=r"application/json;stream=watch"):
        negotiate("application/*", listed=content_negotiation.LIST)
    assert negotiate("text/html, */*", listed=content_negotiation.OBJECT) == Representation()


def test_a_watch_with_initial_events_is_not_a_table() -> None:
    assert negotiate(KUBECTL, content_negotiation.WATCHED_LISTS) == Representation()
    assert negotiate("*/*;as=PartialObjectMetadata;v=v1;g=meta.k8s.io", content_negotiation.WATCHED_LISTS).as_metadata


def test_aggregated_discovery_is_returned_on_request() -> None:
    form = negotiate(DISCOVERY, content_negotiation.DISCOVERY)
    assert form.content_type == "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    assert negotiate("application/json", content_negotiation.DISCOVERY).content_type == "application/json"
    with pytest.raises(StatusError):
        negotiate(f"application/json{TABLE}", content_negotiation.DISCOVERY)
