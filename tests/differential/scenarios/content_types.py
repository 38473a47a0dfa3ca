"""Forms of responses: Accept, pretty printing, percent-encoding, long selectors, unusual headers."""

from __future__ import annotations

from tests.differential.bodies import config_map, training_job
from tests.differential.scenario_client import ScenarioClient
from tests.differential.scenario_list import scenario

PROTOBUF = "application/vnd.kubernetes.protobuf"
ACCEPTED = (
    "application/json", "*/*", "application/*", "", "text/html", "application/xml", "application/yaml",
    "application/json;charset=utf-8", "application/xml, application/json", "text/html;q=0.9, application/yaml;q=0.5",
    "nonsense", "application/json;as=Nothing;v=v1;g=meta.k8s.io", "application/json;as=Table;v=v9;g=meta.k8s.io",
    "application/json;as=Table;v=v1;g=other", "application/json;as=Table",
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json",
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json", "application/json;stream=watch",
    "application/cbor",
)  # fmt: skip


@scenario("http")
def forms_of_an_object(p: ScenarioClient) -> None:
    p.create("configmaps", config_map("a"))
    for accepted in ACCEPTED:
        p.send("GET", p.path("configmaps", "a"), None, {"Accept": accepted})
    for accepted in ("text/html", "application/yaml", "nonsense"):
        p.send("GET", p.path("configmaps", "none"), None, {"Accept": accepted})


@scenario("http")
def forms_of_a_custom_resource(p: ScenarioClient) -> None:
    p.create("pytorchjobs", training_job("PyTorchJob", "t"))
    for accepted in (*ACCEPTED, PROTOBUF, f"{PROTOBUF},application/json", f"{PROTOBUF};q=1,application/yaml;q=0.1"):
        p.send("GET", p.path("pytorchjobs", "t"), None, {"Accept": accepted})
    p.send("POST", p.path("pytorchjobs"), b"k8s\0x", {"Content-Type": PROTOBUF})


@scenario("http")
def pretty_printed_responses(p: ScenarioClient) -> None:
    p.create("configmaps", config_map("a"))
    for pretty in ("true", "1", "false", "0", "", "maybe"):
        p.send("GET", p.path("configmaps", "a"), None, {"Accept": "application/json"}, pretty=pretty)
    p.send("GET", p.path("configmaps", "none"), pretty="true")
    p.send("GET", p.path("configmaps", "a"), None, {"User-Agent": "curl/8.0"})
    p.send("GET", p.path("configmaps", "a"), None, {"User-Agent": "Mozilla/5.0"})


@scenario("http")
def encoded_paths_and_queries(p: ScenarioClient) -> None:
    p.create("configmaps", config_map("a", labels={"k": "v"}))
    for path in ("%61", "a%20", "%2e%2e", "a%2Fb", "%zz", "a%00", "%C3%BC", "a+b", "a;b", "a,b", "a:b", "a@b"):
        p.send("GET", p.path("configmaps") + "/" + path)
    for query in (
        "labelSelector=k%3Dv", "labelSelector=k%20in%20(v)", "labelSelector=k+in+(v)", "labelSelector=%zz",
        "labelSelector=k=v&labelSelector=x=y", "fieldSelector=metadata.name%3Da", "limit=1&limit=2", "labelSelector=k%3Dv;x",
        "&&labelSelector=k%3Dv", "LABELSELECTOR=x%3Dy",
    ):  # fmt: skip
        p.send("GET", p.path("configmaps") + "?" + query)


@scenario("http")
def long_selectors(p: ScenarioClient) -> None:
    p.create("configmaps", config_map("a", labels={"k": "v500"}))
    p.list("configmaps", labelSelector=f"k in ({','.join(f'v{number}' for number in range(1000))})")
    p.list("configmaps", labelSelector=",".join(f"k!=w{number}" for number in range(1000)) + ",k")
    p.list("configmaps", fieldSelector=",".join(f"metadata.name!=x{number}" for number in range(500)) + ",metadata.name=a")


@scenario("http")
def unusual_headers(p: ScenarioClient) -> None:
    p.create("configmaps", config_map("a"))
    for headers in (
        {"Accept-Encoding": "br"},
        {"If-None-Match": '"x"'},
        {"X-Unknown": "1"},
        {"Content-Type": "text/plain"},
        {"Impersonate-User": "somebody"},
        {"Impersonate-Group": "some"},
        {"Impersonate-User": "somebody", "Impersonate-Group": "system:masters"},
    ):
        p.send("GET", p.path("configmaps", "a"), None, headers)


@scenario("http")
def anonymous_requests(p: ScenarioClient) -> None:
    p.use_token("")
    for path in (
        "/api",
        "/apis",
        "/version",
        "/healthz",
        "/readyz",
        "/openapi/v3",
        p.path("configmaps"),
        "/nothing",
        "/api/v1/nodes",
    ):
        p.send("GET", path, keep=lambda body: body if isinstance(body, dict) and body.get("kind") == "Status" else "something")
    p.use_token("nonsense")
    p.send("GET", "/api")
    p.send("POST", p.path("configmaps"), config_map("a"))
    p.send("GET", "/api", None, {"Authorization": "Basic eDp5"})
    p.send("GET", "/api", None, {"Authorization": "nonsense"})
    p.use_token("eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJ4In0.c2ln")
    p.send("GET", "/api")
