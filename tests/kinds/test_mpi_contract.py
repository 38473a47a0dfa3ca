"""The contract that an MPIJob requests, from its spec and from the request that created it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from traincrew.kinds.job_decoding import decode_stored
from traincrew.kinds.mpi import KIND

Object = dict[str, Any]
MARKER = {"sshAuthMountPath": "/root/.ssh"}


def requested(spec: Object, version: str = "", owned: tuple[str, ...] = (), contract: str = "") -> str:
    """version: of the request that created the job, which set an image and these fields. Empty: unknown."""
    entries = [{"apiVersion": f"kubeflow.org/{version}", "fieldsV1": {f"f:{name}": {} for name in ("image", *owned)}}]
    metadata: Object = {"name": "j", "managedFields": entries} if version else {"name": "j"}
    status = {"contract": contract} if contract else {}
    raw = msgspec.json.encode({"metadata": metadata, "spec": {"mpiReplicaSpecs": {}, **spec}, "status": status})
    return KIND.following(decode_stored(KIND, raw)[0]).version


@pytest.mark.parametrize(
    ("spec", "version", "owned", "expected"),
    [
        pytest.param({}, "", (), "v1", id="without the default of v2beta1"),
        pytest.param(MARKER, "", (), "v2beta1", id="with the default of v2beta1, by an unknown client"),
        pytest.param(MARKER, "v2beta1", ("sshAuthMountPath",), "v2beta1", id="created through v2beta1"),
        pytest.param(MARKER, "v2beta1", (), "v2beta1", id="applied on the server through v2beta1, which owns no defaults"),
        pytest.param(MARKER, "v1", (), "v1", id="created through v1, the default was added by the request of a webhook"),
        pytest.param(MARKER, "v1", ("sshAuthMountPath",), "v2beta1", id="the copy of a job of v2beta1, created through v1"),
    ],
)
def test_the_request_that_created_a_job_decides_its_contract(
    spec: Object, version: str, owned: tuple[str, ...], expected: str
) -> None:
    assert requested(spec, version, owned) == expected


def test_the_recorded_contract_precedes_the_creator() -> None:
    assert requested(MARKER, "v1", contract="v2beta1") == "v2beta1"
