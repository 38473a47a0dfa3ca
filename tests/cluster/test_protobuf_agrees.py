"""The protobuf decoder, compared with that of Kubernetes."""

from __future__ import annotations

import base64
import contextlib
import http.server
import json
import pathlib
import subprocess
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from tests.cluster import printed_objects, printed_pods
from tests.cluster.api import Api, Object
from tests.cluster.printed_pods import PrintedObject
from tests.embedded.apiserver.protobuf import protobuf_encoding
from tools.kube import build, cluster
from tools.kube import protobuf as generator

from traincrew.apimachinery.api_errors import StatusError
from traincrew.embedded.apiserver import protobuf
from traincrew.embedded.apiserver.protobuf import messages
from traincrew.embedded.apiserver.protobuf.messages import MessageType
from traincrew.embedded.apiserver.schema import builtin_kinds

EMBEDDED = pathlib.Path(__file__).parents[2] / "src" / "traincrew" / "embedded"
SEED, EACH = "11", "30"
COMMANDS = """
create configmap c --from-literal=a=b
create secret generic s --from-literal=a=b
create serviceaccount robot
create deployment d --image=i --replicas=2 --port=80
create job j --image=i -- true
create cronjob cj --image=i --schedule=*/5_*_*_*_*
create role r --verb=get,list --resource=pods --resource-name=p
create rolebinding rb --clusterrole=view --group=g
create clusterrole cr --verb=get --non-resource-url=/logs/*
create clusterrolebinding crb --clusterrole=view --user=u
create quota q --hard=pods=3,requests.memory=1.5Gi --scopes=BestEffort
create poddisruptionbudget p --selector=a=b --max-unavailable=30%
create service nodeport svc --tcp=80:81
create priorityclass pc --value=3 --preemption-policy=Never
create namespace other
auth can-i create pods --subresource=exec
auth can-i get /healthz
auth can-i --list
auth whoami
create token default --duration=1h --audience=x --bound-object-kind=Secret --bound-object-name=s --bound-object-uid=u
"""
OF_THE_MOMENT = {"uid", "creationTimestamp", "resourceVersion", "managedFields", "clusterIP", "clusterIPs", "nodePort", "token"}


def without_nulls(value: Any) -> Any:
    """What no object is kept with."""
    if isinstance(value, dict):
        return {key: without_nulls(inner) for key, inner in value.items() if inner is not None}
    return [without_nulls(each) for each in value] if isinstance(value, list) else value


def test_the_messages_are_those_of_the_proto_files() -> None:
    known = json.loads((EMBEDDED / "apiserver" / "schema" / "builtins.json").read_text())
    assert generator.generate(generator.sources(), known) == json.loads(
        (EMBEDDED / "apiserver" / "protobuf" / "messages.json").read_text()
    )


@pytest.fixture(scope="module")
def filled() -> list[tuple[bytes, Object]]:
    """Objects of all kinds with their fields filled at random, in protobuf and as JSON."""
    kinds = [name if "/" in name else f"v1/{name}" for name in messages.load().kinds]
    command = ["go", "run", "./gofilled", SEED, EACH, *kinds]
    printed = subprocess.run(command, cwd=build.modules("kube-apiserver"), capture_output=True, text=True, check=True)
    lines = [json.loads(line) for line in printed.stdout.splitlines()]
    assert len(lines) == len(kinds) * int(EACH)
    return [(base64.b64decode(line["protobuf"]), line["json"]) for line in lines]


def test_every_field_of_every_kind_is_read_as_its_json_says(filled: list[tuple[bytes, Object]]) -> None:
    met: set[tuple[str, str]] = set()
    for sent, wanted in filled:
        api_version, kind, found = protobuf.decode(sent, "", "")
        assert without_nulls(found) == without_nulls(wanted)
        note(met, f"{api_version}/{kind}", found)
    assert {each for each in every_field() if each not in met} == set()


def every_field() -> Iterator[tuple[str, str]]:
    catalog = messages.load()
    for name, rows in catalog.messages.items():
        if catalog.message(name).finish is None and not name.startswith("pkg.runtime."):
            yield from ((name, row[1]) for row in rows if row[2] != "inline")


def note(met: set[tuple[str, str]], kind: str, found: Object) -> None:
    catalog = messages.load()
    names = {id(message): name for name, message in catalog.built.items()}

    def walk(message: MessageType, value: Any) -> None:
        for field in message.fields.values():
            if field.mode == "inline":
                walk(catalog.message(field.type), value)
            elif field.name in value:
                met.add((names[id(message)], field.name))
                inner = value[field.name]
                for each in inner if field.mode == "repeated" else inner.values() if field.mode == "map" else [inner]:
                    if field.form is not None and isinstance(each, dict):
                        walk(SCHEMA if "JSONSchemaProps" in field.type else field.form, each)

    SCHEMA = catalog.message("apiextensions.v1.JSONSchemaProps")
    message = catalog.kind(*kind.rsplit("/", 1))
    assert message is not None
    walk(message, found)


FAMILIES = (
    printed_pods.pods, printed_objects.workloads, printed_objects.network, printed_objects.storage, printed_objects.cluster,
)  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: str(family.__name__))
def test_objects_of_an_api_server_are_the_same_in_both_forms(api: Api, namespace: str, family: Any) -> None:
    objects: list[PrintedObject] = family()
    for each in objects:
        made = json.loads(json.dumps(each.object).replace("{namespace}", namespace))
        path = each.path.format(namespace=namespace)
        answers = [
            posted(api, path, json.dumps(made).encode(), "application/json", accept) for accept in (protobuf.MEDIA_TYPE, JSON)
        ]
        found = protobuf.decode(answers[0], "", "")[2]
        assert lasting(found) == lasting(without_nulls(json.loads(answers[1])))


