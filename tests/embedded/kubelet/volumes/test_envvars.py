"""Environment variables, commands and arguments, as in the kubelet."""

from __future__ import annotations

import base64
import time
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.embedded.kubelet.volumes.pods import Node

from traincrew.embedded.kubelet.envvars import downward_api, expansion, service_links
from traincrew.embedded.kubelet.envvars.errors import ConfigError
from traincrew.embedded.kubelet.envvars.exec_limits import MAX_STRING, MAX_TOTAL, ExecSize
from traincrew.embedded.kubelet.envvars.process_config import build_process_config
from traincrew.embedded.kubelet.envvars.variables import EnvVarSources, build_environment, expand_command
from traincrew.embedded.kubelet.images.environment import Environment
from traincrew.embedded.kubelet.pods import container_envvars

Object = dict[str, Any]
LIMIT = 1000


def pod(**spec: Any) -> Object:
    meta = {"name": "p", "namespace": "ns", "uid": "u", "labels": {"app": "a"}, "annotations": {"k/x": "y"}}
    return {"metadata": meta, "spec": {"nodeName": "n", "serviceAccountName": "sa", "containers": [{"name": "main"}], **spec}}


def service(name: str, address: str = "10.0.0.1", namespace: str = "ns", port: Object | None = None) -> Object:
    spec = {"clusterIP": address, "ports": [port or {"port": 80}]}
    return {"metadata": {"name": name, "namespace": namespace}, "spec": spec}


def environment(env: list[Object], known: EnvVarSources | None = None, **container: Any) -> dict[str, str]:
    return build_environment(pod(), {"name": "main", "env": env, **container}, known or EnvVarSources())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("$(A)", "1", id="a reference"),
        pytest.param("x$(A)y$(B)z", "x1y2z", id="several"),
        pytest.param("$$(A)", "$(A)", id="an escaped one"),
        pytest.param("$$$(A)", "$1", id="an escape before one"),
        pytest.param("$(NONE)", "$(NONE)", id="unknown ones stay"),
        pytest.param("$(A", "$(A", id="unended ones stay"),
        pytest.param("$A ${A} a$", "$A ${A} a$", id="other dollars stay"),
        pytest.param("$()", "$()", id="no name"),
        pytest.param("$(A $(A)", "$(A $(A)", id="the name goes to the first bracket"),
        pytest.param("$$$$", "$$", id="two escapes"),
    ],
)
def test_references_are_expanded_as_in_kubernetes(text: str, expected: str) -> None:
    assert expansion.expand(text, {"A": "1", "B": "2"}, LIMIT) == expected


@given(st.text(alphabet="$()AB x"), st.dictionaries(st.sampled_from("AB"), st.text(max_size=3)))
def test_expansion_reads_each_character_once(text: str, values: dict[str, str]) -> None:
    assert expansion.expand(text, values, LIMIT) == _expand_by_character(text, values)


def _expand_by_character(text: str, values: dict[str, str]) -> str:
    expanded, at = "", 0
    while at < len(text):
        following = text[at + 1 : at + 2]
        end = text.find(")", at + 2)
        if text[at] == "$" and following == "$":
            expanded, at = expanded + "$", at + 2
        elif text[at] == "$" and following == "(" and end > 0:
            name = text[at + 2 : end]
            expanded, at = expanded + values.get(name, f"$({name})"), end + 1
        elif text[at] == "$" and following:
            expanded, at = expanded + text[at : at + 2], at + 2
        else:
            expanded, at = expanded + text[at], at + 1
    return expanded


def test_variables_can_refer_to_earlier_variables_and_services() -> None:
    env = [{"name": "A", "value": "1"}, {"name": "B", "value": "$(A)$(C)$(S_SERVICE_HOST)"}, {"name": "C", "value": "3"}]
    variables = environment(env, EnvVarSources(services=[service("s")]))
    assert (variables["A"], variables["B"], variables["C"]) == ("1", "1$(C)10.0.0.1", "3")


def test_commands_and_arguments_can_refer_to_variables() -> None:
    container = {"command": ["$(A)", "$$(A)"], "args": ["$(N)"]}
    assert expand_command(container, {"A": "1"}, ExecSize()) == (("1", "$(A)"), ("$(N)",))


def test_env_from_imports_config_maps_and_secrets() -> None:
    known = EnvVarSources(
        {"c": {"data": {"a": "1", "b": "2"}}, "o": None}, {"s": {"data": {"x": base64.b64encode(b"\xff").decode()}}}
    )
    sources = [
        {"configMapRef": {"name": "c"}, "prefix": "P_"},
        {"secretRef": {"name": "s"}},
        {"configMapRef": {"name": "o", "optional": True}},
    ]
    variables = environment([{"name": "P_a", "value": "9"}], known, envFrom=sources)
    assert variables == {"P_a": "9", "P_b": "2", "x": "\udcff"}


