"""The history through the console: deleted jobs, for who may read them."""

from __future__ import annotations

import contextlib
import pathlib
from collections.abc import AsyncIterator
from typing import Any

import yaml
from tests.cluster.api import Api
from tests.console import console_fixture
from tests.console.console_fixture import Browser, Machine, job

ROLES = "/apis/rbac.authorization.k8s.io/v1/namespaces"
READ_JOBS = {"apiGroups": ["kubeflow.org"], "resources": ["jaxjobs"], "verbs": ["get"]}
READ_PODS = {"apiGroups": [""], "resources": ["pods", "events"], "verbs": ["get", "list"]}
READ_LOGS = {"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]}


def rbac(kind: str, name: str, **content: Any) -> dict[str, Any]:
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": name}, **content}


@contextlib.asynccontextmanager
async def user(
    machine: Machine, tmp_path: pathlib.Path, namespace: str, *rules: dict[str, Any], history: pathlib.Path | None = None
) -> AsyncIterator[Browser]:
    """Signed in to a console of their own, with these rights in one namespace. history: in place of that of the machine."""
    api, name = Api(machine.kubeconfig), f"user-of-{namespace}"
    with contextlib.suppress(Exception):
        api.call("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    api.call("POST", accounts, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}})
    subject = {"kind": "ServiceAccount", "name": name, "namespace": namespace}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}
    api.call("POST", f"{ROLES}/{namespace}/roles", rbac("Role", name, rules=list(rules)))
    api.call("POST", f"{ROLES}/{namespace}/rolebindings", rbac("RoleBinding", name, subjects=[subject], roleRef=reference))
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    token = api.call("POST", f"{accounts}/{name}/token", request)["status"]["token"]
    config = yaml.safe_load(machine.kubeconfig.read_text())
    config["users"] = [{"name": config["users"][0]["name"], "user": {"token": token}}]
    path = tmp_path / f"{name}.conf"
    path.write_text(yaml.safe_dump(config))
    data = machine.data if history is None else None
    async with console_fixture.console(path, tmp_path / name, data, history=history) as browser:
        await browser.sign_in()
        yield browser


async def delete_when_ended(browser: Browser, namespace: str, name: str) -> str:
    """The UID of a job that has ended and is deleted."""
    path = f"jobs/{namespace}/jaxjob/{name}"
    found = await browser.until(path, lambda found: found["summary"]["status"] in ("Succeeded", "Failed"))
    assert (await browser.call("DELETE", path))[0] == 200
    query = f"history/jobs?deleted=1&namespace={namespace}&name={name}"
    await browser.until(query, lambda listed: [each["summary"]["uid"] for each in listed["jobs"]] == [found["summary"]["uid"]])
    return str(found["summary"]["uid"])


async def test_a_deleted_job_is_listed_and_read_with_its_log(browser: Browser) -> None:
    await browser.create(job("listed", "echo printed; exit 3", 2))
    uid = await delete_when_ended(browser, "default", "listed")
    listed = await browser.get("history/jobs?namespace=default&name=listed")
    assert [(each["summary"]["status"], bool(each["deleted"])) for each in listed["jobs"]] == [("Failed", True)]
    recording = await browser.get(f"history/recordings/{uid}")
    assert recording["job"]["object"]["metadata"]["name"] == "listed"
    assert [each["object"]["metadata"]["name"] for each in recording["pods"]] == ["listed-worker-0", "listed-worker-1"]
    assert recording["events"]
    assert recording["statuses"]
    assert not recording["unreadable"]
    pod = recording["pods"][0]["uid"]
    log = await browser.get(f"history/recordings/{uid}/log?pod={pod}&container=jax")
    assert log.endswith("Z printed\n")


async def test_the_pages_of_a_deleted_job_show_its_record(browser: Browser) -> None:
    await browser.create(job("page", "echo loss=0.5; exit 3", 2))
    uid = await delete_when_ended(browser, "default", "page")
    path = f"jobs/default/jaxjob/page@{uid}"
    detail = await browser.get(path)
    assert (detail["summary"]["name"], detail["summary"]["status"], bool(detail["deleted"])) == ("page", "Failed", True)
    assert [each["state"] for each in detail["replicas"]] == ["Failed", "Failed"]
    assert detail["diagnosis"]["failure"]["final"]
    assert detail["diagnosis"]["failure"]["evidence"] == ["loss=0.5"]
    assert not any(action["allowed"] for action in detail["actions"])
    assert detail["terminal"] == {"allowed": False, "reason": "the job was deleted: this is its record"}
    assert detail["events"]
    assert "name: page\n" in (await browser.get(f"{path}/yaml"))["yaml"]
    replica = await browser.get(f"{path}/replicas/worker-1")
    assert replica["containers"]
    assert replica["events"]
    logs = await browser.get(f"{path}/logs")
    assert {(each["replica"], each["text"]) for each in logs["lines"]} == {("worker-0", "loss=0.5"), ("worker-1", "loss=0.5")}
    assert (await browser.get(f"{path}/logs?q=nothing"))["matches"] == 0
    metrics = await browser.get(f"{path}/metrics")
    assert {each["name"] for each in metrics["output"]} == {"loss"}
    async with browser.stream() as stream:
        for topic, kind in (("job", "job.snapshot"), ("logs", "logs.snapshot"), ("metrics", "metrics.snapshot")):
            await stream.subscribe(f"{topic}:default/jaxjob/page@{uid}")
            assert (await stream.next(kind))["data"]
            assert (await stream.next("end"))["reason"] == "Finished"


async def test_actions_on_a_record_do_not_reach_a_new_job_of_the_name(browser: Browser) -> None:
    await browser.create(job("replaced", "true"))
    uid = await delete_when_ended(browser, "default", "replaced")
    await browser.create(job("replaced", "sleep 1000"))
    for method, path in (
        ("DELETE", f"jobs/default/jaxjob/replaced@{uid}"),
        ("POST", f"jobs/default/jaxjob/replaced@{uid}:suspend"),
    ):
        status, _ = await browser.call(method, path)
        assert status in (404, 422)
    found = await browser.get("jobs/default/jaxjob/replaced")
    assert found["summary"]["uid"] != uid
    assert found["deleted"] is None
    assert (await browser.get(f"jobs/default/jaxjob/replaced@{uid}"))["summary"]["uid"] == uid
    for other in (
        f"jobs/default/jaxjob/other@{uid}",
        f"jobs/kubeflow/jaxjob/replaced@{uid}",
        f"jobs/default/tfjob/replaced@{uid}",
    ):
        assert (await browser.call("GET", other))[0] == 404
    await browser.call("DELETE", "jobs/default/jaxjob/replaced")


async def test_users_read_the_deleted_jobs_of_their_own_namespaces_alone(
    machine: Machine, browser: Browser, tmp_path: pathlib.Path
) -> None:
    async with (
        user(machine, tmp_path, "team-a", READ_JOBS, READ_PODS, READ_LOGS) as ana,
        user(machine, tmp_path, "team-b", READ_JOBS, READ_PODS, READ_LOGS) as bob,
    ):
        await browser.create(job("secret-plan", "echo plan", namespace="team-a"))
        uid = await delete_when_ended(browser, "team-a", "secret-plan")
        assert [each["summary"]["uid"] for each in (await ana.get("history/jobs"))["jobs"]] == [uid]
        recording = await ana.get(f"history/recordings/{uid}")
        log = f"history/recordings/{uid}/log?container=jax&pod={recording['pods'][0]['uid']}"
        assert "plan" in await ana.get(log)
        for query in ("history/jobs", "history/jobs?namespace=team-a", "history/jobs?name=secret-plan", "history/jobs?deleted=1"):
            assert (await bob.get(query))["jobs"] == []
        assert (await bob.get("history/objects"))["objects"] == []
        page = f"jobs/team-a/jaxjob/secret-plan@{uid}"
        assert (await ana.get(page))["deleted"]
        for path in (f"history/recordings/{uid}", log, page, f"{page}/logs", f"{page}/yaml", f"{page}/metrics"):
            status, error = await bob.call("GET", path)
            assert (status, error["reason"], error["missingRight"]["namespace"]) == (403, "Forbidden", "team-a")
            assert "plan" not in error["message"]


async def test_who_may_not_read_pods_or_logs_reads_the_job_without_them(
    machine: Machine, browser: Browser, tmp_path: pathlib.Path
) -> None:
    async with user(machine, tmp_path, "team-c", READ_JOBS) as carl:
        await browser.create(job("half", "echo words", namespace="team-c"))
        uid = await delete_when_ended(browser, "team-c", "half")
        recording = await carl.get(f"history/recordings/{uid}")
        assert recording["job"]["object"]["spec"]
        assert (recording["pods"], recording["events"], recording["samples"]) == ([], [], [])
        words = " ".join(recording["unreadable"])
        assert 'cannot get resource "pods"' in words
        assert 'cannot get resource "pods/log"' in words


async def test_an_unknown_job_and_a_missing_sign_in_are_errors(browser: Browser, visitor: Browser) -> None:
    assert (await browser.call("GET", "history/recordings/none"))[0] == 404
    visitor.csrf = ""
    assert (await visitor.call("GET", "history/jobs"))[0] == 401


async def test_rights_are_asked_for_each_time(machine: Machine, browser: Browser, tmp_path: pathlib.Path) -> None:
    async with user(machine, tmp_path, "team-d", READ_JOBS) as dora:
        await browser.create(job("soon-hidden", "true", namespace="team-d"))
        uid = await delete_when_ended(browser, "team-d", "soon-hidden")
        assert (await dora.call("GET", f"history/recordings/{uid}"))[0] == 200
        Api(machine.kubeconfig).call("DELETE", f"{ROLES}/team-d/rolebindings/user-of-team-d")
        status, error = await dora.call("GET", f"history/recordings/{uid}")
        assert (status, error["reason"]) == (403, "Forbidden")
        assert (await dora.get("history/jobs"))["jobs"] == []


async def test_a_console_without_a_recorder_says_so(machine: Machine, tmp_path: pathlib.Path) -> None:
    async with console_fixture.console(machine.kubeconfig, tmp_path / "plain") as found:
        await found.sign_in()
        status, error = await found.call("GET", "history/jobs")
        assert status == 422
        assert "no history is recorded" in error["message"]
        feature = next(each for each in (await found.get("capabilities"))["features"] if each["name"] == "history")
        assert not feature["available"]
        assert feature["reason"] == error["message"]


async def test_a_console_with_a_recorder_says_that_it_has_a_history(browser: Browser) -> None:
    feature = next(each for each in (await browser.get("capabilities"))["features"] if each["name"] == "history")
    assert feature == {"name": "history", "available": True, "reason": ""}


async def test_the_changes_of_conditions_are_recorded_also_of_a_job_that_is_gone(browser: Browser) -> None:
    await browser.create(job("changed", "exit 3"))
    uid = await delete_when_ended(browser, "default", "changed")
    found = (await browser.get(f"history/recordings/{uid}/conditions"))["changes"]
    assert found[0]["type"] == "Created"
    assert (found[-1]["type"], found[-1]["status"]) == ("Failed", "True")
    assert [each["time"] for each in found] == sorted(each["time"] for each in found)
    assert (await browser.call("GET", "history/recordings/nobody/conditions"))[0] == 404


async def test_conditions_are_for_who_may_get_the_job(browser: Browser, machine: Machine, tmp_path: pathlib.Path) -> None:
    await browser.create(job("hidden-conditions", "exit 0"))
    uid = await delete_when_ended(browser, "default", "hidden-conditions")
    async with user(machine, tmp_path, "other-conditions", READ_JOBS) as other:
        assert (await other.call("GET", f"history/recordings/{uid}/conditions"))[0] == 403
