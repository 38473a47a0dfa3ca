"""An operator on a cluster without CRDs: it names them, and the command that installs them."""

from __future__ import annotations

import asyncio
import pathlib

import msgspec
import pytest
from tests.cluster.manifests import job
from tests.operator.operator_cluster import Cluster, cluster
from tests.operator.virtual_time import in_virtual_time

from traincrew.kinds import KINDS
from traincrew.model.resources import CRDS
from traincrew.operator.run import Operator
from traincrew.validation import crds
from traincrew.validation.crd_install_command import INSTALL

PYTORCH = "pytorchjobs.kubeflow.org"
ALL = ", ".join(sorted(f"{kind.plural}.kubeflow.org" for kind in KINDS))


class Running:
    """An operator whose readiness can be asked for."""

    def __init__(self, on: Cluster) -> None:
        self.operator: Operator = on.new_operator(on.faulty_client())
        self._stop = asyncio.Event()
        self._task = asyncio.create_task(self.operator.run(self._stop))

    async def stop(self) -> None:
        self._stop.set()
        await self._task


async def uninstall(on: Cluster, *names: str) -> None:
    for name in names:
        await on.client.delete(CRDS, None, name)
        await on.client.patch(CRDS, None, name, b'{"metadata":{"finalizers":null}}')


def reports(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    records = [record for record in caplog.records if record.message == "CRDs are not installed"]
    return [(vars(record)["crds"], vars(record)["remedy"]) for record in records]


@in_virtual_time
async def test_without_crds_the_operator_names_them_and_the_command(
    tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with cluster(tmp_path) as on:
        await uninstall(on, *ALL.split(", "))
        running = Running(on)
        await asyncio.sleep(600)
        reason = running.operator.unready_reason()
        await running.stop()
    assert ALL in reason
    assert INSTALL in reason
    (report,) = reports(caplog)
    assert report[0] == ALL
    assert INSTALL in report[1]


@in_virtual_time
async def test_crds_deleted_while_the_operator_runs_make_it_unready_until_they_are_back(
    tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with cluster(tmp_path) as on:
        running = Running(on)
        await on.create(job("PyTorchJob", Master=1))
        await asyncio.sleep(5)
        assert running.operator.unready_reason() == ""
        await uninstall(on, PYTORCH)
        await asyncio.sleep(5)
        assert f"CRDs are not installed: {PYTORCH}. " in running.operator.unready_reason()
        assert [names for names, _ in reports(caplog)] == [PYTORCH]
        assert list(running.operator.observer.jobs["pytorchjobs"]) == [], "a job whose kind is gone is gone"
        definition = next(each for each in crds.crds() if each["metadata"]["name"] == PYTORCH)
        await on.client.create(CRDS, None, msgspec.json.encode(definition))
        await asyncio.sleep(30)
        assert running.operator.unready_reason() == ""
        await on.create(job("PyTorchJob", "again", Master=1))
        await asyncio.sleep(5)
        assert "again-master-0" in await on.pods()
        await running.stop()


@in_virtual_time
async def test_an_operator_is_ready_on_a_cluster_with_some_of_the_crds(tmp_path: pathlib.Path) -> None:
    async with cluster(tmp_path) as on:
        await uninstall(on, PYTORCH)
        running = Running(on)
        await asyncio.sleep(60)
        assert running.operator.unready_reason() == ""
        (notice,) = running.operator.notices()
        assert notice.startswith(f"CRDs are not installed: {PYTORCH}. ")
        definition = next(each for each in crds.crds() if each["metadata"]["name"] == PYTORCH)
        await on.client.create(CRDS, None, msgspec.json.encode(definition))
        await asyncio.sleep(60)
        assert running.operator.notices() == []
        await running.stop()
