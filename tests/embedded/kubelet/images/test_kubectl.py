"""The node's kubectl, for a pod on another machine: an exec through the API server, to the endpoints of a real kubelet."""

from __future__ import annotations

import asyncio
import json
import pathlib
from collections.abc import AsyncIterator

import pytest
import yaml
from tests.embedded.controllers.in_process_cluster import NAMESPACE, cluster
from tests.embedded.kubelet.server import streaming_apiserver
from tests.embedded.kubelet.server.conftest import authority, node, runtime
from tests.embedded.kubelet.server.nodes import Node
from tools.kube import certificates

from traincrew.embedded.apiserver.endpoints.in_process_client import InProcessClient
from traincrew.embedded.daemon import RunningCluster, run
from traincrew.embedded.kubelet.images import tools_directory
from traincrew.embedded.kubelet.images.programs import jsonpath, kubeconfig
from traincrew.model.resources import PODS

__all__ = ["authority", "node", "runtime"]


class Kubectl:
    def __init__(self, directory: pathlib.Path, config: pathlib.Path) -> None:
        self.program = tools_directory.prepare(directory).directory / "bin" / "kubectl"
        self.config = config

    async def __call__(self, *words: str, stdin: bytes = b"") -> tuple[int, bytes, bytes]:
        pipe = asyncio.subprocess.PIPE
        arguments = [str(self.program), f"--kubeconfig={self.config}", *words]
        process = await asyncio.create_subprocess_exec(*arguments, stdin=pipe, stdout=pipe, stderr=pipe)
        async with asyncio.timeout(60):
            out, message = await process.communicate(stdin)
        return process.returncode or 0, out, message


@pytest.fixture(params=[False, True], ids=["WebSocket", "SPDY"])
async def kubectl(
    request: pytest.FixtureRequest, node: Node, authority: certificates.Authority, tmp_path: pathlib.Path
) -> AsyncIterator[Kubectl]:
    """With the verb `get` for streams, and with `create` only, as launchers have it."""
    async with streaming_apiserver.serve(node, authority) as api_server:
        api_server.add("ns", "pod", "main")
        api_server.create_only = request.param
        yield Kubectl(tmp_path, api_server.kubeconfig(tmp_path / "kubeconfig"))


async def test_exec_returns_output_and_exit_code(kubectl: Kubectl) -> None:
    script = "echo out; echo err >&2; exit 3"
    result = await kubectl("exec", "pod", "-n", "ns", "--", "/bin/sh", "-c", script)
    assert result == (3, b"out\n", b"err\ncommand terminated with exit code 3\n")
    assert await kubectl("-n", "ns", "exec", "pod/pod", "-c", "main", "--", "true") == (0, b"", b"")


async def test_large_input_and_output_are_complete(kubectl: Kubectl) -> None:
    data = bytes(range(256)) * 40_000
    code, out, _ = await kubectl("exec", "-i", "pod", "--namespace=ns", "--container", "main", "--", "cat", stdin=data)
    assert code == 0
    assert out == data


async def test_without_i_the_command_has_no_input(kubectl: Kubectl) -> None:
    assert await kubectl("exec", "pod", "-nns", "--", "cat", stdin=b"unseen") == (0, b"", b"")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("exec", "pod"), b"error: pod or type/name and a command must be specified"),
        (("exec", "-it", "pod", "--", "sh"), b"this kubectl does not support terminals"),
        (("apply", "-f", "x"), b"error: unknown flag: -f"),
        (("apply",), b'error: unknown command "apply" for "kubectl"'),
        (("get", "nodes"), b'error: this kubectl supports pods only, not "nodes"'),
    ],
)
async def test_unsupported_commands_are_rejected(kubectl: Kubectl, words: tuple[str, ...], expected: bytes) -> None:
    code, out, message = await kubectl(*words)
    assert (code, out) == (1, b"")
    assert expected in message


async def test_an_unreachable_server_is_reported(kubectl: Kubectl, tmp_path: pathlib.Path) -> None:
    config = json.loads(kubectl.config.read_text())
    config["clusters"][0]["cluster"]["server"] = "https://none.invalid:1"
    kubectl.config.write_text(json.dumps(config))
    code, _, message = await kubectl("exec", "pod", "--", "true")
    assert (code, message[:34]) == (1, b"Unable to connect to the server: [")