def test_single_keys_become_variables() -> None:
    known = EnvVarSources({"c": {"data": {"a": "1"}}, "o": None}, {"s": {"data": {"x": base64.b64encode(b"2").decode()}}})
    env = [
        {"name": "A", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "a"}}},
        {"name": "B", "valueFrom": {"secretKeyRef": {"name": "s", "key": "x"}}},
        {"name": "C", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "none", "optional": True}}},
        {"name": "D", "valueFrom": {"configMapKeyRef": {"name": "o", "key": "a", "optional": True}}},
    ]
    assert environment(env, known) == {"A": "1", "B": "2"}


@pytest.mark.parametrize(
    ("origin", "message"),
    [
        ({"configMapKeyRef": {"name": "n", "key": "a"}}, 'configmap "n" not found'),
        ({"configMapKeyRef": {"name": "c", "key": "z"}}, "couldn't find key z in ConfigMap ns/c"),
        ({"secretKeyRef": {"name": "n", "key": "a"}}, 'secret "n" not found'),
        ({"secretKeyRef": {"name": "s", "key": "z"}}, "couldn't find key z in Secret ns/s"),
        ({"fieldRef": {"fieldPath": "spec.x"}}, "unsupported fieldPath: spec.x"),
        ({"resourceFieldRef": {"resource": "limits.x"}}, "unsupported container resource : limits.x"),
    ],
)
def test_missing_sources_have_the_message_of_the_kubelet(origin: Object, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        environment([{"name": "A", "valueFrom": origin}], EnvVarSources({"c": {"data": {}}}, {"s": {}}))
    assert error.value.message == message
    assert error.value.reason == "CreateContainerConfigError"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("metadata.name", "p"),
        ("metadata.namespace", "ns"),
        ("metadata.uid", "u"),
        ("metadata.labels['app']", "a"),
        ("metadata.labels['none']", ""),
        ("metadata.annotations['k/x']", "y"),
        ("metadata.labels", 'app="a"'),
        ("spec.nodeName", "n"),
        ("spec.serviceAccountName", "sa"),
        ("status.podIP", "10.1.0.2"),
        ("status.podIPs", "10.1.0.2,fd00::2"),
        ("status.hostIP", "10.2.0.1"),
        ("status.hostIPs", "10.2.0.1"),
    ],
)
def test_fields_of_the_pod_become_variables(path: str, expected: str) -> None:
    known = EnvVarSources(pod_ips=("10.1.0.2", "fd00::2"), host_ips=("10.2.0.1",))
    assert environment([{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": path}}}], known) == {"A": expected}


@pytest.mark.parametrize(
    ("resource", "divisor", "expected"),
    [
        ("limits.cpu", None, "2"),
        ("limits.cpu", "1m", "1500"),
        ("requests.cpu", "1", "1"),
        ("limits.memory", "1Mi", "100"),
        ("limits.memory", "0", str(100 << 20)),
        ("requests.memory", "1Gi", "0"),
        ("limits.ephemeral-storage", None, "7"),
        ("limits.hugepages-2Mi", "1Mi", "4"),
    ],
)
def test_resources_are_divided_and_rounded_up(resource: str, divisor: str | None, expected: str) -> None:
    container = {"name": "main", "resources": {
        "limits": {"cpu": "1500m", "memory": "100Mi", "hugepages-2Mi": "4Mi"}, "requests": {"cpu": "100m"},
    }}  # fmt: skip
    reference = {"resource": resource} | ({"divisor": divisor} if divisor is not None else {})
    assert downward_api.resource(pod(containers=[container]), reference, "main", {"ephemeral-storage": "7"}) == expected


def test_services_have_docker_link_variables() -> None:
    services = [service("my-db", port={"name": "http-x", "port": 5432, "protocol": "UDP"})]
    variables = dict(service_links.service_variables(services, "ns", True))
    assert variables == {
        "MY_DB_SERVICE_HOST": "10.0.0.1",
        "MY_DB_SERVICE_PORT": "5432",
        "MY_DB_SERVICE_PORT_HTTP_X": "5432",
        "MY_DB_PORT": "udp://10.0.0.1:5432",
        "MY_DB_PORT_5432_UDP": "udp://10.0.0.1:5432",
        "MY_DB_PORT_5432_UDP_PROTO": "udp",
        "MY_DB_PORT_5432_UDP_PORT": "5432",
        "MY_DB_PORT_5432_UDP_ADDR": "10.0.0.1",
    }


def test_only_services_of_the_namespace_and_the_api_server_have_variables() -> None:
    known = EnvVarSources(services=[
        service("own"), service("headless", "None"), service("other", namespace="elsewhere"),
        service("kubernetes", "10.96.0.1", "default"),
    ])  # fmt: skip
    linked = build_environment(pod(enableServiceLinks=True), {"name": "main"}, known)
    assert {name for name in linked if name.endswith("_HOST")} == {"OWN_SERVICE_HOST", "KUBERNETES_SERVICE_HOST"}
    alone = build_environment(pod(enableServiceLinks=False), {"name": "main"}, known)
    assert {name for name in alone if name.endswith("_HOST")} == {"KUBERNETES_SERVICE_HOST"}


async def test_referenced_objects_are_read_from_the_api_server(node: Node) -> None:
    await node.config_map("c", {"a": "1"})
    container = {"name": "main", "image": "x", "envFrom": [{"configMapRef": {"name": "c"}}], "env": [
        {"name": "S", "valueFrom": {"secretKeyRef": {"name": "none", "key": "k"}}}
    ]}  # fmt: skip
    created = await node.pod(containers=[container])
    known = await container_envvars.load_sources(created, container, node.objects, EnvVarSources())
    with pytest.raises(ConfigError, match='secret "none" not found'):
        build_environment(created, container, known)
    await node.secret("none", {"k": b"v"})
    known = await container_envvars.load_sources(created, container, node.objects, EnvVarSources())
    assert {"a": "1", "S": "v"}.items() <= build_environment(created, container, known).items()


@pytest.fixture
def little_memory() -> Iterator[None]:
    """Of what a test allocates."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < 20 << 20
    finally:
        tracemalloc.stop()


TOTAL = "command, arguments and environment variables are larger than 2 MiB, the limit of Linux for a process"


@pytest.mark.usefixtures("little_memory")
def test_references_that_multiply_each_other_end_at_the_limit_of_one_variable() -> None:
    env = [{"name": "A0", "value": "x" * 10}]
    env += [{"name": f"A{level}", "value": f"$(A{level - 1})" * 10} for level in range(1, 7)]
    with pytest.raises(ConfigError, match=r'^environment variable "A5" is larger than 128 KiB, the limit of Linux') as raised:
        environment(env)
    assert raised.value.reason == "CreateContainerConfigError"


@pytest.mark.usefixtures("little_memory")
def test_all_variables_together_end_at_the_limit_of_a_process() -> None:
    env = [{"name": "A", "value": "x" * 100_000}, *({"name": f"B{index}", "value": "$(A)"} for index in range(500))]
    with pytest.raises(ConfigError, match=TOTAL):
        environment(env)
    known = EnvVarSources({"c": {"data": {f"k{index}": "x" * 1_000 for index in range(1_000)}}})
    sources = [{"configMapRef": {"name": "c"}, "prefix": f"P{index}_"} for index in range(200)]
    with pytest.raises(ConfigError, match=TOTAL):
        environment([], known, envFrom=sources)
    with pytest.raises(ConfigError, match=TOTAL):
        environment([], known, envFrom=[{"configMapRef": {"name": "c"}}] * 1_000)


@pytest.mark.usefixtures("little_memory")
def test_the_variables_of_services_end_at_the_limit_of_a_process() -> None:
    ports = [{"port": number, "name": f"p{number}"} for number in range(1, 2_001)]
    many = [{**service(f"s{index}"), "spec": {"clusterIP": "10.0.0.1", "ports": ports}} for index in range(100)]
    with pytest.raises(ConfigError, match=TOTAL):
        environment([], EnvVarSources(services=many))
    alone = build_environment(pod(enableServiceLinks=False), {"name": "main"}, EnvVarSources(services=many))
    assert alone == {}


@pytest.mark.usefixtures("little_memory")
def test_arguments_end_at_the_limits_together_with_variables() -> None:
    variables = {"A": "x" * 100_000}
    long = {"args": ["a", "$(A)$(A)"]}
    with pytest.raises(ConfigError, match=r"^args\[1\] is larger than 128 KiB"):
        build_process_config(long, Environment(), variables, {})
    with pytest.raises(ConfigError, match=TOTAL):
        build_process_config({"command": ["$(A)"] * 500}, Environment(), variables, {})
    with pytest.raises(ConfigError, match=TOTAL):
        build_process_config({"command": ["a"]}, Environment(), {f"A{index}": "x" * 100_000 for index in range(30)}, {})


def test_what_linux_accepts_is_accepted() -> None:
    longest = "x" * (MAX_STRING - len("A=") - 1)
    assert environment([{"name": "A", "value": longest}]) == {"A": longest}
    with pytest.raises(ConfigError, match="larger than 128 KiB"):
        environment([{"name": "A", "value": f"{longest}x"}])
    many = {f"A{index:02}": "x" * (MAX_TOTAL // 20 - 20) for index in range(20)}
    assert build_process_config({"command": ["a"]}, Environment(), many, {}).env.items() >= many.items()


@pytest.mark.parametrize("text", ["$(" * 45_000, "$(a)" + "$(" * 45_000, "$" * 100_000, "$(" * 45_000 + ")"])
def test_expansion_reads_references_without_end_once(text: str) -> None:
    """Not once for each. That took nine seconds."""
    started = time.process_time()
    expansion.expand(text, {}, len(text))
    assert time.process_time() - started < 2
