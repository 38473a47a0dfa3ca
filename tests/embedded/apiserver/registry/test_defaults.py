from __future__ import annotations

import copy
import re

import pytest
from tests.embedded.apiserver.registry import admission_cases, object_edits, write_steps

from traincrew.apimachinery.api_errors import StatusError
from traincrew.embedded.apiserver.registry import builtin

POD = builtin.strategy("", "Pod")
ACCOUNT: object_edits.Object = {"kind": "ServiceAccount", "metadata": {"name": "default"}}


def group(obj: object_edits.Object) -> str:
    return str(obj["apiVersion"].rpartition("/")[0])


@pytest.mark.parametrize("kind", object_edits.kinds())
def test_defaulting_is_idempotent(kind: str) -> None:
    for line in object_edits.edits(kind, "create"):
        obj = object_edits.edited(object_edits.base(kind), line)
        rules = builtin.strategy(group(obj), kind)
        rules.default(obj)
        once = copy.deepcopy(obj)
        rules.default(obj)
        assert obj == once, line


def test_every_kind_has_a_strategy() -> None:
    neutral = builtin.strategy("example.com", "Widget")
    assert all(builtin.strategy(group(object_edits.base(kind)), kind) is not neutral for kind in object_edits.kinds())


def created(pod: object_edits.Object, *objects: object_edits.Object) -> object_edits.Object:
    return write_steps.created(pod, *objects, disabled=("NamespaceLifecycle",))


def test_a_pod_gets_its_service_accounts_token() -> None:
    pod = created(admission_cases.pod(), ACCOUNT)
    assert pod["spec"]["serviceAccountName"] == pod["spec"]["serviceAccount"] == "default"
    (volume,) = [each["name"] for each in pod["spec"]["volumes"]]
    assert re.fullmatch("kube-api-access-[a-z0-9]{5}", volume)
    mounts = [container["volumeMounts"][0] for container in pod["spec"]["containers"]]
    path = "/var/run/secrets/kubernetes.io/serviceaccount"
    assert mounts == [{"name": volume, "readOnly": True, "mountPath": path}] * 2
    assert not POD.validate({**pod, "metadata": {**pod["metadata"], "uid": "u"}})


@pytest.mark.parametrize("where", ["pod", "account"])
def test_a_pod_without_automount_gets_no_token(where: str) -> None:
    pod = admission_cases.pod()
    account = {**ACCOUNT, "imagePullSecrets": [{"name": "s"}]}
    (pod["spec"] if where == "pod" else account)["automountServiceAccountToken"] = False
    created(pod, account)
    assert "volumes" not in pod["spec"]
    assert pod["spec"]["imagePullSecrets"] == [{"name": "s"}]


def test_a_pod_of_an_unknown_service_account_is_rejected() -> None:
    pod = object_edits.edited(admission_cases.pod(), 'spec.serviceAccountName = "who"')
    with pytest.raises(StatusError) as error:
        created(pod, ACCOUNT)
    assert error.value.code == 403
    message = 'error looking up service account default/who: serviceaccount "who" not found'
    assert error.value.message == f'pods "p" is forbidden: {message}'


def test_the_priority_comes_from_the_class_that_is_the_global_default() -> None:
    usual: object_edits.Object = {"kind": "PriorityClass", "metadata": {"name": "usual"}, "value": 7, "preemptionPolicy": "Never"}
    pod = created(admission_cases.pod(), ACCOUNT, usual | {"globalDefault": True})
    assert (pod["spec"]["priorityClassName"], pod["spec"]["priority"], pod["spec"]["preemptionPolicy"]) == ("usual", 7, "Never")


def test_a_cluster_ip_in_use_is_rejected() -> None:
    rules, service = builtin.strategy("", "Service"), object_edits.base("Service")
    service["spec"]["clusterIP"] = "10.96.0.7"
    rules.default(service)
    with pytest.raises(StatusError) as error:
        rules.prepare_for_create(service, builtin.WriteContext(ip_in_use=lambda address: address == "10.96.0.7"))
    assert "failed to allocate IP 10.96.0.7: provided IP is already allocated" in error.value.message