async def test_a_connection_that_is_lost_before_the_start_of_the_command_is_reported(
    node: Node, authority: certificates.Authority, tmp_path: pathlib.Path
) -> None:
    async with streaming_apiserver.serve(node, authority) as api_server:
        api_server.add("ns", "pod", "main")
        api_server.lost_streams = 1
        kubectl = Kubectl(tmp_path, api_server.kubeconfig(tmp_path / "kubeconfig"))
        result = await kubectl("exec", "pod", "-n", "ns", "--", "touch", str(tmp_path / "started"))
    assert result == (1, b"", b"error: the connection to the API server was lost before the command was started\n")
    assert not (tmp_path / "started").exists()


@pytest.fixture
async def served(tmp_path: pathlib.Path) -> AsyncIterator[tuple[RunningCluster, InProcessClient]]:
    async with cluster(tmp_path / "cluster") as stopped:
        options = stopped.control_plane.options
    async with run(options) as serving:
        yield serving, serving.control_plane.system_client("test")


async def test_get_pods_supports_the_query_of_the_launchers_init_container(
    served: tuple[RunningCluster, InProcessClient], tmp_path: pathlib.Path
) -> None:
    serving, client = served
    for number, ready in enumerate(("True", "False", "True")):
        body = {"metadata": {"name": f"w{number}", "labels": {"job": "j"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}}
        await client.create(PODS, NAMESPACE, json.dumps({"kind": "Pod", "apiVersion": "v1", **body}).encode())
        status = {"status": {"conditions": [{"type": "Initialized", "status": "True"}, {"type": "Ready", "status": ready}]}}
        await client.patch(PODS, NAMESPACE, f"w{number}", json.dumps(status).encode(), subresource="status")
    kubectl = Kubectl(tmp_path, serving.kubeconfig)
    states = 'jsonpath={range .items[*]}{.status.conditions[?(@.type=="Ready")].status}{"\\n"}{end}'
    result = await kubectl("get", "pods", "--namespace", NAMESPACE, "--selector", "job=j", "--output", states)
    assert result == (0, b"True\nFalse\nTrue\n", b"")
    assert await kubectl("get", "pods", "-l", "job in (j),other!=x", "-o", "name") == (0, b"pod/w0\npod/w1\npod/w2\n", b"")
    _, out, _ = await kubectl("get", "pods")
    assert [line.split()[0] for line in out.decode().splitlines()] == ["NAME", "w0", "w1", "w2"]
    assert await kubectl("get", "pod", "none") == (1, b"", b'Error from server (NotFound): pods "none" not found\n')
    assert await kubectl("exec", "none", "--", "true") == (1, b"", b'Error from server (NotFound): pods "none" not found\n')
    message = await kubectl("--token=wrong", "get", "pods")
    assert message == (1, b"", b"error: You must be logged in to the server (Unauthorized)\n")


CONFIG = """
apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: eA==
    server: "https://h:6443"
  name: c
contexts:
  - name: 'x'
    context: {}
  - context:
      cluster: c
      # a comment
      namespace: team
      user: u
    name: y
current-context: y
preferences: {}
users:
- name: u
  user:
    token: it's:odd#token
"""


def test_a_kubeconfig_is_parsed_as_yaml() -> None:
    assert kubeconfig.parse(CONFIG) == yaml.safe_load(CONFIG)


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{.a.b}", "1"),
        ("x{.l[*].n}y", "xp qy"),
        ("{.l[0].n}{.l[-1].n}", "pq"),
        ('{range .l[*]}{.n}={.v}{"\\t"}{end}.', "p=true\tq=2\t."),
        ('{.l[?(@.n=="q")].v}', "2"),
        ("{.l[?(@.n!='q')].n}", "p"),
        ("{.none.such}", ""),
        ("{.a['b']}", "1"),
        (r"{.a.x\.y}", "3"),
        ("{.a}", '{"b":1,"x.y":3}'),
    ],
)
def test_templates_are_rendered_as_by_kubectl(template: str, expected: str) -> None:
    root = {"a": {"b": 1, "x.y": 3}, "l": [{"n": "p", "v": True}, {"n": "q", "v": 2}]}
    assert jsonpath.render(template, root) == expected


@pytest.mark.parametrize("template", ["{range .l[*]}x", "{end}", "{.a[b]}"])
def test_invalid_templates_are_rejected(template: str) -> None:
    with pytest.raises(ValueError, match=r"range|end|unrecognized"):
        jsonpath.render(template, {"l": [1], "a": {}})
