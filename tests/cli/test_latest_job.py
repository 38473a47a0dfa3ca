"""Verbs that show a job take the one that was created last, if the user names none; what they import stays small."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest
from tests.cli.cluster_fixture import JobCluster, write_manifests
from tests.cluster import manifests

from traincrew.cli.local_cluster import image_mappings
from traincrew.embedded.kubelet.images import image_map_files
from traincrew.embedded.kubelet.images.image_map import ImageMapEntry, MountEntry


async def test_without_a_name_the_latest_job_is_shown_and_named(job_cluster: JobCluster, tmp_path: pathlib.Path) -> None:
    code, _, err = await job_cluster("why")
    assert (code, "error: no jobs found in namespace" in err) == (2, True), err
    await job_cluster("run", "--detach", write_manifests(tmp_path, manifests.job("PyTorchJob", Master=1, Worker=1)))
    for verb in ("why", "describe"):
        code, out, err = await job_cluster(verb)
        assert (code, err) == (0, "No job is named: this is pytorchjob/j, which was created last.\n")
        assert out.splitlines()[0].split(":")[0].split("/")[-1].split()[-1] == "j"


@pytest.mark.parametrize("module", ["inspection", "log_printer", "job_watch", "stacks", "submit", "usage_query", "file_copy"])
def test_aiohttp_is_imported_without_the_certificates_of_the_system(module: str) -> None:
    code = (
        f"import traincrew.cli.jobs.{module}, aiohttp.connector as c; print(c._SSL_CONTEXT_VERIFIED.cert_store_stats()['x509'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"


def test_the_list_of_images_counts_what_a_mapping_adds() -> None:
    mounts = (MountEntry("/data", "/data", True),)
    entry = ImageMapEntry(
        "team/train", environment="/opt/env", mounts=mounts, command=("python",), variables={"A": "1", "B": "2"}
    )
    found = [(image_map_files.user_path(), entry), (image_map_files.user_path(), ImageMapEntry("x", workdir="/w"))]
    _, first, second = image_mappings.table(found).splitlines()
    assert first.split(maxsplit=2) == ["team/train", "/opt/env", "1 mount, 2 variables, command"]
    assert second.split(maxsplit=2) == ["x", "(default)", "working directory"]
    assert image_mappings.table(found[:1], wide=True).endswith("mount /data at /data (read-only), command python, A=1, B=2")
