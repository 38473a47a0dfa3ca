"""Authentication of the kubelet: its token, or a client certificate of the cluster's authority."""

from __future__ import annotations

import pathlib
import ssl

import aiohttp
import multidict
import pytest
from tests.embedded.kubelet.server.nodes import Node
from tests.embedded.kubelet.server.process_runtime import ProcessRuntime
from tools.kube import certificates

from traincrew.embedded.kubelet.server import server

PATHS = ["/healthz", "/pods", "/containerLogs/ns/pod/main", "/exec/ns/pod/main", "/portForward/ns/pod", "/no/such/path"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("authorization", ["", "Bearer", "Bearer wrong", "Basic let-me-in", "Bearer let-me-in2"])
async def test_requests_without_credentials_are_rejected(node: Node, path: str, authorization: str) -> None:
    headers = {"Authorization": authorization} if authorization else {}
    async with aiohttp.ClientSession() as session, session.get(node.url + path, ssl=node.ssl, headers=headers) as response:
        assert (response.status, await response.text()) == (401, "Unauthorized")


async def test_a_request_with_two_tokens_is_rejected(node: Node) -> None:
    for tokens in (("Bearer let-me-in", "Bearer wrong"), ("Bearer wrong", "Bearer let-me-in")):
        headers = multidict.CIMultiDict([("Authorization", each) for each in tokens])
        async with aiohttp.ClientSession() as session, session.get(node.url + "/pods", ssl=node.ssl, headers=headers) as response:
            assert response.status == 400


async def test_a_valid_token_is_accepted(client: aiohttp.ClientSession) -> None:
    async with client.get("/healthz") as response:
        assert (response.status, await response.text()) == (200, "ok")
    async with client.get("/pods") as response:
        assert (await response.json())["items"] == [{"metadata": {"namespace": "ns", "name": "pod"}}]


async def test_a_client_certificate_of_the_authority_is_accepted(node: Node) -> None:
    node.ssl.load_cert_chain(*node.authority.client("kube-apiserver"))
    async with aiohttp.ClientSession() as session, session.get(node.url + "/healthz", ssl=node.ssl) as response:
        assert response.status == 200


async def test_a_client_certificate_of_another_authority_is_rejected(node: Node, tmp_path: pathlib.Path) -> None:
    (tmp_path / "other").mkdir()
    node.ssl.load_cert_chain(*certificates.Authority(tmp_path / "other").client("kube-apiserver"))
    async with aiohttp.ClientSession() as session:
        with pytest.raises((aiohttp.ClientError, ssl.SSLError)):
            await session.get(node.url + "/healthz", ssl=node.ssl)


async def test_only_the_configured_common_names_are_accepted(runtime: ProcessRuntime, authority: certificates.Authority) -> None:
    certificate, key = authority.server("kubelet")
    callers = server.KubeletAuth(names=frozenset({"kube-apiserver"}))
    context = server.tls(str(certificate), str(key), str(authority.path))
    async with server.serve(server.application(runtime, callers), "127.0.0.1", 0, context) as port:
        for name, code in (("kube-apiserver", 200), ("somebody", 401)):
            node = Node(runtime, port, authority)
            node.ssl.load_cert_chain(*authority.client(name))
            async with aiohttp.ClientSession() as session, session.get(node.url + "/healthz", ssl=node.ssl) as response:
                assert response.status == code