def test_whatever_an_api_server_has_is_the_same_in_both_forms(api: Api) -> None:
    compared = set()
    for served in builtin_kinds.load().resources():
        if "list" in served.verbs:
            path = f"/{'apis' if served.group else 'api'}/{served.api_version}/{served.plural}"
            listed = protobuf.decode(got(api, path, protobuf.MEDIA_TYPE), "", "")[2]
            wanted = without_nulls(json.loads(got(api, path, JSON)))
            known = {each["metadata"]["uid"]: each for each in listed.get("items", ())}
            for each in wanted["items"]:
                other = known.get(each["metadata"]["uid"])
                if other is not None and other["metadata"]["resourceVersion"] == each["metadata"]["resourceVersion"]:
                    assert other == each
                    compared.add(served.plural)
    assert {"namespaces", "clusterroles", "services"} <= compared, (
        "objects may change between the two requests, but not all of them"
    )


JSON = "application/json"


def got(api: Api, path: str, accept: str) -> bytes:
    response = api.session.get(api.server + path, headers={"Accept": accept}, timeout=60)
    assert response.status_code == 200, response.text
    return response.content


def posted(api: Api, path: str, body: bytes, content: str, accept: str) -> bytes:
    headers = {"Accept": accept, "Content-Type": content}
    response = api.session.post(api.server + path, data=body, headers=headers, params={"dryRun": "All"}, timeout=60)
    assert response.status_code in (200, 201), response.text
    return response.content


def lasting(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: lasting(inner)
            for key, inner in value.items()
            if key not in OF_THE_MOMENT and not key.endswith(("imestamp", "-uid"))
        }
    return [lasting(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", protobuf_encoding.REJECTED)
def test_malformed_bodies_are_rejected_in_the_same_message(api: Api, name: str) -> None:
    response = api.session.post(
        f"{api.server}/api/v1/namespaces/default/configmaps",
        data=protobuf_encoding.REJECTED[name],
        headers={"Content-Type": protobuf.MEDIA_TYPE},
        params={"dryRun": "All"},
        timeout=60,
    )
    with pytest.raises(StatusError) as refused:
        protobuf.decode(protobuf_encoding.REJECTED[name], "v1", "ConfigMap")
    assert refused.value.status() == response.json()


@pytest.mark.parametrize("name", protobuf_encoding.ACCEPTED)
def test_unusual_bodies_become_the_same(api: Api, name: str) -> None:
    path, body = "/api/v1/namespaces/default/configmaps", protobuf_encoding.ACCEPTED[name]
    found = protobuf.decode(body, "v1", "ConfigMap")[2]
    answer = without_nulls(json.loads(posted(api, path, body, protobuf.MEDIA_TYPE, JSON)))
    found["metadata"].setdefault("namespace", "default")
    assert lasting(answer) == lasting(found)


def test_what_kubectl_sends_does_the_same_as_json(kube: cluster.Cluster, api: Api, namespace: str) -> None:
    with recording(api) as (address, seen):
        for line in COMMANDS.strip().splitlines():
            words = [word.replace("_", " ") if "schedule" in word else word for word in line.split(" ")]
            dry = ["--dry-run=server"] if words[0] == "create" and words[1] != "token" else []
            at = words.index("--") if "--" in words else len(words)
            kube.kubectl("--server", address, "-n", namespace, *words[:at], *dry, *words[at:])
    assert len(seen) == len(COMMANDS.strip().splitlines())
    for path, body in seen:
        found = protobuf.decode(body, "", "")[2]
        answers = [sent(api, path, body, protobuf.MEDIA_TYPE), sent(api, path, json.dumps(found).encode(), JSON)]
        assert sorted_rules(lasting(answers[0])) == sorted_rules(lasting(answers[1]))


def sorted_rules(answer: Object) -> Object:
    """A review of rules has them in no order."""
    for rules in ("resourceRules", "nonResourceRules"):
        if rules in answer.get("status", {}):
            answer["status"][rules].sort(key=json.dumps)
    return answer


def sent(api: Api, path: str, body: bytes, content: str) -> Object:
    headers = {"Content-Type": content}
    response = api.session.post(api.server + path, data=body, headers=headers, params={"dryRun": "All"}, timeout=60)
    found: Object = response.json()
    return found


@contextlib.contextmanager
def recording(api: Api) -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
    """The address of a server that passes everything on, and the paths and bodies of what came in protobuf."""
    seen: list[tuple[str, bytes]] = []

    class Passing(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if self.headers.get("Content-Type") == protobuf.MEDIA_TYPE:
                seen.append((self.path.partition("?")[0], body))
            headers = {name: self.headers[name] for name in ("Accept", "Content-Type") if name in self.headers}
            answer = api.session.request(self.command, api.server + self.path, data=body or None, headers=headers, timeout=60)
            self.send_response(answer.status_code)
            self.send_header("Content-Type", answer.headers.get("Content-Type", ""))
            self.send_header("Content-Length", str(len(answer.content)))
            self.end_headers()
            self.wfile.write(answer.content)

        do_POST = do_GET

        def log_message(self, *arguments: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Passing)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", seen
    finally:
        server.shutdown()
        server.server_close()
