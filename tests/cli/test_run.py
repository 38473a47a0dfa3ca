"""`traincrew run`."""

from __future__ import annotations

import functools
import json
import pathlib
import re
import signal
from typing import Any

import pytest
from tests.cli.cluster_fixture import JobCluster, write_manifests
from tests.cluster import manifests

JOB = manifests.job("PyTorchJob", Master=1, Worker=1)
CLAIM: dict[str, Any] = {
    "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}  # fmt: skip
MAP: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": {"a": "1"}}


async def test_a_job_that_succeeds(job_cluster: JobCluster, tmp_path: pathlib.Path) -> None:
    running = await job_cluster.start("run", write_manifests(tmp_path, JOB))
    await job_cluster.run("j-master-0", "j-worker-0")
    await job_cluster.write_log("j-worker-0", "hello", "from the worker")
    assert await running.lines(2) == ["[worker-0] hello\n", "[worker-0] from the worker\n"]
    await job_cluster.write_log("j-master-0", "last words")
    await job_cluster.succeed("j-worker-0", "j-master-0")
    code, out, err = await running.end()
    assert (code, out) == (0, "[master-0] last words\n")
    assert "pytorchjob/j succeeded after" in err
    assert "traincrew down" not in err, "it ran before"


async def test_replicas_that_outlive_the_success_of_the_job_are_named(job_cluster: JobCluster, tmp_path: pathlib.Path) -> None:
    job = manifests.job("PyTorchJob", run={"cleanPodPolicy": "None"}, Master=1, Worker=2)
    running = await job_cluster.start("run", write_manifests(tmp_path, job))
    await job_cluster.run("j-master-0", "j-worker-0", "j-worker-1")
    await job_cluster.succeed("j-worker-0", "j-master-0")
    code, _, err = await running.end()
    assert code == 0
    assert "worker-1 is still running. Run `traincrew why pytorchjob/j` later to see what became of it." in err


async def test_a_failed_job_gives_the_exit_code_of_its_container(job_cluster: JobCluster, tmp_path: pathlib.Path) -> None:
    job = manifests.job("PyTorchJob", Master=manifests.replicas("PyTorchJob", 1, "Never"))
    running = await job_cluster.start("run", write_manifests(tmp_path, job))
    await job_cluster.run("j-master-0")
    await job_cluster.write_log("j-master-0", "Traceback")
    await job_cluster.fail("j-master-0", 3, "Traceback\nValueError: bad shape\n")
    code, out, err = await running.end()
    assert code == 3
    assert "Traceback" in out
    assert "pytorchjob/j failed after" in err
    assert "Master 0 failed with exit code 3: ValueError: bad shape" in err


DEPLOYMENT: dict[str, Any] = {
    "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
    "spec": {
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
    },
}  # fmt: skip


@pytest.mark.parametrize("named", [False, True])
async def test_an_object_that_nothing_acts_on_is_refused_before_anything_is_created(
    job_cluster: JobCluster, tmp_path: pathlib.Path, named: bool
) -> None:
    kubeconfig = ["--kubeconfig", str(job_cluster.cluster.data / "kubeconfig")] if named else []
    running = await job_cluster.start("run", write_manifests(tmp_path, MAP, DEPLOYMENT), *kubeconfig)
    code, out, err = await running.end()
    assert (code, out) == (2, "")
    assert re.search(
        r"\.yaml:\d+: no controller of this cluster acts on objects of kind Deployment: no pods are created\. Use", err
    )
    assert "created" not in err.replace("no pods are created", "")
    assert job_cluster.api.find("configmaps", job_cluster.namespace, "m") is None


async def test_run_shows_the_waiting_reason(job_cluster: JobCluster, tmp_path: pathlib.Path) -> None:
    running = await job_cluster.start("run", write_manifests(tmp_path, JOB))
    await running.wait_for("j: 0 of 2 running; master-0, worker-0: waiting to be scheduled")
    await job_cluster.do(job_cluster.kubelet.unschedulable, "j-master-0", "0/1 nodes are available: 1 Insufficient memory.")
    await running.wait_for("pod j-master-0 cannot be scheduled: 0/1 nodes are available: 1 Insufficient memory.")


def _explained(job_cluster: JobCluster, words: str) -> bool:
    found = (job_cluster.job() or {}).get("status", {}).get("why")
    return found is not None and words in found["message"]


async def test_a_backoff_is_printed_once_although_its_message_changes(job_cluster: JobCluster, tmp_path: pathlib.Path) -> None:
    running = await job_cluster.start("run", write_manifests(tmp_path, manifests.job("PyTorchJob", Master=1)))
    await job_cluster.run("j-master-0")
    said = ""
    for number in range(3):
        words = f"back-off {10 << number}s restarting failed container=pytorch pod=j-master-0"
        await job_cluster.do(job_cluster.kubelet.waiting, "j-master-0", "CrashLoopBackOff", words)
        await job_cluster.until(functools.partial(_explained, job_cluster, words))
        if not number:
            said += await running.wait_for(words)
        await job_cluster.do(job_cluster.kubelet.run, "j-master-0", bind=False)
        await job_cluster.until(lambda: not _explained(job_cluster, ""))
    await job_cluster.do(job_cluster.kubelet.waiting, "j-master-0", "ErrImagePull", "no such image")
    said += await running.wait_for("no such image")
    await job_cluster.do(
        job_cluster.kubelet.waiting, "j-master-0", "ImagePullBackOff", 'Back-off pulling image "x": no such image'
    )
    await job_cluster.until(functools.partial(_explained, job_cluster, "Back-off pulling"))
    await job_cluster.succeed("j-master-0")
    code, _, rest = await running.end()
    assert code == 0
    assert ((said + rest).count("back-off"), (said + rest).count("no such image")) == (1, 1)


async def test_replicas_that_never_started_are_reported(job_cluster: JobCluster, tmp_path: pathlib.Path) -> None:
    running = await job_cluster.start("run", write_manifests(tmp_path, manifests.job("PyTorchJob", Master=1, Worker=2)))
    await job_cluster.run("j-master-0")
    await job_cluster.succeed("j-master-0")
    code, _, err = await running.end()
    assert code == 0
    assert re.search(r"pytorchjob/j succeeded after \S+; 2 of 3 replicas never started\n", err)


async def test_restarted_containers_are_followed_without_lost_or_repeated_lines(
    job_cluster: JobCluster, tmp_path: pathlib.Path
) -> None:
    running = await job_cluster.start("run", write_manifests(tmp_path, manifests.job("PyTorchJob", Master=1)))
    await job_cluster.run("j-master-0")
    for number in range(5):
        await job_cluster.write_log("j-master-0", f"{number} begins")
        assert await running.line() == f"[master-0] {number} begins\n"
        await job_cluster.write_log("j-master-0", f"{number} ends")
        await job_cluster.restart("j-master-0")
        assert await running.line() == f"[master-0] {number} ends\n"
    await job_cluster.write_log("j-master-0", "done")
    await job_cluster.succeed("j-master-0")
    assert (await running.end())[:2] == (0, "[master-0] done\n")


async def test_replaced_and_added_replicas_are_followed(job_cluster: JobCluster, tmp_path: pathlib.Path) -> None:
    job = manifests.job("PyTorchJob", spec={"elasticPolicy": {"minReplicas": 1, "maxReplicas": 3}}, Worker=1)
    running = await job_cluster.start("run", write_manifests(tmp_path, job))
    await job_cluster.run("j-worker-0")
    await job_cluster.write_log("j-worker-0", "alone")
    assert await running.line() == "[worker-0] alone\n"
    effect = "When the new pods run, torchrun starts the program again on all workers."
    assert (await job_cluster("scale", "j", "2"))[:2] == (0, f"pytorchjob/j scaled from 1 to 2 workers. {effect}\n")
    await job_cluster.run("j-worker-1")
    await job_cluster.write_log("j-worker-1", "new here")
    assert await running.line() == "[worker-1] new here\n"
    await job_cluster.delete_pod("j-worker-1")
    await job_cluster.run("j-worker-1")
    await job_cluster.write_log("j-worker-1", "back again")
    assert await running.line() == "[worker-1] back again\n"
    await job_cluster.succeed("j-worker-0", "j-worker-1")
    assert (await running.end())[0] == 0


async def test_all_errors_are_printed_and_nothing_is_submitted(job_cluster: JobCluster, tmp_path: pathlib.Path) -> None:
    bad = manifests.job("PyTorchJob", Mastre=1)
    bad["spec"]["runPolicy"] = {"backoffLimit": "many"}
    path = write_manifests(tmp_path, MAP, bad)
    code, _, err = await job_cluster("run", path)
    assert code == 2
    assert "Mastre" in err
    assert "backoffLimit" in err
    assert f"{path}:" in err
    assert err.endswith("Nothing was submitted.\n")
    assert await job_cluster.do(job_cluster.api.find, "configmaps", job_cluster.namespace, "m") is None


async def test_all_objects_of_the_files_are_created_in_order(job_cluster: JobCluster, tmp_path: pathlib.Path) -> None:
    code, _, err = await job_cluster(
        "run", "--detach", write_manifests(tmp_path, MAP, CLAIM, name="a.yaml"), write_manifests(tmp_path, JOB)
    )
    assert code == 0
    assert err.splitlines()[:3] == ["configmap/m created", "persistentvolumeclaim/c created", "pytorchjob/j created"]
    assert "traincrew logs -f pytorchjob/j" in err
    assert job_cluster.job() is not None


async def test_existing_objects_are_not_changed_without_replace(job_cluster: JobCluster, tmp_path: pathlib.Path) -> None:
    path = write_manifests(tmp_path, MAP, JOB)
    await job_cluster("run", "--detach", path)
    before = job_cluster.job()
    code, _, err = await job_cluster("run", "--detach", path)
    assert code == 2
    assert "pytorchjob/j already exists" in err
    assert (
        f"Run `traincrew delete -n {job_cluster.namespace} pytorchjob/j`, use another name (metadata.name in the manifest), or"
        in err
    )
    assert "replace it with --replace." in err
    assert "configmap" not in err  # it is there as it should be
    other_map = {**MAP, "data": {"a": "3"}}
    code, _, err = await job_cluster("run", "--detach", write_manifests(tmp_path, other_map, JOB))
    both = f"kubectl delete -n {job_cluster.namespace} configmap/m; traincrew delete -n {job_cluster.namespace} pytorchjob/j"
    assert f"Run `{both}`, use other names" in err
    changed = {**MAP, "data": {"a": "2"}}
    code, _, err = await job_cluster("run", "--detach", "--replace", write_manifests(tmp_path, changed, JOB))
    assert (code, err.splitlines()[:2]) == (0, ["configmap/m configured", "pytorchjob/j created"])
    after = job_cluster.job()
    assert before is not None
    assert after is not None
    assert before["metadata"]["uid"] != after["metadata"]["uid"]


async def test_a_rejected_object_rolls_back_the_others(job_cluster: JobCluster, tmp_path: pathlib.Path) -> None:
    bad = {**CLAIM, "metadata": {"name": "Not_A_Name"}}
    code, _, err = await job_cluster("run", write_manifests(tmp_path, MAP, bad, JOB))
    assert code == 2
    assert "Not_A_Name" in err
    assert await job_cluster.do(job_cluster.api.find, "configmaps", job_cluster.namespace, "m") is None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_without_a_terminal_an_interrupt_deletes_the_job(
    job_cluster: JobCluster, tmp_path: pathlib.Path, number: signal.Signals
) -> None:
    running = await job_cluster.start("run", write_manifests(tmp_path, MAP, CLAIM, JOB))
    await job_cluster.run("j-master-0", "j-worker-0")
    await job_cluster.write_log("j-master-0", "x")
    await running.line()
    running.process.send_signal(number)
    await running.wait_for("Deleting pytorchjob/j")
    for pod in ("j-master-0", "j-worker-0"):
        await job_cluster.do(job_cluster.kubelet.gone, pod)
    code, _, err = await running.end()
    assert code == 128 + number
    assert "persistentvolumeclaim/c and its data are kept" in err
    assert job_cluster.job() is None
    path = f"/api/v1/namespaces/{job_cluster.namespace}/persistentvolumeclaims"
    assert [each["metadata"]["name"] for each in (await job_cluster.do(job_cluster.api.call, "GET", path))["items"]] == ["c"]
    assert await job_cluster.do(job_cluster.api.find, "configmaps", job_cluster.namespace, "m") is None


async def test_rm_deletes_the_finished_job(job_cluster: JobCluster, tmp_path: pathlib.Path) -> None:
    running = await job_cluster.start("run", "--rm", write_manifests(tmp_path, manifests.job("PyTorchJob", Master=1)))
    await job_cluster.run("j-master-0")
    await job_cluster.succeed("j-master-0")
    await running.wait_for("Deleting pytorchjob/j")
    await job_cluster.do(job_cluster.kubelet.gone, "j-master-0")
    assert (await running.end())[0] == 0
    assert job_cluster.job() is None


async def test_a_deleted_job_is_reported(job_cluster: JobCluster, tmp_path: pathlib.Path) -> None:
    running = await job_cluster.start("run", write_manifests(tmp_path, JOB))
    await job_cluster.until(job_cluster.job)
    assert (await job_cluster("delete", "j"))[:2] == (0, "pytorchjob/j deleted\n")
    code, _, err = await running.end()
    assert code == 1
    assert "was deleted before it finished" in err


async def test_lines_of_several_jobs_have_the_job_name(job_cluster: JobCluster, tmp_path: pathlib.Path) -> None:
    jobs = [manifests.job("PyTorchJob", name, Master=manifests.replicas("PyTorchJob", 1, "Never")) for name in ("a", "b")]
    running = await job_cluster.start("run", write_manifests(tmp_path, *jobs))
    await job_cluster.run("a-master-0", "b-master-0")
    await job_cluster.write_log("a-master-0", "I")
    assert await running.line() == "[a/master-0] I\n"
    await job_cluster.succeed("a-master-0")
    await job_cluster.fail("b-master-0", 5)
    assert (await running.end())[0] == 5


async def test_a_command_becomes_a_job_with_the_directory_mounted(job_cluster: JobCluster, tmp_path: pathlib.Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "t.py").touch()
    running = await job_cluster.start(
        "run", "--kind", "pytorchjob", "--workers", "2", "--name", "made", "--", "python", "t.py", "-x", cwd=tmp_path / "work"
    )
    await job_cluster.run("made-master-0", "made-worker-0")
    pod = await job_cluster.do(job_cluster.kubelet.pod, "made-worker-0")
    (container,) = pod["spec"]["containers"]
    assert container["command"] == ["python", "t.py", "-x"]
    assert container["workingDir"] == str(tmp_path / "work")
    assert {each["name"]: each.get("value") for each in container["env"]}["WORLD_SIZE"] == "2"
    await job_cluster.succeed("made-worker-0", "made-master-0")
    assert (await running.end())[0] == 0


async def test_options_of_a_command_are_rejected_with_files(job_cluster: JobCluster, tmp_path: pathlib.Path) -> None:
    code, _, err = await job_cluster("run", "--workers", "2", write_manifests(tmp_path, JOB))
    assert (code, err) == (2, "error: --workers requires --kind. Add --kind KIND -- COMMAND, or set the value in the file.\n")


async def test_a_script_with_a_name_needs_no_kind_if_its_framework_decides(
    job_cluster: JobCluster, tmp_path: pathlib.Path
) -> None:
    script = tmp_path / "ddp.py"
    script.write_text("import sys\nsys.path.append('elsewhere')\nimport torch\n")  # found there, whether or not it is installed
    words = ("run", "--dry-run", "--name", "ddp", "--workers", "3", "--", "python", "ddp.py")
    code, out, err = await (await job_cluster.start(*words, cwd=tmp_path)).end()
    assert (code, "kind: PyTorchJob" in out) == (0, True), err
    assert err.startswith("The job runs as a PyTorchJob, because ddp.py imports torch. It runs with Python 3."), err
    script.write_text("import time\n")
    code, _, err = await (await job_cluster.start(*words, cwd=tmp_path)).end()
    assert (code, "error: --name requires --kind. Add --kind " in err) == (2, True), err


@pytest.mark.parametrize(
    ("source", "kind"),
    [("import torch", "PyTorchJob"), ("import torch\nimport horovod.torch", "MPIJob"), ("import jax", "JAXJob"), ("", "KIND")],
)
async def test_a_script_without_a_kind_gets_the_complete_command(
    job_cluster: JobCluster, tmp_path: pathlib.Path, source: str, kind: str
) -> None:
    script = tmp_path / "train.py"
    script.write_text(source)
    for words in ((str(script),), ("--", "python3", str(script))):
        code, _, err = await job_cluster("run", *words)
        assert code == 2
        assert f"\n  traincrew run --kind {kind} --workers 2 -- python" in err
        assert f"{script}\n" in err.rpartition(" -- ")[2]


async def test_a_job_that_does_not_finish_in_time_is_deleted(job_cluster: JobCluster, tmp_path: pathlib.Path) -> None:
    code, _, err = await job_cluster("run", "--timeout", "1s", write_manifests(tmp_path, JOB))
    assert code == 124
    assert "Not finished after 1s (--timeout)." in err
    assert "Deleting pytorchjob/j." in err
    assert job_cluster.job() is None


async def test_a_job_whose_image_name_is_invalid_ends(job_cluster: JobCluster, tmp_path: pathlib.Path) -> None:
    running = await job_cluster.start("run", write_manifests(tmp_path, JOB))
    await job_cluster.run("j-master-0")
    await job_cluster.do(job_cluster.kubelet.waiting, "j-master-0", "InvalidImageName", "couldn't parse image name")
    err = await running.wait_for("Deleting pytorchjob/j.")
    assert "pytorchjob/j can never run here: container pytorch of pod j-master-0: couldn't parse image name" in err
    await job_cluster.do(job_cluster.kubelet.gone, "j-master-0")
    assert (await running.end())[0] == 1


async def test_a_directory_is_rejected(job_cluster: JobCluster, tmp_path: pathlib.Path) -> None:
    code, _, err = await job_cluster("run", str(tmp_path))
    assert (code, err) == (2, f"error: {tmp_path} is a directory. Specify its files, such as {tmp_path}/*.yaml.\n")


async def test_detach_prints_the_created_jobs_on_standard_output(job_cluster: JobCluster, tmp_path: pathlib.Path) -> None:
    for name, form in (("named", "name"), ("shown", "json")):
        path = write_manifests(tmp_path, manifests.job("PyTorchJob", name, Master=1), name=f"{name}.yaml")
        code, out, err = await job_cluster("run", "--detach", "-o", form, path)
        assert (code, f"pytorchjob/{name} keeps running" in err) == (0, True)
        if form == "name":
            assert out == "pytorchjob.kubeflow.org/named\n"
        else:
            assert json.loads(out)["metadata"]["name"] == "shown"


async def test_an_output_format_requires_dry_run_or_detach(job_cluster: JobCluster, tmp_path: pathlib.Path) -> None:
    code, _, err = await job_cluster("run", "-o", "json", write_manifests(tmp_path, JOB))
    assert code == 2
    assert "-o requires --dry-run or --detach" in err
    assert job_cluster.job() is None


async def test_an_invalid_name_is_reported_by_its_option(job_cluster: JobCluster) -> None:
    code, _, err = await job_cluster("run", "--kind", "PyTorchJob", "--name", "Bad_Name", "--", "true")
    assert code == 2
    assert err.startswith("--name: should match")


async def test_a_warning_about_a_generated_job_names_the_flag_and_is_printed_once(job_cluster: JobCluster) -> None:
    """Each role has the command: the user has written it once, and has no file with lines."""
    command = ("--workers", "3", "-e", "WORLD_SIZE=4", "--", "echo", "--world-size", "5")
    code, _, err = await job_cluster("run", "--dry-run", "--kind", "PyTorchJob", *command)
    assert code == 0, err
    warnings = [line for line in err.splitlines() if "WORLD_SIZE" in line or "--world-size" in line]
    assert [line.partition("4 is ignored")[0].partition("5 differs")[0] for line in warnings] == [
        "warning: command: --world-size ",
        "warning: --env: WORLD_SIZE=",
    ]


async def test_a_name_that_is_in_use_is_reported_by_its_option(job_cluster: JobCluster) -> None:
    command = ("run", "--detach", "--kind", "PyTorchJob", "--name", "first", "--", "true")
    assert (await job_cluster(*command))[0] == 0
    code, _, err = await job_cluster(*command)
    assert (code, "error: --name: pytorchjob/first already exists" in err) == (2, True)
    assert f"Run `traincrew delete -n {job_cluster.namespace} pytorchjob/first`, use another name (--name), or" in err


async def test_warnings_are_marked_and_not_counted_as_errors(job_cluster: JobCluster, tmp_path: pathlib.Path) -> None:
    bad = manifests.job("PyTorchJob", Mastre=1)
    bad["spec"]["runPolicy"] = {"backoffLimit": "many", "cleanPodPolicy": "Some"}
    _, _, err = await job_cluster("run", write_manifests(tmp_path, bad))
    *message, last = err.splitlines()
    faults = [line for line in message if ": warning: spec.runPolicy.cleanPodPolicy" not in line]
    assert len(faults) == len(message) - 1
    assert last == f"error: {len(faults)} errors in the manifests. Nothing was submitted."
