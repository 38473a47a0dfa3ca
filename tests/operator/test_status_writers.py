"""The managed fields of a job show that a Go operator writes its status."""

from __future__ import annotations

import msgspec

from traincrew.kinds import KINDS, job_decoding
from traincrew.operator.status_writers import StatusWrite, StatusWriters

PYTORCH = next(kind for kind in KINDS if kind.kind == "PyTorchJob")


def raw(*entries: tuple[str, str, str]) -> bytes:
    """A job with managed fields: manager, subresource and second."""
    fields = [
        {"manager": manager, "subresource": part, "time": f"2030-01-01T00:00:{second}Z", "fieldsV1": {"f:status": {}}}
        for manager, part, second in entries
    ]
    meta = {"name": "j", "namespace": "default", "uid": "u", "managedFields": fields}
    return msgspec.json.encode({"metadata": meta, "spec": {"pytorchReplicaSpecs": {}}})


def reported(*versions: bytes, before: bytes | None = None) -> list[tuple[str, str]]:
    """What is reported when a store reads these versions of a job one after the other."""
    found: list[StatusWrite] = []
    writers = StatusWriters(found.append)
    read = writers.noting(PYTORCH, lambda data: job_decoding.decode_stored(PYTORCH, data))
    if before is not None:
        read(before)
    writers.started = True
    for each in versions:
        read(each)
    return [(write.operator.name, f"{write.time:%S}") for write in found]


def test_a_status_written_while_the_operator_runs_is_reported() -> None:
    before = raw(("manager", "status", "01"))
    assert reported(raw(("manager", "status", "02")), before=before) == [("training-operator", "02")]


def test_a_status_written_before_the_start_is_history() -> None:
    before = raw(("manager", "status", "01"))
    assert reported(before, raw(("manager", "status", "01"), ("traincrew", "status", "09")), before=before) == []


def test_a_job_that_was_created_and_written_later_is_reported() -> None:
    assert reported(raw(), raw(("manager", "status", "02"))) == [("training-operator", "02")]


def test_an_older_version_that_is_read_late_is_not_reported_again() -> None:
    assert len(reported(raw(("manager", "status", "05")), raw(("manager", "status", "04")))) == 1


def test_writes_of_the_spec_and_of_other_clients_are_not_reported() -> None:
    assert reported(raw(("manager", "", "02"), ("kubectl-edit", "status", "02"), ("traincrew", "status", "03"))) == []
