"""Network and GPUs of replicas, of a Prometheus. A server of the test stands for it: a real one has no GPUs here."""

from __future__ import annotations

import contextlib
import pathlib
from collections.abc import AsyncIterator

import pytest
import yaml
from aiohttp import test_utils, web
from tests.console import console_fixture
from tests.console.console_fixture import Machine, job
from tests.console.users import kubeconfig_with, token_of

from traincrew import errors
from traincrew.client import kubeconfig
from traincrew.client.remote import RemoteClient
from traincrew.console import prometheus
from traincrew.console.job_reader import JobAddress
from traincrew.kinds import KINDS

JAX = next(kind for kind in KINDS if kind.singular == "jaxjob")
VALUES = {"received": "1500", "sent": "20.5", "gpu": "0.5", "gpu_memory": "1048576"}


@contextlib.asynccontextmanager
async def answering(pods: list[str], queries: list[str], status: int = 200) -> AsyncIterator[str]:
    async def query(request: web.Request) -> web.Response:
        queries.append(str((await request.post())["query"]))
        found = [{"metric": {"pod": pod, "series": name}, "value": [1, value]} for pod in pods for name, value in VALUES.items()]
        if status != 200:
            return web.Response(status=status, text="<html>")
        return web.json_response({"status": "success", "data": {"resultType": "vector", "result": found}})

    application = web.Application()
    application.router.add_post("/base/api/v1/query", query)
    async with test_utils.TestServer(application) as server:
        yield str(server.make_url("/base/"))


async def test_the_network_and_the_gpus_of_each_replica_are_shown(machine: Machine, tmp_path: pathlib.Path) -> None:
    queries: list[str] = []
    pods = ["served-worker-0", "served-worker-1-of-another-job"]
    async with (
        answering(pods, queries) as address,
        console_fixture.console(machine.kubeconfig, tmp_path / "page", machine.data, prometheus=address) as browser,
    ):
        await browser.sign_in()
        await browser.create(job("served", "sleep 1000"))
        path = "jobs/default/jaxjob/served"
        found = await browser.until(f"{path}/metrics", lambda found: any(each["gpu"] for each in found["usage"]))
        (usage,) = found["usage"]
        assert (usage["replica"], usage["networkReceived"][-1], usage["networkSent"][-1]) == ("worker-0", 1500.0, 20.5)
        assert (usage["gpu"][-1], usage["gpuMemory"][-1]) == (0.5, 1048576)
        assert usage["memory"][-1] > 0  # of the metrics server
        assert found["errors"] == []
        await browser.call("DELETE", path)
    assert 'namespace="default",pod=~"served-.+"' in queries[0]


async def test_a_prometheus_that_fails_is_named_and_the_rest_is_shown(machine: Machine, tmp_path: pathlib.Path) -> None:
    async with (
        answering([], [], status=503) as address,
        console_fixture.console(machine.kubeconfig, tmp_path / "page", machine.data, prometheus=address) as browser,
    ):
        await browser.sign_in()
        await browser.create(job("alone", "sleep 1000"))
        path = "jobs/default/jaxjob/alone"
        found = await browser.until(f"{path}/metrics", lambda found: bool(found["usage"]))
        assert found["errors"] == ["Prometheus: it answers with the status 503"]
        assert found["unavailable"] == ""
        assert found["usage"][0]["gpu"] == []
        await browser.call("DELETE", path)


async def test_nothing_is_asked_for_a_user_who_may_not_list_pods(machine: Machine, tmp_path: pathlib.Path) -> None:
    config = tmp_path / "kubeconfig"
    config.write_text(yaml.safe_dump(kubeconfig_with(machine.kubeconfig, token=token_of(machine.kubeconfig, "no-rights"))))
    queries: list[str] = []
    async with (
        answering(["mnist-worker-0"], queries) as address,
        RemoteClient(kubeconfig.load(str(config)), component="test") as client,
        RemoteClient(kubeconfig.load(str(machine.kubeconfig)), component="test") as administrator,
    ):
        address_of_job = JobAddress(JAX, "default", "mnist")
        assert await prometheus.PrometheusReader(client, address).read(address_of_job) == {}
        assert queries == []
        assert set(await prometheus.PrometheusReader(administrator, address).read(address_of_job)) == {"mnist-worker-0"}


@pytest.mark.parametrize("url", ["prometheus:9090", "ftp://host", "http://", "http://host/?q=1", "http://host/#x"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(errors.SettingsError, match="--prometheus"):
        prometheus.checked(url)
