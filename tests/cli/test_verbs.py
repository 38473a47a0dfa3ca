"""The verbs that look and change: ls, describe, why, scale, suspend, resume, delete; and how jobs are named."""

from __future__ import annotations

import functools
import json
import pathlib

import pytest
import yaml
from tests.cli.house import House, written
from tests.cluster import manifests

JOB = manifests.job("PyTorchJob", Master=1, Worker=2)


@pytest.fixture
async def begun(house: House, tmp_path: pathlib.Path) -> House:
    await house("run", "--detach", written(tmp_path, JOB))
    await house.run("j-master-0", "j-worker-0")
    await house.do(house.kubelet.pod, "j-worker-1")
    await house.until(lambda: "Running" in str((house.job() or {})["status"]["conditions"]))
    return house


async def test_ls_shows_state_numbers_and_restarts(begun: House) -> None:
    await begun.restart("j-worker-0")
    await begun.until(lambda: (begun.job() or {})["status"]["replicaStatuses"]["Worker"].get("active") == 1)
    code, out, _ = await begun("ls")
    assert code == 0
    assert out.splitlines()[1].split()[:5] == ["PyTorchJob", "j", "Running", "2/3", "1"]
    everywhere = (await begun("ls", "-A"))[1]
    assert begun.namespace in everywhere


async def test_ls_tells_a_namespace_that_is_not_there_from_one_without_jobs(house: House) -> None:
    code, _, err = await house("ls")
    assert (code, err) == (0, f"No jobs found in {house.namespace} namespace. Use -A for all namespaces.\n")
    for form in ("text", "json"):
        code, out, err = await house("ls", "-n", "nosuchns", "-o", form)
        assert (code, out) == (1, "")
        assert 'namespace "nosuchns" not found' in err


async def test_objects_can_be_had_as_json_and_yaml(begun: House) -> None:
    listed = json.loads((await begun("ls", "-o", "json"))[1])
    assert [each["metadata"]["name"] for each in listed["items"]] == ["j"]
    assert yaml.safe_load((await begun("describe", "j", "-o", "yaml"))[1])["kind"] == "PyTorchJob"
    assert json.loads((await begun("why", "j", "-o", "json"))[1])["job"] == f"PyTorchJob {begun.namespace}/j"


async def test_why_names_the_pod_that_has_no_node_and_what_to_do(begun: House) -> None:
    message = "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."
    await begun.do(begun.kubelet.unschedulable, "j-worker-1", message)
    await begun.until(lambda: "gpu" in str((begun.job() or {})["status"].get("why")))
    code, out, _ = await begun("why", "j")
    assert code == 0
    assert f"pod j-worker-1 cannot be scheduled: {message}" in out
    assert "traincrew up --device" in out
    assert f"worker-1: unschedulable: {message}" in out


async def test_why_names_the_jobs_that_hold_what_is_scarce(begun: House, tmp_path: pathlib.Path) -> None:
    gpus = {"limits": {"nvidia.com/gpu": "2"}}
    other = manifests.job("PyTorchJob", "greedy", Master=manifests.replicas("PyTorchJob", 1, resources=gpus))
    await begun("run", "--detach", written(tmp_path, other))
    await begun.run("greedy-master-0")
    await begun.do(begun.kubelet.unschedulable, "j-worker-1", "0/1 nodes are available: 1 Insufficient nvidia.com/gpu.")
    assert f"nvidia.com/gpu is used by job {begun.namespace}/greedy (2)" in (await begun("why", "j"))[1]


async def test_why_tells_the_first_failure_with_its_last_lines(house: House, tmp_path: pathlib.Path) -> None:
    job = manifests.job("PyTorchJob", Master=manifests.replicas("PyTorchJob", 1, "Never"))
    await house("run", "--detach", written(tmp_path, job))
    await house.run("j-master-0")
    await house.fail("j-master-0", 1, "ModuleNotFoundError: No module named 'torch'")
    await house.until(lambda: "Failed" in str((house.job() or {})["status"]["conditions"]))
    _, out, _ = await house("why", "pytorchjob/j")
    for words in ("first failure: Master 0 (pod j-master-0) exited with code 1", "Install torch", "| ModuleNotFoundError"):
        assert words in out


async def test_describe_has_everything_on_one_page(begun: House) -> None:
    code, out, _ = await begun("describe", "j")
    assert code == 0
    for words in ("j-worker-1", "waiting to be scheduled", begun.node, "SuccessfulCreatePod", "RESTART POLICY", "Running"):
        assert words in out


