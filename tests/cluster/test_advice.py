"""Values that are accepted but probably a mistake are reported by an event, since a CRD cannot return warnings."""

from __future__ import annotations

import pytest
from tests.cluster import manifests
from tests.cluster.api import Api, eventually

pytestmark = pytest.mark.usefixtures("operator")


@pytest.mark.checklist(24)
def test_a_deprecated_field_is_reported_by_an_event(api: Api, namespace: str) -> None:
    api.create(namespace, manifests.job("PyTorchJob", Worker=1, spec={"elasticPolicy": {"nProcPerNode": 2}}))

    assert "nProcPerNode" in advice(api, namespace)


def test_more_processes_than_slots_are_reported_by_an_event(api: Api, namespace: str) -> None:
    launcher = manifests.replicas("MPIJob", 1, command=["horovodrun", "-np", "4", "python", "train.py"])
    api.create(namespace, manifests.job("MPIJob", Launcher=launcher, Worker=2))

    assert "starts 4 processes, but the job has 2 slots" in advice(api, namespace)


def advice(api: Api, namespace: str) -> str:
    def message() -> str:
        return "; ".join(event["message"] for event in api.events(namespace, "j") if event["reason"] == "Advice")

    said: str = eventually(message)
    return said
