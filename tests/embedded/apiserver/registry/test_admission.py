"""Quotas, limit ranges and pod security. tests/cluster compares them with a real API server."""

from __future__ import annotations

import copy

import pytest
from tests.embedded.apiserver.registry import admission_cases, object_edits, write_steps

from traincrew.apimachinery import quota_usage
from traincrew.apimachinery.api_errors import StatusError
from traincrew.embedded.apiserver.admission import limit_ranger
from traincrew.embedded.apiserver.admission.pod_security import plugin as pod_security
from traincrew.embedded.apiserver.admission.pod_security import policy

SIZED = 'spec.containers[0].resources = {"limits": {"cpu": "1"}} ; spec.containers[1].resources = {"requests": {"cpu": "500m"}}'


def pod(line: str = "", *objects: object_edits.Object) -> object_edits.Object:
    return write_steps.created(object_edits.edited(admission_cases.pod(), line), *objects)


def limit_range(limit: object_edits.Object) -> object_edits.Object:
    return {"kind": "LimitRange", "metadata": {"name": "range"}, "spec": {"limits": [limit]}}


def limited(hard: dict[str, str], used: dict[str, str]) -> object_edits.Object:
    return {"metadata": {"name": "q"}, "spec": {"hard": hard}, "status": {"hard": hard, "used": used}}


def test_a_quota_with_room_accepts_the_request() -> None:
    usage = quota_usage.check_request(
        quota_usage.QuotaRequest(pod(SIZED), "pods"),
        [limited({"pods": "3", "requests.cpu": "2"}, {"pods": "2", "requests.cpu": "500m"})],
    )
    assert usage == {"q": {"pods": "3", "requests.cpu": "2"}}


def test_an_exceeded_quota_is_an_error() -> None:
    with pytest.raises(StatusError) as error:
        quota_usage.check_request(quota_usage.QuotaRequest(pod(), "pods"), [limited({"pods": "2"}, {"pods": "2"})])
    assert error.value.message == 'pods "p" is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2'


def test_a_quota_on_limits_requires_limits() -> None:
    with pytest.raises(StatusError) as error:
        quota_usage.check_request(
            quota_usage.QuotaRequest(pod(SIZED), "pods"), [limited({"limits.cpu": "2"}, {"limits.cpu": "0"})]
        )
    assert error.value.message == 'pods "p" is forbidden: failed quota: q: must specify limits.cpu for: side'


def test_usage_is_counted_from_the_objects() -> None:
    ended = pod(SIZED)
    ended["status"]["phase"] = "Succeeded"
    requests = [quota_usage.QuotaRequest(each, "pods") for each in (pod(SIZED), pod(SIZED), ended)]
    hard = {"pods": "9", "requests.cpu": "9", "count/pods": "9", "services": "9"}
    used = quota_usage.total(requests, limited(hard, {}))
    assert used == {"pods": "2", "requests.cpu": "3", "count/pods": "3", "services": "0"}


def test_a_quota_of_other_objects_counts_them_by_their_group() -> None:
    job = quota_usage.QuotaRequest({"metadata": {"name": "j"}}, "jobs", "batch")
    with pytest.raises(StatusError, match="exceeded quota"):
        quota_usage.check_request(job, [limited({"count/jobs.batch": "1"}, {"count/jobs.batch": "1"})])
    assert quota_usage.check_request(job, [limited({"pods": "0"}, {"pods": "0"})]) == {}


def test_limit_ranger_sets_defaults_and_annotates_the_pod() -> None:
    filled = pod("", limit_range({"type": "Container", "default": {"cpu": "2"}, "defaultRequest": {"cpu": "1"}}))
    assert filled["spec"]["containers"][0]["resources"] == {"limits": {"cpu": "2"}, "requests": {"cpu": "1"}}
    message = "LimitRanger plugin set: cpu request for container main; cpu limit for container main; "
    assert filled["metadata"]["annotations"][limit_ranger.ANNOTATION].startswith(message)


def test_limit_ranger_rejects_a_container_above_the_maximum() -> None:
    large = pod('spec.containers[0].resources = {"limits": {"cpu": "1"}}')
    limit = limit_range({"type": "Container", "max": {"cpu": "500m"}})
    with pytest.raises(StatusError) as error:
        limit_ranger.validate(write_steps.attributes(large), write_steps.Objects([limit]))
    assert "maximum cpu usage per Container is 500m, but limit is 1" in error.value.message


def pod_security_error(new: object_edits.Object, labels: dict[str, str]) -> str:
    """The message of PodSecurity for a new pod in a namespace with these labels; empty if it accepts the pod."""
    namespace = {"kind": "Namespace", "metadata": {"name": new["metadata"]["namespace"], "labels": labels}}
    try:
        pod_security.validate(write_steps.attributes(new), write_steps.Objects([namespace]))
    except StatusError as error:
        return error.message
    return ""


def test_pod_security_enforces_the_level_of_the_namespace() -> None:
    restricted = {"pod-security.kubernetes.io/enforce": "restricted"}
    message = pod_security_error(pod(), restricted)
    assert message.startswith(
        'pods "p" is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false'
    )
    assert not pod_security_error(pod(), {})
    assert not pod_security_error(pod(), {"pod-security.kubernetes.io/enforce": "baseline"})


def test_a_namespace_that_enforces_also_warns_about_templates() -> None:
    labels = {"pod-security.kubernetes.io/enforce": "baseline", "pod-security.kubernetes.io/enforce-version": "v1.30"}
    template = {"spec": copy.deepcopy(pod("spec.hostPID = true")["spec"])}
    assert policy.warnings(template, policy.from_labels(labels)) == [
        'would violate PodSecurity "baseline:v1.30": host namespaces (hostPID=true)'
    ]


def test_an_unknown_level_is_enforced_as_restricted_and_causes_no_warnings() -> None:
    labels = {f"pod-security.kubernetes.io/{mode}": "odd" for mode in ("enforce", "warn")}
    assert policy.from_labels(labels) == policy.PodSecurityPolicy(enforce="restricted:latest", warn="privileged:latest")
