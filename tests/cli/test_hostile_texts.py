"""Texts of others in the output of the CLI: control characters are shown and not obeyed, JSON and YAML are unchanged."""

from __future__ import annotations

import json
import pathlib
import re

import pytest
import yaml
from tests.cli.cluster_fixture import JobCluster, write_manifests
from tests.cluster import manifests

HOSTILE = "ring\x07 \x1b]0;title\x07\x1b[2J\x9b31m \u202egnp.exe\r"
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.fixture
async def hostile_job(job_cluster: JobCluster, tmp_path: pathlib.Path) -> JobCluster:
    """A job whose pod waits with a hostile reason."""
    await job_cluster("run", "--detach", write_manifests(tmp_path, manifests.job("PyTorchJob", Master=1)))
    await job_cluster.do(job_cluster.kubelet.unschedulable, "j-master-0", HOSTILE)
    await job_cluster.until(lambda: "ring" in str((job_cluster.job() or {})["status"].get("why")))
    return job_cluster


@pytest.mark.parametrize("command", [["ls"], ["ls", "-o", "wide"], ["why", "j"], ["describe", "j"]], ids=" ".join)
async def test_a_terminal_does_not_obey_the_text_of_a_pod(hostile_job: JobCluster, command: list[str]) -> None:
    code, out, err = await hostile_job(*command)
    assert (code, err) == (0, "")
    assert "ring^G ^[]0;title" in out
    assert OBEYED.findall(out) == []


async def test_documents_for_programs_are_unchanged(hostile_job: JobCluster) -> None:
    for command in (["ls", "-o", "json"], ["describe", "j", "-o", "json"], ["why", "j", "-o", "json"]):
        assert HOSTILE in _strings(json.loads((await hostile_job(*command))[1]))
    assert HOSTILE in _strings(yaml.safe_load((await hostile_job("describe", "j", "-o", "yaml"))[1]))


def _strings(value: object) -> str:
    """All strings of a document, one after the other."""
    if isinstance(value, dict):
        return "".join(_strings(each) for each in value.values())
    if isinstance(value, list):
        return "".join(_strings(each) for each in value)
    return str(value)


async def test_an_error_of_the_server_is_not_obeyed(job_cluster: JobCluster) -> None:
    code, _, err = await job_cluster("why", "\x1b[2Jj")
    assert code != 0
    assert OBEYED.findall(err) == []
