"""A job with ten thousand pods: its page gets some replicas, those that do not run first, and reads the others in pages."""

from __future__ import annotations

from tests.console import many_pods
from tests.console.console_fixture import Browser, Machine

from traincrew.console.view import replica_paging

PODS = 10_000
FAILED = 7_777
JOB = "jobs/default/jaxjob/large"


async def test_a_job_with_ten_thousand_pods(browser: Browser, machine: Machine) -> None:
    await browser.create(many_pods.large_job("large", PODS))
    await many_pods.create(machine.kubeconfig, "large", PODS, failed=FAILED)

    detail = await browser.get(JOB)
    names = [each["name"] for each in detail["replicas"]]
    assert len(names) == replica_paging.MAX_SHOWN
    assert detail["moreReplicas"] == PODS - len(names)
    assert names[:2] == ["worker-0", "worker-1"]
    assert names[-1] == f"worker-{FAILED}"
    assert {each["replica"] for each in detail["timeline"]} == set(names)
    assert detail["summary"]["replicas"]["failed"] == 1

    page = await browser.get(f"{JOB}/replicas?offset=9900&limit=1000")
    assert (page["total"], len(page["replicas"])) == (PODS, 100)
    assert page["counts"] == {"Running": PODS - 1, "Failed": 1}
    assert page["replicas"][-1]["name"] == "worker-9999"
    failed = await browser.get(f"{JOB}/replicas?state=Failed")
    assert [each["name"] for each in failed["replicas"]] == [f"worker-{FAILED}"]
    assert (await browser.get(f"{JOB}/replicas?q=worker-123"))["total"] == 11
    assert (await browser.get(f"{JOB}/replicas/worker-{FAILED}"))["replica"]["state"] == "Failed"
    status, problem = await browser.call("GET", f"{JOB}/replicas?offset=-1")
    assert status == 422
    assert "offset" in problem["message"]

    async with browser.stream() as stream:
        await stream.subscribe("job:default/jaxjob/large")
        await stream.next("job.snapshot")
        await browser.call("DELETE", JOB)
        await stream.next("end")
