"""Logs of deleted pods belong to one job, also if an earlier job had its name."""

from __future__ import annotations

import pathlib

from traincrew.apimachinery import times
from traincrew.embedded.kubelet.logs import kept_pod, log_directory
from traincrew.inspection import log_files
from traincrew.kinds import KINDS
from traincrew.model import meta

JAX = next(kind for kind in KINDS if kind.singular == "jaxjob")
MPI = next(kind for kind in KINDS if kind.singular == "mpijob")
CREATED = "2026-01-02T03:04:05"
"""As the API server has it; it was half a second later."""


def keep(root: pathlib.Path, pod: str, began: str, kind: str, uid: str) -> None:
    directory = log_directory.pod_directory(root, "ns", pod, f"u-{pod}-{uid}")
    (directory / "main").mkdir(parents=True)
    (directory / "main" / "0.log").write_text(f"{began} stdout F text\n")
    if kind:
        owner = {"kind": kind, "uid": uid, "controller": True}
        kept_pod.create(directory, {"metadata": {"ownerReferences": [owner]}})


def job(uid: str) -> meta.Meta:
    return meta.Meta(name="mnist", namespace="ns", uid=uid, creation_timestamp=times.parse(f"{CREATED}Z"))


def test_a_pod_of_a_deleted_job_of_the_same_second_is_not_of_its_successor(tmp_path: pathlib.Path) -> None:
    keep(tmp_path, "mnist-worker-0", f"{CREATED}.100000000Z", "JAXJob", "earlier")
    keep(tmp_path, "mnist-worker-0", f"{CREATED}.900000000Z", "JAXJob", "present")
    keep(tmp_path, "mnist-worker-1", "", "JAXJob", "present")
    found = log_files.of_present_job(tmp_path, JAX, job("present"))
    assert [each.uid for each in found] == ["u-mnist-worker-1-present", "u-mnist-worker-0-present"]
    assert [each.uid for each in log_files.of_present_job(tmp_path, JAX, job("earlier"))] == ["u-mnist-worker-0-earlier"]


def test_a_launcher_of_a_batch_job_is_found_by_the_time_of_its_first_line(tmp_path: pathlib.Path) -> None:
    keep(tmp_path, "mnist-launcher-abcde", "2026-01-02T03:04:04.900000000Z", "Job", "b-1")
    keep(tmp_path, "mnist-launcher-fghij", f"{CREATED}.900000000Z", "Job", "b-2")
    keep(tmp_path, "mnist-worker-0", f"{CREATED}.950000000Z", "", "")  # of a kubelet that kept no owners
    found = log_files.of_present_job(tmp_path, MPI, job("present"))
    assert [each.pod for each in found] == ["mnist-launcher-fghij", "mnist-worker-0"]
