"""Exit codes and messages of commands on a cluster that lacks something: an API server of the test stands for it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import pathlib
import sys
from collections.abc import AsyncIterator

from aiohttp import test_utils, web

KUBECONFIG = {
    "apiVersion": "v1",
    "kind": "Config",
    "current-context": "c",
    "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    "users": [{"name": "u", "user": {}}],
}
Codes = dict[str, int]
"""The status code of each resource by its plural. All others are not found."""


def status(code: int, reason: str, message: str) -> web.Response:
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": message}
    return web.json_response(body, status=code)


@contextlib.asynccontextmanager
async def api_server(path: pathlib.Path, codes: Codes) -> AsyncIterator[str]:
    """Yields the path of a kubeconfig."""

    async def respond(request: web.Request) -> web.Response:
        group, plural = request.path.split("/")[2], request.path.rpartition("/")[2]
        code = 404 if group == "metrics.k8s.io" else codes.get(plural, 404)
        if code == 200:
            return web.json_response({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": []})
        return status(code, "InternalError" if code == 500 else "NotFound", f"{plural}: etcd is on fire")

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", respond)
    async with test_utils.TestServer(application) as server:
        _write_kubeconfig(path, str(server.make_url("")).rstrip("/"))
        yield str(path)


def _write_kubeconfig(path: pathlib.Path, server: str) -> None:
    path.write_text(json.dumps({**KUBECONFIG, "clusters": [{"name": "c", "cluster": {"server": server}}]}))


async def traincrew(*arguments: str) -> tuple[int, str, str]:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "traincrew.cli.main", *arguments, stdout=pipe, stderr=pipe
    )
    out, err = await process.communicate()
    return process.returncode or 0, out.decode(), err.decode()


async def test_a_cluster_without_our_crds_is_no_invalid_input(tmp_path: pathlib.Path) -> None:
    async with api_server(tmp_path / "config", {"pods": 200}) as kubeconfig:
        code, _, err = await traincrew("ls", "-A", "--kubeconfig", kubeconfig)
    assert (code, "error: the cluster has no CRDs of training jobs" in err) == (1, True)


async def test_an_api_server_that_fails_is_not_taken_for_a_cluster_without_metrics(tmp_path: pathlib.Path) -> None:
    jobs = dict.fromkeys(("pytorchjobs", "tfjobs", "mpijobs", "xgboostjobs", "paddlejobs", "jaxjobs", "pods"), 200)
    with_pods = {**jobs, "nodes": 500}
    async with api_server(tmp_path / "config", with_pods) as kubeconfig:
        code, out, err = await traincrew("top", "--kubeconfig", kubeconfig)
    text = " ".join((out + err).split())
    assert code == 0
    assert "nodes cannot be read, these columns are empty: nodes: etcd is on fire" in text
    assert "The cluster does not serve pods.metrics.k8s.io: install metrics-server to see CPU and memory." in text
