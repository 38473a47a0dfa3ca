"""A user with few rights: the console shows what is allowed, and names the right that is missing."""

from __future__ import annotations

import pathlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
import yaml
from tests.cluster.api import Api
from tests.console import console_fixture
from tests.console.console_fixture import Browser, Machine, job

RULES = [
    {"apiGroups": ["kubeflow.org"], "resources": ["jaxjobs"], "verbs": ["get", "list", "watch"]},
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]},
]


def rbac(kind: str, name: str, **content: Any) -> dict[str, Any]:
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": name}, **content}


def kubeconfig_of(machine: Machine, user: str, directory: pathlib.Path) -> pathlib.Path:
    """The kubeconfig of a service account."""
    api, place = Api(machine.kubeconfig), "/api/v1/namespaces/default/serviceaccounts"
    api.call("POST", place, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": user}})
    roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
    api.call("POST", f"{roles}/roles", rbac("Role", user, rules=RULES))
    subject = {"kind": "ServiceAccount", "name": user, "namespace": "default"}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": user}
    api.call("POST", f"{roles}/rolebindings", rbac("RoleBinding", user, subjects=[subject], roleRef=reference))
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    token = api.call("POST", f"{place}/{user}/token", request)["status"]["token"]
    config = yaml.safe_load(machine.kubeconfig.read_text())
    config["users"] = [{"name": config["users"][0]["name"], "user": {"token": token}}]
    path = directory / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    return path


@pytest.fixture
async def reader(machine: Machine, tmp_path: pathlib.Path, request: pytest.FixtureRequest) -> AsyncIterator[Browser]:
    """May read JAXJobs and pods of the namespace default, and nothing else."""
    config = kubeconfig_of(machine, f"reader-{abs(hash(request.node.name)) % 10**8}", tmp_path)
    async with console_fixture.console(config, tmp_path / "limited", machine.data) as found:
        await found.sign_in()
        yield found


async def test_jobs_that_the_user_may_read_are_listed_and_the_missing_rights_are_named(browser: Browser, reader: Browser) -> None:
    await browser.create(job("shared", "sleep 1000"))
    found = await reader.until("jobs?q=shared", lambda found: found["total"] == 1)
    unreadable = {each["kind"]: each["message"] for each in found["unreadable"]}
    assert 'cannot list resource "pytorchjobs"' in unreadable["pytorchjob"]
    detail = await reader.until("jobs/default/jaxjob/shared", lambda found: found["summary"]["status"] == "Running")
    assert not any(action["allowed"] for action in detail["actions"])
    reasons = {action["name"]: action["reason"] for action in detail["actions"]}
    assert reasons["delete"] == "you lack the right to delete jaxjobs in namespace default"
    await browser.call("DELETE", "jobs/default/jaxjob/shared")


async def test_a_refused_action_names_the_missing_right(browser: Browser, reader: Browser) -> None:
    await browser.create(job("kept", "sleep 1000"))
    await reader.until("jobs?q=kept", lambda found: found["total"] == 1)
    status, error = await reader.call("DELETE", "jobs/default/jaxjob/kept")
    assert (status, error["reason"]) == (403, "Forbidden")
    right = error["missingRight"]
    assert (right["verb"], right["group"], right["resource"], right["namespace"], right["name"]) == (
        "delete", "kubeflow.org", "jaxjobs", "default", "kept",
    )  # fmt: skip
    assert right["user"].startswith("system:serviceaccount:default:reader-")
    assert error["tried"] == "delete jaxjob/kept in namespace default"
    assert error["nextStep"] == "Ask an administrator for the right to delete jaxjobs.kubeflow.org in namespace default."
    status, error = await reader.call("POST", "jobs?dryRun=1", yaml.safe_dump(job("new", "true")))
    assert (status, error["missingRight"]["verb"], error["missingRight"]["resource"]) == (403, "create", "jaxjobs")
    page = await reader.get("jobs/default/jaxjob/kept/logs")
    assert all('cannot get resource "pods/log"' in source["error"] for source in page["sources"])
    async with reader.stream() as stream:
        await stream.subscribe("job:other/jaxjob/x")
        found = await stream.next("error")
    assert (found["error"]["missingRight"]["namespace"], found["retrying"]) == ("other", False)
    await browser.call("DELETE", "jobs/default/jaxjob/kept")


async def test_nodes_and_other_kinds_are_refused_with_the_right_by_name(reader: Browser) -> None:
    status, error = await reader.call("GET", "nodes")
    assert (status, error["missingRight"]["resource"]) == (403, "nodes")
    assert error["nextStep"] == "Ask an administrator for the right to list nodes in all namespaces."
    status, error = await reader.call("GET", "jobs/default/pytorchjob/x")
    assert (status, error["missingRight"]["resource"]) == (403, "pytorchjobs")
    capabilities = await reader.get("capabilities")
    assert capabilities["namespaces"] == []
    assert capabilities["user"].startswith("system:serviceaccount:default:reader-")


async def test_rejected_credentials_are_a_state_of_the_cluster_with_a_remedy(machine: Machine, tmp_path: pathlib.Path) -> None:
    config = kubeconfig_of(machine, "former", tmp_path)
    Api(machine.kubeconfig).call("DELETE", "/api/v1/namespaces/default/serviceaccounts/former")
    async with console_fixture.console(config, tmp_path / "page") as found:
        await found.sign_in()
        async with found.stream() as stream:
            state = await stream.until(lambda message: message["state"] == "away", "cluster")
            assert state["reason"] == "Unauthorized"
            assert "Check the credentials" in state["nextStep"]
            await stream.subscribe("job:default/jaxjob/x")
            error = await stream.next("error")
            assert (error["error"]["reason"], error["retrying"]) == ("Unauthorized", True)
        status, error = await found.call("GET", "jobs")
        assert (status, error["reason"]) == (502, "Unauthorized")
