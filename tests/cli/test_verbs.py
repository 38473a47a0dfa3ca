"""ls, describe, why, scale, suspend, resume, delete, and job references."""

from __future__ import annotations

import functools
import json
import pathlib

import pytest
import yaml
from tests.cli.cluster_fixture import JobCluster, write_manifests
from tests.cluster import manifests

JOB = manifests.job("PyTorchJob", Master=1, Worker=2)


@pytest.fixture
async def running_job(job_cluster: JobCluster, tmp_path: pathlib.Path) -> JobCluster:
    await job_cluster("run", "--detach", write_manifests(tmp_path, JOB))
    await job_cluster.run("j-master-0", "j-worker-0")
    await job_cluster.do(job_cluster.kubelet.pod, "j-worker-1")
    await job_cluster.until(lambda: "Running" in str((job_cluster.job() or {})["status"]["conditions"]))
    return job_cluster


async def test_ls_shows_state_counts_and_restarts(running_job: JobCluster) -> None:
    await running_job.restart("j-worker-0")
    await running_job.until(lambda: (running_job.job() or {})["status"]["replicaStatuses"]["Worker"].get("active") == 1)
    code, out, _ = await running_job("ls")
    assert code == 0
    assert out.splitlines()[1].split()[:5] == ["PyTorchJob", "j", "Running", "2/3", "1"]
    everywhere = (await running_job("ls", "-A"))[1]
    assert running_job.namespace in everywhere


async def test_ls_reports_a_missing_namespace(job_cluster: JobCluster) -> None:
    code, _, err = await job_cluster("ls")
    assert (code, err) == (0, f"No jobs found in {job_cluster.namespace} namespace. Use -A for all namespaces.\n")
    for form in ("text", "json"):
        code, out, err = await job_cluster("ls", "-n", "nosuchns", "-o", form)
        assert (code, out) == (1, "")
        assert 'namespace "nosuchns" not found' in err


async def test_objects_are_printed_as_json_and_yaml(running_job: JobCluster) -> None:
    listed = json.loads((await running_job("ls", "-o", "json"))[1])
    assert [each["metadata"]["name"] for each in listed["items"]] == ["j"]
    assert yaml.safe_load((await running_job("describe", "j", "-o", "yaml"))[1])["kind"] == "PyTorchJob"
    assert json.loads((await running_job("why", "j", "-o", "json"))[1])["job"] == f"PyTorchJob {running_job.namespace}/j"


async def test_why_names_the_unschedulable_pod_and_a_remedy(running_job: JobCluster) -> None:
    message = "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."
    await running_job.do(running_job.kubelet.unschedulable, "j-worker-1", message)
    await running_job.until(lambda: "gpu" in str((running_job.job() or {})["status"].get("why")))
    code, out, _ = await running_job("why", "j")
    assert code == 0
    assert f"pod j-worker-1 cannot be scheduled: {message}" in out
    assert "traincrew up --device" in out
    assert out.count(message) == 1


async def test_why_names_the_jobs_that_use_an_insufficient_resource(running_job: JobCluster, tmp_path: pathlib.Path) -> None:
    gpus = {"limits": {"nvidia.com/gpu": "2"}}
    other = manifests.job("PyTorchJob", "greedy", Master=manifests.replicas("PyTorchJob", 1, resources=gpus))
    await running_job("run", "--detach", write_manifests(tmp_path, other))
    await running_job.run("greedy-master-0")
    await running_job.do(
        running_job.kubelet.unschedulable, "j-worker-1", "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."
    )
    assert f"nvidia.com/gpu is used by job {running_job.namespace}/greedy (2)" in (await running_job("why", "j"))[1]


async def test_why_shows_the_first_failure_with_its_last_lines(job_cluster: JobCluster, tmp_path: pathlib.Path) -> None:
    job = manifests.job("PyTorchJob", Master=manifests.replicas("PyTorchJob", 1, "Never"))
    await job_cluster("run", "--detach", write_manifests(tmp_path, job))
    await job_cluster.run("j-master-0")
    await job_cluster.fail("j-master-0", 1, "ModuleNotFoundError: No module named 'torch'")
    await job_cluster.until(lambda: "Failed" in str((job_cluster.job() or {})["status"]["conditions"]))
    _, out, _ = await job_cluster("why", "pytorchjob/j")
    for words in ("Master 0 (pod j-master-0) exited with code 1", "Install torch", "| ModuleNotFoundError"):
        assert words in out


async def test_describe_shows_all_details(running_job: JobCluster) -> None:
    code, out, _ = await running_job("describe", "j")
    assert code == 0
    for words in ("j-worker-1", "waiting to be scheduled", running_job.node, "SuccessfulCreatePod", "RESTART POLICY", "Running"):
        assert words in out


