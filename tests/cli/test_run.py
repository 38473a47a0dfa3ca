"""`traincrew run`: submits, shows what every replica writes, tells what it waits for, returns the outcome."""

from __future__ import annotations

import functools
import pathlib
import re
import signal
from typing import Any

import pytest
from tests.cli.house import House, written
from tests.cluster import manifests

JOB = manifests.job("PyTorchJob", Master=1, Worker=1)
CLAIM: dict[str, Any] = {
    "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}  # fmt: skip
MAP: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": {"a": "1"}}


async def test_a_job_that_succeeds(house: House, tmp_path: pathlib.Path) -> None:
    running = await house.start("run", written(tmp_path, JOB))
    await house.run("j-master-0", "j-worker-0")
    await house.say("j-worker-0", "hello", "from the worker")
    assert await running.lines(2) == ["[worker-0] hello\n", "[worker-0] from the worker\n"]
    await house.say("j-master-0", "last words")
    await house.succeed("j-worker-0", "j-master-0")
    code, out, err = await running.end()
    assert (code, out) == (0, "[master-0] last words\n")
    assert "pytorchjob/j succeeded after" in err
    assert "`traincrew down` to stop it" in err


async def test_a_job_that_fails_gives_the_containers_exit_code_and_names_it(house: House, tmp_path: pathlib.Path) -> None:
    job = manifests.job("PyTorchJob", Master=manifests.replicas("PyTorchJob", 1, "Never"))
    running = await house.start("run", written(tmp_path, job))
    await house.run("j-master-0")
    await house.say("j-master-0", "Traceback")
    await house.fail("j-master-0", 3, "Traceback\nValueError: bad shape\n")
    code, out, err = await running.end()
    assert code == 3
    assert "Traceback" in out
    assert "pytorchjob/j failed after" in err
    assert "Master 0 failed with exit code 3: ValueError: bad shape" in err


async def test_it_says_what_it_waits_for(house: House, tmp_path: pathlib.Path) -> None:
    running = await house.start("run", written(tmp_path, JOB))
    await running.told("j: 0 of 2 running; master-0, worker-0: waiting to be scheduled")
    await house.do(house.kubelet.unschedulable, "j-master-0", "0/1 nodes are available: 1 Insufficient memory.")
    await running.told("pod j-master-0 cannot be scheduled: 0/1 nodes are available: 1 Insufficient memory.")


def _explained(house: House, words: str) -> bool:
    found = (house.job() or {}).get("status", {}).get("why")
    return found is not None and words in found["message"]


async def test_back_offs_are_told_once_however_often_they_change_their_words(house: House, tmp_path: pathlib.Path) -> None:
    running = await house.start("run", written(tmp_path, manifests.job("PyTorchJob", Master=1)))
    await house.run("j-master-0")
    said = ""
    for number in range(3):
        words = f"back-off {10 << number}s restarting failed container=pytorch pod=j-master-0"
        await house.do(house.kubelet.waiting, "j-master-0", "CrashLoopBackOff", words)
        await house.until(functools.partial(_explained, house, words))
        if not number:
            said += await running.told(words)
        await house.do(house.kubelet.run, "j-master-0", bind=False)
        await house.until(lambda: not _explained(house, ""))
    await house.do(house.kubelet.waiting, "j-master-0", "ErrImagePull", "no such image")
    said += await running.told("no such image")
    await house.do(house.kubelet.waiting, "j-master-0", "ImagePullBackOff", 'Back-off pulling image "x": no such image')
    await house.until(functools.partial(_explained, house, "Back-off pulling"))
    await house.succeed("j-master-0")
    code, _, rest = await running.end()
    assert code == 0
    assert ((said + rest).count("back-off"), (said + rest).count("no such image")) == (1, 1)


async def test_replicas_that_a_success_did_without_are_told(house: House, tmp_path: pathlib.Path) -> None:
    running = await house.start("run", written(tmp_path, manifests.job("PyTorchJob", Master=1, Worker=2)))
    await house.run("j-master-0")
    await house.succeed("j-master-0")
    code, _, err = await running.end()
    assert code == 0
    assert re.search(r"pytorchjob/j succeeded after \S+; 2 of 3 replicas never started\n", err)


async def test_restarted_containers_are_followed_and_no_line_is_lost_or_doubled(house: House, tmp_path: pathlib.Path) -> None:
    running = await house.start("run", written(tmp_path, manifests.job("PyTorchJob", Master=1)))
    await house.run("j-master-0")
    for number in range(5):
        await house.say("j-master-0", f"{number} begins")
        assert await running.line() == f"[master-0] {number} begins\n"
        await house.say("j-master-0", f"{number} ends")
        await house.restart("j-master-0")
        assert await running.line() == f"[master-0] {number} ends\n"
    await house.say("j-master-0", "done")
    await house.succeed("j-master-0")
    assert (await running.end())[:2] == (0, "[master-0] done\n")


async def test_replaced_and_added_replicas_are_followed(house: House, tmp_path: pathlib.Path) -> None:
    job = manifests.job("PyTorchJob", spec={"elasticPolicy": {"minReplicas": 1, "maxReplicas": 3}}, Worker=1)
    running = await house.start("run", written(tmp_path, job))
    await house.run("j-worker-0")
    await house.say("j-worker-0", "alone")
    assert await running.line() == "[worker-0] alone\n"
    assert (await house("scale", "j", "2"))[:2] == (0, "pytorchjob/j scaled from 1 to 2 workers\n")
    await house.run("j-worker-1")
    await house.say("j-worker-1", "new here")
    assert await running.line() == "[worker-1] new here\n"
    await house.vanish("j-worker-1")
    await house.run("j-worker-1")
    await house.say("j-worker-1", "back again")
    assert await running.line() == "[worker-1] back again\n"
    await house.succeed("j-worker-0", "j-worker-1")
    assert (await running.end())[0] == 0


async def test_bad_input_is_told_whole_and_nothing_is_submitted(house: House, tmp_path: pathlib.Path) -> None:
    bad = manifests.job("PyTorchJob", Mastre=1)
    bad["spec"]["runPolicy"] = {"backoffLimit": "many"}
    path = written(tmp_path, MAP, bad)
    code, _, err = await house("run", path)
    assert code == 2
    assert "Mastre" in err
    assert "backoffLimit" in err
    assert f"{path}:" in err
    assert err.endswith("Nothing was submitted.\n")
    assert await house.do(house.api.find, "configmaps", house.namespace, "m") is None


async def test_everything_in_the_files_is_made_in_order(house: House, tmp_path: pathlib.Path) -> None:
    code, _, err = await house("run", "--detach", written(tmp_path, MAP, CLAIM, name="a.yaml"), written(tmp_path, JOB))
    assert code == 0
    assert err.splitlines()[:3] == ["configmap/m created", "persistentvolumeclaim/c created", "pytorchjob/j created"]
    assert "traincrew logs -f pytorchjob/j" in err
    assert house.job() is not None


async def test_what_exists_already_is_not_touched_unless_it_is_to_be_replaced(house: House, tmp_path: pathlib.Path) -> None:
    path = written(tmp_path, MAP, JOB)
    await house("run", "--detach", path)
    before = house.job()
    code, _, err = await house("run", "--detach", path)
    assert code == 2
    assert "pytorchjob/j already exists" in err
    assert "--replace" in err
    assert "configmap" not in err  # it is there as it should be
    changed = {**MAP, "data": {"a": "2"}}
    code, _, err = await house("run", "--detach", "--replace", written(tmp_path, changed, JOB))
    assert (code, err.splitlines()[:2]) == (0, ["configmap/m configured", "pytorchjob/j created"])
    after = house.job()
    assert before is not None
    assert after is not None
    assert before["metadata"]["uid"] != after["metadata"]["uid"]


async def test_what_the_server_refuses_leaves_nothing_behind(house: House, tmp_path: pathlib.Path) -> None:
    bad = {**CLAIM, "metadata": {"name": "Not_A_Name"}}
    code, _, err = await house("run", written(tmp_path, MAP, bad, JOB))
    assert code == 2
    assert "Not_A_Name" in err
    assert await house.do(house.api.find, "configmaps", house.namespace, "m") is None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_without_a_terminal_an_interrupt_cleans_up(house: House, tmp_path: pathlib.Path, number: signal.Signals) -> None:
    running = await house.start("run", written(tmp_path, MAP, CLAIM, JOB))
    await house.run("j-master-0", "j-worker-0")
    await house.say("j-master-0", "x")
    await running.line()
    running.process.send_signal(number)
    await running.told("Deleting pytorchjob/j")
    for pod in ("j-master-0", "j-worker-0"):
        await house.do(house.kubelet.gone, pod)
    code, _, err = await running.end()
    assert code == 128 + number
    assert "persistentvolumeclaim/c and its data are kept" in err
    assert house.job() is None
    path = f"/api/v1/namespaces/{house.namespace}/persistentvolumeclaims"
    assert [each["metadata"]["name"] for each in (await house.do(house.api.call, "GET", path))["items"]] == ["c"]
    assert await house.do(house.api.find, "configmaps", house.namespace, "m") is None


async def test_rm_removes_the_job_when_it_has_ended(house: House, tmp_path: pathlib.Path) -> None:
    running = await house.start("run", "--rm", written(tmp_path, manifests.job("PyTorchJob", Master=1)))
    await house.run("j-master-0")
    await house.succeed("j-master-0")
    await running.told("Deleting pytorchjob/j")
    await house.do(house.kubelet.gone, "j-master-0")
    assert (await running.end())[0] == 0
    assert house.job() is None


async def test_a_job_that_somebody_deletes_is_told(house: House, tmp_path: pathlib.Path) -> None:
    running = await house.start("run", written(tmp_path, JOB))
    await house.until(house.job)
    assert (await house("delete", "j"))[:2] == (0, "pytorchjob/j deleted\n")
    code, _, err = await running.end()
    assert code == 1
    assert "was deleted before it finished" in err


async def test_several_jobs_are_told_apart(house: House, tmp_path: pathlib.Path) -> None:
    jobs = [manifests.job("PyTorchJob", name, Master=manifests.replicas("PyTorchJob", 1, "Never")) for name in ("a", "b")]
    running = await house.start("run", written(tmp_path, *jobs))
    await house.run("a-master-0", "b-master-0")
    await house.say("a-master-0", "I")
    assert await running.line() == "[a/master-0] I\n"
    await house.succeed("a-master-0")
    await house.fail("b-master-0", 5)
    assert (await running.end())[0] == 5


async def test_a_command_becomes_a_job_with_the_directory_mounted(house: House, tmp_path: pathlib.Path) -> None:
    (tmp_path / "work").mkdir()
    running = await house.start(
        "run", "--kind", "pytorchjob", "--workers", "2", "--name", "made", "--", "python", "t.py", "-x", cwd=tmp_path / "work"
    )
    await house.run("made-master-0", "made-worker-0")
    pod = await house.do(house.kubelet.pod, "made-worker-0")
    (container,) = pod["spec"]["containers"]
    assert container["command"] == ["python", "t.py", "-x"]
    assert container["workingDir"] == str(tmp_path / "work")
    assert {each["name"]: each.get("value") for each in container["env"]}["WORLD_SIZE"] == "2"
    await house.succeed("made-worker-0", "made-master-0")
    assert (await running.end())[0] == 0


async def test_flags_of_a_command_are_refused_with_files(house: House, tmp_path: pathlib.Path) -> None:
    code, _, err = await house("run", "--workers", "2", written(tmp_path, JOB))
    assert (code, err) == (2, "error: --workers requires --kind. Add --kind KIND -- COMMAND, or set the value in the file.\n")


async def test_a_command_without_a_kind_is_told_how_though_its_script_is_there(house: House, tmp_path: pathlib.Path) -> None:
    (tmp_path / "train.py").touch()
    for script in ("train.py", str(tmp_path / "train.py")):
        code, _, err = await house("run", "--", "python", script)
        assert code == 2
        assert "--kind PyTorchJob -- COMMAND" in err


async def test_a_directory_is_no_file(house: House, tmp_path: pathlib.Path) -> None:
    code, _, err = await house("run", str(tmp_path))
    assert (code, err) == (2, f"error: {tmp_path} is a directory. Specify its files, such as {tmp_path}/*.yaml.\n")


async def test_a_form_to_print_in_is_refused_where_nothing_is_printed(house: House, tmp_path: pathlib.Path) -> None:
    code, _, err = await house("run", "-o", "json", written(tmp_path, JOB))
    assert code == 2
    assert "-o requires --dry-run" in err
    assert house.job() is None


async def test_a_name_that_cannot_be_is_told_by_its_flag(house: House) -> None:
    code, _, err = await house("run", "--kind", "PyTorchJob", "--name", "Bad_Name", "--", "true")
    assert code == 2
    assert err.startswith("--name: should match")


async def test_warnings_are_not_counted_as_faults_and_marked(house: House, tmp_path: pathlib.Path) -> None:
    bad = manifests.job("PyTorchJob", Mastre=1)
    bad["spec"]["runPolicy"] = {"backoffLimit": "many", "cleanPodPolicy": "Some"}
    _, _, err = await house("run", written(tmp_path, bad))
    *told, last = err.splitlines()
    faults = [line for line in told if ": warning: spec.runPolicy.cleanPodPolicy" not in line]
    assert len(faults) == len(told) - 1
    assert last == f"error: {len(faults)} errors in the manifests. Nothing was submitted."
