"""Quotas, limit ranges and pod security, compared with the real API server."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from tests.cluster.api import Api, Object, RejectedRequest, eventually
from tests.cluster.test_builtin_agrees import warnings_of
from tests.embedded.apiserver.registry import admission_cases, object_edits, write_steps
from tests.embedded.apiserver.registry.test_admission import pod_security_error

from traincrew.apimachinery import api_errors, quota_usage
from traincrew.embedded.apiserver.admission import limit_ranger
from traincrew.embedded.apiserver.admission.pod_security import policy


def posted(api: Api, namespace: str, obj: Object) -> tuple[str, tuple[str, ...]]:
    """What is refused, in the server's words; and the warnings."""
    path = api.path("pods", namespace)
    headers = {"Content-Type": "application/json"}
    response = api.session.post(f"{api.server}{path}?dryRun=All", data=json.dumps(obj), headers=headers, timeout=60)
    return ("" if response.ok else response.json()["message"]), warnings_of(response)


def prepared(obj: Object, *objects: Object) -> Object:
    return write_steps.created(copy.deepcopy(obj), *objects)


@pytest.mark.parametrize("level", ["baseline", "restricted"])
def test_pod_security_rejects_and_warns_in_the_same_message(api: Api, namespace: str, level: str) -> None:
    labels = {"pod-security.kubernetes.io/enforce": level}
    message = {}
    for line in admission_cases.SECURITY:
        pod = object_edits.edited(admission_cases.pod(namespace), line)
        message[line] = pod_security_error(prepared(pod), labels)
    api.patch("namespaces", "", namespace, {"metadata": {"labels": labels}})
    eventually(lambda: posted(api, namespace, object_edits.edited(admission_cases.pod(namespace), "spec.hostPID = true"))[0])
    answered = {
        line: posted(api, namespace, object_edits.edited(admission_cases.pod(namespace), line))[0]
        for line in admission_cases.SECURITY
    }
    assert message == answered


def test_pod_security_warns_where_the_namespace_asks_for_it(api: Api, namespace: str) -> None:
    labels = {"pod-security.kubernetes.io/warn": "restricted"}
    api.patch("namespaces", "", namespace, {"metadata": {"labels": labels}})
    pod = admission_cases.pod(namespace)
    eventually(lambda: posted(api, namespace, pod)[1])
    assert tuple(policy.warnings(prepared(pod), policy.from_labels(labels))) == posted(api, namespace, pod)[1]


@pytest.mark.parametrize("case", admission_cases.QUOTAS, ids=lambda case: json.dumps(case[0]))
def test_quotas_reject_in_the_same_message(api: Api, namespace: str, case: tuple[Object, Object, str]) -> None:
    spec, used, line = case
    obj = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "small"}, "spec": spec}
    stored = api.create(namespace, obj)
    stored["status"] = {"hard": spec["hard"], "used": used}
    stored = api.replace("resourcequotas", namespace, "small", stored, "status")
    pod = object_edits.edited(admission_cases.pod(namespace), line)
    message = ""
    try:
        quota_usage.check_request(quota_usage.QuotaRequest(prepared(pod), "pods"), [stored])
    except api_errors.StatusError as rejection:
        message = rejection.message
    assert eventually(lambda: [posted(api, namespace, pod)[0]] if posted(api, namespace, pod)[0] == message else None) == [
        message
    ]


@pytest.mark.parametrize("case", admission_cases.LIMITS, ids=lambda case: json.dumps(case[0]))
def test_limit_ranges_fill_and_reject_the_same(api: Api, namespace: str, case: tuple[Object, str]) -> None:
    limit, line = case
    body = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "range"}, "spec": {"limits": [limit]}}
    stored = api.call("POST", f"/api/v1/namespaces/{namespace}/limitranges", body)
    pod = object_edits.edited(admission_cases.pod(namespace), line)
    ours, message = prepared(pod, stored), ""
    try:
        limit_ranger.validate(write_steps.attributes(ours), write_steps.Objects([stored]))
    except api_errors.StatusError as rejection:
        message = rejection.message
    mine = message or [ours["spec"], ours["metadata"].get("annotations")]
    assert eventually(lambda: answer(api, namespace, pod) if answer(api, namespace, pod) == mine else None) == mine


def answer(api: Api, namespace: str, pod: Object) -> Any:
    try:
        stored = api.create(namespace, pod, dryRun="All")
    except RejectedRequest as refused:
        return refused.message
    return [stored["spec"], stored["metadata"].get("annotations")]