async def test_scale_changes_the_workers_of_kinds_with_and_without_a_scale(house: House, tmp_path: pathlib.Path) -> None:
    waits = {"suspend": True}
    jobs = (manifests.job("PyTorchJob", run=waits, Master=1, Worker=2), manifests.job("TFJob", "t", run=waits, Worker=1))
    await house("run", "--detach", written(tmp_path, *jobs, manifests.job("TFJob", "only-chief", Chief=1)))
    assert (await house("scale", "j", "3"))[:2] == (0, "pytorchjob/j scaled from 2 to 3 workers (plus 1 Master)\n")
    assert (await house("scale", "tfjob/t", "2"))[:2] == (0, "tfjob/t scaled from 1 to 2 workers\n")
    assert (house.job() or {})["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] == 3
    assert (house.job("t", "tfjobs") or {})["spec"]["tfReplicaSpecs"]["Worker"]["replicas"] == 2
    code, _, err = await house("scale", "only-chief", "2")
    assert (code, "has no workers" in err) == (2, True)


async def test_a_crew_that_cannot_follow_is_scaled_by_force_alone(begun: House) -> None:
    code, _, err = await begun("scale", "j", "5")
    assert code == 2
    for words in ("is not elastic: its 3 running pods", "traincrew suspend pytorchjob/j", "5 workers (plus 1 Master)", "--force"):
        assert words in err
    assert (await begun("scale", "j", "2"))[0] == 0
    assert (await begun("scale", "--force", "j", "5"))[:2] == (0, "pytorchjob/j scaled from 2 to 5 workers (plus 1 Master)\n")


async def test_an_elastic_job_is_scaled_within_its_bounds(house: House, tmp_path: pathlib.Path) -> None:
    job = manifests.job("PyTorchJob", spec={"elasticPolicy": {"minReplicas": 1, "maxReplicas": 3}}, Worker=2)
    await house("run", "--detach", written(tmp_path, job))
    await house.run("j-worker-0", "j-worker-1")
    assert (await house("scale", "j", "3"))[0] == 0
    for beyond in ("0", "50"):
        code, _, err = await house("scale", "j", beyond)
        assert code == 2
        assert f"allows 1 to 3 workers by its elastic policy, not {beyond}. Use --force" in err
    assert (house.job() or {})["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] == 3
    assert (await house("scale", "--force", "j", "4"))[0] == 0


async def test_a_job_that_has_ended_is_not_scaled(begun: House) -> None:
    await begun.succeed("j-master-0")
    await begun.until(lambda: "Succeeded" in str((begun.job() or {})["status"]["conditions"]))
    code, _, err = await begun("scale", "--force", "j", "3")
    assert (code, "is already finished (Succeeded)" in err) == (2, True)
    assert (begun.job() or {})["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] == 2


async def test_a_suspended_job_is_started_again(begun: House) -> None:
    assert (await begun("suspend", "j"))[:2] == (0, "pytorchjob/j suspended\n")
    assert (await begun("suspend", "j"))[:2] == (0, "pytorchjob/j is already suspended\n")
    assert "traincrew resume pytorchjob/j" in (await begun("why", "j"))[1]
    assert (await begun("resume", "j"))[:2] == (0, "pytorchjob/j resumed\n")
    assert (begun.job() or {})["spec"]["runPolicy"]["suspend"] is False
    assert (await begun("resume", "j"))[:2] == (0, "pytorchjob/j is not suspended\n")


async def test_delete_waits_until_the_pods_are_gone(begun: House) -> None:
    running = await begun.start("delete", "--wait", "j")
    assert await running.line() == "pytorchjob/j deleted\n"
    for pod in ("j-master-0", "j-worker-0"):
        await begun.until(functools.partial(_is_ending, begun, pod))
        assert running.process.returncode is None
        await begun.do(begun.kubelet.gone, pod)
    assert (await running.end())[0] == 0
    assert begun.api.names("pods", begun.namespace) == set()


async def test_all_that_have_ended_can_be_deleted(house: House, tmp_path: pathlib.Path) -> None:
    jobs = [manifests.job("PyTorchJob", name, Master=1) for name in ("done", "busy")]
    await house("run", "--detach", written(tmp_path, *jobs))
    await house.run("done-master-0", "busy-master-0")
    await house.succeed("done-master-0")
    await house.until(lambda: "Succeeded" in str((house.job("done") or {})["status"]["conditions"]))
    assert (await house("delete", "--all", "--finished"))[:2] == (0, "pytorchjob/done deleted\n")
    assert house.job("busy") is not None
    assert (await house("delete"))[0] == 2


async def test_a_name_that_several_kinds_have_asks_for_the_kind(house: House, tmp_path: pathlib.Path) -> None:
    await house("run", "--detach", written(tmp_path, JOB, manifests.job("TFJob", "j", Worker=1)))
    code, _, err = await house("why", "j")
    assert code == 2
    assert "Use tfjob/j or pytorchjob/j" in err
    assert (await house("why", "tfjobs/j"))[0] == 0


async def test_a_job_elsewhere_and_one_nearly_of_that_name_are_hinted_at(begun: House) -> None:
    await begun.do(begun.api.create, begun.namespace, manifests.job("PyTorchJob", "resnet", Master=1))
    code, _, err = await begun("why", "-n", "default", "resnet")
    assert (code, f"add -n {begun.namespace}" in err) == (2, True)
    assert "did you mean 'resnet'?" in (await begun("why", "resent"))[2]
    assert "did you mean pytorchjob/resnet?" in (await begun("why", "tfjob/resnet"))[2]


def _is_ending(house: House, pod: str) -> bool:
    return "deletionTimestamp" in (house.api.find("pods", house.namespace, pod) or {})["metadata"]