async def test_scale_works_for_kinds_with_and_without_the_subresource(job_cluster: JobCluster, tmp_path: pathlib.Path) -> None:
    waits = {"suspend": True}
    jobs = (manifests.job("PyTorchJob", run=waits, Master=1, Worker=2), manifests.job("TFJob", "t", run=waits, Worker=1))
    await job_cluster("run", "--detach", write_manifests(tmp_path, *jobs, manifests.job("TFJob", "only-chief", Chief=1)))
    assert (await job_cluster("scale", "j", "3"))[:2] == (0, "pytorchjob/j scaled from 2 to 3 workers (plus 1 Master)\n")
    assert (await job_cluster("scale", "tfjob/t", "2"))[:2] == (0, "tfjob/t scaled from 1 to 2 workers\n")
    assert (job_cluster.job() or {})["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] == 3
    assert (job_cluster.job("t", "tfjobs") or {})["spec"]["tfReplicaSpecs"]["Worker"]["replicas"] == 2
    code, _, err = await job_cluster("scale", "only-chief", "2")
    assert (code, "has no workers" in err) == (1, True)


async def test_a_running_job_that_is_not_elastic_is_scaled_only_with_force(running_job: JobCluster) -> None:
    code, _, err = await running_job("scale", "j", "5")
    assert code == 2
    for words in ("is not elastic: its 3 running pods", "traincrew suspend pytorchjob/j", "5 workers (plus 1 Master)", "--force"):
        assert words in err
    assert (await running_job("scale", "j", "2"))[0] == 0
    assert (await running_job("scale", "--force", "j", "5"))[:2] == (
        0,
        "pytorchjob/j scaled from 2 to 5 workers (plus 1 Master)\n",
    )


async def test_an_elastic_job_is_scaled_within_its_limits(job_cluster: JobCluster, tmp_path: pathlib.Path) -> None:
    job = manifests.job("PyTorchJob", spec={"elasticPolicy": {"minReplicas": 1, "maxReplicas": 3}}, Worker=2)
    await job_cluster("run", "--detach", write_manifests(tmp_path, job))
    await job_cluster.run("j-worker-0", "j-worker-1")
    assert (await job_cluster("scale", "j", "3"))[0] == 0
    for beyond in ("0", "50"):
        code, _, err = await job_cluster("scale", "j", beyond)
        assert code == 2
        assert f"allows 1 to 3 workers by its elastic policy, not {beyond}. Use --force" in err
    assert (job_cluster.job() or {})["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] == 3
    assert (await job_cluster("scale", "--force", "j", "4"))[0] == 0


async def test_a_finished_job_is_not_scaled(running_job: JobCluster) -> None:
    await running_job.succeed("j-master-0")
    await running_job.until(lambda: "Succeeded" in str((running_job.job() or {})["status"]["conditions"]))
    code, _, err = await running_job("scale", "--force", "j", "3")
    assert (code, "is already finished (Succeeded)" in err) == (2, True)
    assert (running_job.job() or {})["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] == 2


async def test_a_suspended_job_is_resumed(running_job: JobCluster) -> None:
    assert (await running_job("suspend", "j"))[:2] == (0, "pytorchjob/j suspended\n")
    assert (await running_job("suspend", "j"))[:2] == (0, "pytorchjob/j is already suspended\n")
    assert "traincrew resume pytorchjob/j" in (await running_job("why", "j"))[1]
    assert (await running_job("resume", "j"))[:2] == (0, "pytorchjob/j resumed\n")
    assert (running_job.job() or {})["spec"]["runPolicy"]["suspend"] is False
    assert (await running_job("resume", "j"))[:2] == (0, "pytorchjob/j is not suspended\n")


async def test_delete_waits_until_the_pods_are_deleted(running_job: JobCluster) -> None:
    running = await running_job.start("delete", "--wait", "j")
    assert await running.line() == "pytorchjob/j deleted\n"
    for pod in ("j-master-0", "j-worker-0"):
        await running_job.until(functools.partial(_is_ending, running_job, pod))
        assert running.process.returncode is None
        await running_job.do(running_job.kubelet.gone, pod)
    assert (await running.end())[0] == 0
    assert running_job.api.names("pods", running_job.namespace) == set()


async def test_finished_jobs_are_deleted_together(job_cluster: JobCluster, tmp_path: pathlib.Path) -> None:
    jobs = [manifests.job("PyTorchJob", name, Master=1) for name in ("done", "busy")]
    await job_cluster("run", "--detach", write_manifests(tmp_path, *jobs))
    await job_cluster.run("done-master-0", "busy-master-0")
    await job_cluster.succeed("done-master-0")
    await job_cluster.until(lambda: "Succeeded" in str((job_cluster.job("done") or {})["status"]["conditions"]))
    assert (await job_cluster("delete", "--all", "--finished"))[:2] == (0, "pytorchjob/done deleted\n")
    assert job_cluster.job("busy") is not None
    assert (await job_cluster("delete"))[0] == 2
    assert "--finished requires --all" in (await job_cluster("delete", "--finished"))[2]
    assert "Omit --all to delete the named jobs only" in (await job_cluster("delete", "--all", "busy"))[2]
    assert "-1: the number of workers must be 0 or more" in (await job_cluster("scale", "busy", "-1"))[2]
    assert job_cluster.job("busy") is not None


async def test_delete_deletes_what_it_finds_and_reports_the_rest(job_cluster: JobCluster, tmp_path: pathlib.Path) -> None:
    jobs = [manifests.job("PyTorchJob", name, Master=1) for name in ("a", "b", "kept")]
    await job_cluster("run", "--detach", write_manifests(tmp_path, *jobs))
    code, out, err = await job_cluster("delete", "a", "nosuch", "b")
    assert (code, out) == (2, "pytorchjob/a deleted\npytorchjob/b deleted\n")
    assert err.startswith(f'error: job "nosuch" not found in namespace "{job_cluster.namespace}"')
    assert (await job_cluster("ls", "-o", "name"))[1] == "pytorchjob.kubeflow.org/kept\n"


async def test_ls_lists_the_named_jobs_and_reports_the_rest(job_cluster: JobCluster, tmp_path: pathlib.Path) -> None:
    jobs = [manifests.job("PyTorchJob", name, Master=1) for name in ("a", "b", "c")]
    await job_cluster("run", "--detach", write_manifests(tmp_path, *jobs))
    assert (await job_cluster("ls", "a", "pytorchjob/c", "-o", "name"))[1].split() == [
        "pytorchjob.kubeflow.org/a",
        "pytorchjob.kubeflow.org/c",
    ]
    code, out, err = await job_cluster("ls", "b", "tfjob/a")
    assert (code, [line.split()[1] for line in out.splitlines()]) == (2, ["NAME", "b"])
    assert err.startswith(f'error: tfjob "a" not found in namespace "{job_cluster.namespace}". Did you mean pytorchjob/a?')
    code, out, err = await job_cluster("ls", "-A", "nosuch")
    assert (code, out, err) == (2, "", 'error: job "nosuch" not found in any namespace\n')


async def test_every_verb_prints_names_and_documents(running_job: JobCluster) -> None:
    name = "pytorchjob.kubeflow.org/j"
    for command in (["ls"], ["describe", "j"], ["why", name], ["scale", "j", "2"], ["suspend", "j"], ["resume", "j"]):
        assert await running_job(*command, "-o", "name") == (0, f"{name}\n", ""), command
    assert json.loads((await running_job("scale", "j", "2", "-o", "json"))[1])["kind"] == "PyTorchJob"
    assert yaml.safe_load((await running_job("suspend", "j", "-o", "yaml"))[1])["spec"]["runPolicy"]["suspend"] is True
    assert json.loads((await running_job("delete", "j", "-o", "json"))[1])["metadata"]["name"] == "j"


async def test_an_ambiguous_name_requires_the_kind(job_cluster: JobCluster, tmp_path: pathlib.Path) -> None:
    await job_cluster("run", "--detach", write_manifests(tmp_path, JOB, manifests.job("TFJob", "j", Worker=1)))
    code, _, err = await job_cluster("why", "j")
    assert code == 2
    assert "Use tfjob/j or pytorchjob/j" in err
    assert (await job_cluster("why", "tfjobs/j"))[0] == 0


async def test_a_missing_job_gets_a_suggestion(running_job: JobCluster) -> None:
    await running_job.do(running_job.api.create, running_job.namespace, manifests.job("PyTorchJob", "inception", Master=1))
    code, _, err = await running_job("why", "-n", "default", "inception")
    assert (code, f"add -n {running_job.namespace}" in err) == (2, True)
    assert "did you mean 'inception'?" in (await running_job("why", "incepton"))[2]
    assert "Did you mean pytorchjob/inception?" in (await running_job("why", "tfjob/inception"))[2]


def _is_ending(job_cluster: JobCluster, pod: str) -> bool:
    return "deletionTimestamp" in (job_cluster.api.find("pods", job_cluster.namespace, pod) or {})["metadata"]


async def test_misspelt_fields_of_all_roles_are_named_at_once_and_once(job_cluster: JobCluster) -> None:
    master = manifests.replicas("PyTorchJob", 1, comand=["true"], resorces={})
    worker = manifests.replicas("PyTorchJob", 2, comand=["true"], workingDirectory="/")
    job_cluster.api.create(job_cluster.namespace, manifests.job("PyTorchJob", Master=master, Worker=worker))
    fields = ("comand", "resorces", "workingDirectory")

    def message() -> str:
        return str(((job_cluster.job() or {}).get("status", {}).get("why") or {}).get("message", ""))

    await job_cluster.until(lambda: all(field in message() for field in fields))
    assert "(did you mean 'command'?)" in message()
    assert "(did you mean 'resources'?); Pod j-worker-0: unknown field" in message()
    assert "j-worker-1" not in message()  # has the same fields
    page = (await job_cluster("why", "j"))[1]
    assert (page.count("resorces"), page.count("workingDirectory"), "warnings" in page) == (1, 1, False), page
