"""New jobs: dry run and creation, faults at the field and the line."""

from __future__ import annotations

import json

import yaml
from tests.console.console_fixture import Browser, job

FAULTY = """\
# a comment
apiVersion: kubeflow.org/v1
kind: JAXJob
metadata:
  name: faulty
spec:
  jaxReplicaSpecs:
    Worker:
      replicas: two
      restartPolicy: Sometimes
      template:
        spec:
          containers:
          - name: jax
            imgae: x
"""
QUOTA = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "none"},
    "spec": {"hard": {"count/jaxjobs.kubeflow.org": "0"}},
}


async def test_every_fault_of_a_manifest_is_at_its_field_and_line(browser: Browser) -> None:
    for path in ("jobs?dryRun=1", "jobs"):
        status, error = await browser.call("POST", path, FAULTY)
        assert (status, error["reason"]) == (422, "Invalid")
        faults = {fault["path"]: fault["line"] for fault in error["fields"]}
        worker = "spec.jaxReplicaSpecs.Worker"
        assert faults[f"{worker}.replicas"] == 9
        assert faults[f"{worker}.restartPolicy"] == 10
        assert faults[f"{worker}.template.spec.containers[0].imgae"] == 15
    assert (await browser.get("jobs?q=faulty"))["total"] == 0


async def test_yaml_that_cannot_be_parsed_has_its_fault_at_the_line(browser: Browser) -> None:
    status, error = await browser.call("POST", "jobs?dryRun=1", "apiVersion: v1\nkind: [\n")
    assert (status, error["reason"]) == (422, "Invalid")
    assert error["fields"][0]["line"] >= 2
    for body in ("", "text", "- 1", "\0", "a: &a [*a]"):
        assert (await browser.call("POST", "jobs?dryRun=1", body))[1]["reason"] == "Invalid"
    assert (await browser.call("POST", "jobs", b"\xff"))[1]["message"] == "the manifest is not UTF-8 text (byte 0)"


async def test_a_dry_run_creates_nothing_and_names_what_would_be_created(browser: Browser) -> None:
    text = yaml.safe_dump_all([{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "tried"}}, job("tried", "true")])
    status, result = await browser.call("POST", "jobs?dryRun=1&namespace=default", text)
    assert status == 200, result
    assert result["dryRun"]
    assert [(each["kindName"], each["namespace"], each["name"], each["kind"]) for each in result["objects"]] == [
        ("ConfigMap", "default", "tried", ""),
        ("JAXJob", "default", "tried", "jaxjob"),
    ]
    assert (await browser.call("GET", "jobs/default/jaxjob/tried"))[0] == 404
    status, result = await browser.call("POST", "jobs", text)
    assert (status, result["dryRun"]) == (200, False)
    await browser.until("jobs/default/jaxjob/tried", lambda found: found["summary"]["status"] == "Succeeded")


async def test_what_only_the_api_server_knows_is_a_fault_at_a_line_too(browser: Browser) -> None:
    await browser.create(job("taken", "true"))
    status, error = await browser.call("POST", "jobs?dryRun=1", yaml.safe_dump(job("taken", "true"), sort_keys=False))
    assert status == 422
    (fault,) = error["fields"]
    assert (fault["path"], fault["line"]) == ("metadata.name", 4)
    assert "already exists" in fault["message"]
    elsewhere = yaml.safe_dump(job("new", "true", namespace="none"), sort_keys=False)
    assert "none" in (await browser.call("POST", "jobs", elsewhere))[1]["message"]
    unknown = "apiVersion: v1\nkind: ConfigMpa\nmetadata: {name: x}\n"
    (fault,) = (await browser.call("POST", "jobs?dryRun=1", unknown))[1]["fields"]
    assert (fault["line"], fault["path"]) == (2, "kind")
    assert "ConfigMap" in fault["message"]


async def test_nothing_of_several_objects_is_created_if_one_has_a_fault(browser: Browser) -> None:
    status, _ = await browser.call("POST", "jobs", f"{json.dumps(job('whole', 'true'))}\n---\n{FAULTY}")
    assert status == 422
    assert (await browser.call("GET", "jobs/default/jaxjob/whole"))[0] == 404


async def test_names_and_texts_of_users_are_never_markup_and_change_no_path(browser: Browser) -> None:
    script = "<script>alert(1)</script>"
    notes = {"traincrew.kubeflow.org/description": script, "x/y": "\u202e\u0007"}
    await browser.create(job("texts", f"echo '{script}'", annotations=notes, labels={"exp": "7"}))
    found = await browser.until("jobs?label=exp%3D7", lambda found: found["total"] == 1)
    assert found["jobs"][0]["description"] == script
    assert (await browser.get("jobs?q=%3Cscript%3E"))["total"] == 1
    status, error = await browser.call("POST", "jobs", json.dumps(job(f"{script}../../x", "true")))
    assert (status, error["reason"]) == (422, "Invalid")
    status, error = await browser.call("GET", "jobs/default/jaxjob/%3Cscript%3Ealert(1)%3C%2Fscript%3E")
    assert (status, error["reason"]) == (404, "NotFound")


async def test_the_yaml_of_a_job_is_that_of_a_new_one(browser: Browser) -> None:
    await browser.create(job("original", "true", labels={"a": "b"}))
    found = await browser.get("jobs/default/jaxjob/original/yaml")
    assert "managedFields" not in found["yaml"]
    assert yaml.safe_load(found["yaml"])["metadata"]["uid"]
    copy = yaml.safe_load(found["manifest"])
    assert set(copy) == {"apiVersion", "kind", "metadata", "spec"}
    assert copy["metadata"] == {"name": "original", "namespace": "default", "labels": {"a": "b"}}
    copy["metadata"]["name"] = "copied"
    await browser.create(copy)
    await browser.until("jobs/default/jaxjob/copied", lambda found: found["summary"]["status"] == "Succeeded")


async def test_a_quota_that_refuses_the_job_is_said(browser: Browser) -> None:
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "full"}}
    await browser.create(space)
    status, error = await browser.call("POST", "jobs?namespace=full", json.dumps(QUOTA))
    assert status == 200, error
    status, error = await browser.call("POST", "jobs?namespace=full", json.dumps(job("much", "true")))
    assert status == 422
    assert "exceeded quota" in error["message"]


async def test_the_passport_of_a_manifest_is_read_without_creating_anything(browser: Browser) -> None:
    status, found = await browser.call("POST", "passport", yaml.safe_dump(job("planned", "true", workers=2)))
    assert status == 200
    ((first, second),) = [each["replicas"] for each in found["jobs"]]
    assert [{env["name"]: env["value"] for env in each["env"]}["PROCESS_ID"] for each in (first, second)] == ["0", "1"]
    assert (await browser.get("jobs?q=planned"))["total"] == 0
    assert (await browser.call("POST", "passport", "kind: ["))[1]["reason"] == "Invalid"
