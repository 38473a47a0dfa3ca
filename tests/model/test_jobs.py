"""Jobs and their names, without any kind."""

from __future__ import annotations

import msgspec
import pytest

from traincrew.apimachinery import suggestions
from traincrew.model import jobs, meta, naming


def job(**replicas: int) -> jobs.Job:
    roles = {name: jobs.RoleSpec(name, count, "Never", msgspec.Raw(b"null")) for name, count in replicas.items()}
    return jobs.Job(meta.Meta(name="j", namespace="ns"), None, jobs.RunPolicy(), roles)


def test_the_run_policy_wins_over_legacy_fields() -> None:
    spec = jobs.JobSpec(run_policy=jobs.RunPolicy(backoff_limit=1), backoff_limit=2, clean_pod_policy="All")
    assert spec.policy() == jobs.RunPolicy(backoff_limit=1, clean_pod_policy="All")


@pytest.mark.parametrize(("replicas", "count"), [(3, 3), (0, 0), (-1, 0), (10**10, jobs.MAX_REPLICAS)])
def test_the_number_of_replicas_is_bounded(replicas: int, count: int) -> None:
    assert job(Worker=replicas).count("Worker") == count
    assert job(Worker=replicas).total == count


def test_a_role_that_the_job_lacks_has_no_replicas() -> None:
    assert job(Worker=1).count("Master") == 0


def test_null_fields_of_a_template_count_as_absent() -> None:
    role = jobs.RoleSpec("Worker", 1, "Never", msgspec.Raw(b'{"spec": {"containers": [null, {"name": "a", "env": null}]}}'))
    assert role.containers == [{"name": "a"}]
    assert role.fresh_template() is not role.fresh_template()


def test_names_are_functions_of_the_job() -> None:
    assert naming.replica("j", "Worker", 2) == "j-worker-2"
    assert naming.service_host("j-worker-2", "ns", "cluster.local") == "j-worker-2.ns.svc.cluster.local"
    assert naming.pod_host("j-worker-2", "j", "ns") == "j-worker-2.j.ns.svc"
    assert naming.selector({"b": "1", "a": "2"}) == "a=2,b=1"


def test_a_misspelt_word_is_recognised() -> None:
    assert suggestions.did_you_mean("worker", ("Master", "Worker")) == "; did you mean 'Worker'?"
    assert suggestions.did_you_mean("launcher", ("Master", "Worker")) == ""
