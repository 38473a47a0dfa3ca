"""Objects of all kinds except pods in many states, for the comparison of the printers of two API servers."""

from __future__ import annotations

import itertools
from typing import Any

from tests.cluster.printed_pods import Object, PrintedObject, condition, containers, meta

_TEMPLATE: Object = {"metadata": {"labels": {"app": "x", "b": "y"}}, "spec": {"containers": containers("a", "b")}}
_JOB_POD: Object = {"spec": {"containers": containers("a"), "restartPolicy": "Never"}}
_SELECTOR: Object = {"matchLabels": {"app": "x"}, "matchExpressions": [{"key": "b", "operator": "In", "values": ["z", "y"]}]}


def workloads() -> list[PrintedObject]:
    apps, batch = "/apis/apps/v1/namespaces/{namespace}/", "/apis/batch/v1/namespaces/{namespace}/"
    spec: Object = {"replicas": 3, "selector": _SELECTOR, "template": _TEMPLATE}
    counts: Object = {"replicas": 3, "readyReplicas": 2, "availableReplicas": 1, "updatedReplicas": 2}
    running: Object = {"replicas": 3, "readyReplicas": 2, "availableReplicas": 1}
    daemons: Object = {
        "desiredNumberScheduled": 5, "currentNumberScheduled": 4, "numberReady": 3, "updatedNumberScheduled": 2,
        "numberAvailable": 1, "numberMisscheduled": 0,
    }  # fmt: skip
    daemon_template = _TEMPLATE | {"spec": _TEMPLATE["spec"] | {"nodeSelector": {"z": "1", "a": "2"}}}
    core_spec = {"replicas": 2, "selector": {"app": "x"}, "template": _TEMPLATE}
    jobs: list[tuple[Object, Object | None]] = [
        ({"template": _JOB_POD}, None),
        ({"template": _JOB_POD, "completions": 5, "parallelism": 2, "suspend": True}, {"succeeded": 3}),
        ({"template": _JOB_POD, "parallelism": 4}, {"startTime": "2024-01-01T00:00:00Z", "active": 1, "ready": 0}),
        ({"template": _JOB_POD, "suspend": True}, {"conditions": [condition("Suspended")]}),
    ]
    cron: Object = {"schedule": "*/5 * * * *", "jobTemplate": {"spec": {"template": _JOB_POD}}}
    return [
        PrintedObject(apps + "deployments", {"metadata": meta("d"), "spec": spec}, counts),
        PrintedObject(apps + "replicasets", {"metadata": meta("rs"), "spec": spec}, running),
        PrintedObject(apps + "statefulsets", {"metadata": meta("sts"), "spec": spec | {"serviceName": "s"}}, running),
        PrintedObject(
            apps + "daemonsets", {"metadata": meta("ds"), "spec": {"selector": _SELECTOR, "template": _TEMPLATE}}, daemons
        ),
        PrintedObject(
            apps + "daemonsets", {"metadata": meta("ds"), "spec": {"selector": _SELECTOR, "template": daemon_template}}
        ),
        PrintedObject(
            "/api/v1/namespaces/{namespace}/replicationcontrollers", {"metadata": meta("rc"), "spec": core_spec}, running
        ),
        *(PrintedObject(batch + "jobs", {"metadata": meta("job"), "spec": spec}, status) for spec, status in jobs),
        PrintedObject(batch + "cronjobs", {"metadata": meta("c"), "spec": cron}, {"lastScheduleTime": "2024-01-01T00:00:00Z"}),
        PrintedObject(batch + "cronjobs", {"metadata": meta("c"), "spec": cron | {"suspend": True, "timeZone": "Etc/UTC"}}),
        *_budgets(),
        *_networking(),
        *_autoscalers(),
    ]


def _budgets() -> list[PrintedObject]:
    path = "/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets"
    status = {"disruptionsAllowed": 2, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1, "observedGeneration": 1}
    specs: list[Object] = [{"minAvailable": 1}, {"minAvailable": "50%"}, {"maxUnavailable": 2}]
    return [PrintedObject(path, {"metadata": meta("pdb"), "spec": spec | {"selector": _SELECTOR}}, status) for spec in specs]


def _networking() -> list[PrintedObject]:
    path = "/apis/networking.k8s.io/v1/namespaces/{namespace}/"
    backend = {"defaultBackend": {"service": {"name": "a", "port": {"number": 80}}}}
    hosts = [[{"host": host} for host in text.split(",")] for text in ("a.b", "a.b,c.d,e.f", "a.b,c.d,e.f,g.h", "a.b,,c.d,e.f,")]
    specs: list[Object] = [backend, backend | {"ingressClassName": "c", "tls": [{}]}, *({"rules": rules} for rules in hosts)]
    status = {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}, {"hostname": "long.host.name.example.com"}]}}
    selectors: list[Object] = [
        {},
        {"matchLabels": {"b": "c", "a": "b"}},
        {"matchExpressions": [{"key": "a", "operator": "Exists"}]},
    ]
    return [
        *(PrintedObject(path + "ingresses", {"metadata": meta("i"), "spec": spec}, status) for spec in specs),
        *(PrintedObject(path + "networkpolicies", {"metadata": meta("n"), "spec": {"podSelector": each}}) for each in selectors),
    ]


def _metric(type: str, target: Object, **more: Any) -> Object:
    key = type[0].lower() + type[1:]
    return {"type": type, key: {**more, "target": target}}


def _autoscalers() -> list[PrintedObject]:
    path = "/apis/autoscaling/v2/namespaces/{namespace}/horizontalpodautoscalers"
    cpu = _metric("Resource", {"type": "Utilization", "averageUtilization": 50}, name="cpu")
    memory = _metric("Resource", {"type": "AverageValue", "averageValue": "1Gi"}, name="memory")
    container = _metric("ContainerResource", {"type": "Utilization", "averageUtilization": 5}, name="cpu", container="a")
    pods_metric = _metric("Pods", {"type": "AverageValue", "averageValue": "3"}, metric={"name": "m"})
    outer = _metric("External", {"type": "Value", "value": "30"}, metric={"name": "m"})
    average = _metric("External", {"type": "AverageValue", "averageValue": "7"}, metric={"name": "m"})
    described = {"apiVersion": "v1", "kind": "Service", "name": "s"}
    on_object = _metric("Object", {"type": "Value", "value": "30"}, metric={"name": "m"}, describedObject=described)
    found: Object = {
        "currentReplicas": 3, "desiredReplicas": 3,
        "currentMetrics": [
            {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 33, "averageValue": "20m"}}},
            {"type": "Resource", "resource": {"name": "memory", "current": {"averageValue": "512Mi"}}},
        ],
    }  # fmt: skip
    metrics = [[], [cpu], [cpu, memory], [cpu, memory, container], [pods_metric, outer], [average, on_object], [container]]
    target = {"apiVersion": "kubeflow.org/v1", "kind": "JAXJob", "name": "j"}
    made: list[PrintedObject] = []
    for each, status in itertools.product(metrics, (None, found)):
        spec: Object = {"scaleTargetRef": target, "maxReplicas": 7, "metrics": each}
        made.append(PrintedObject(path, {"metadata": meta("hpa"), "spec": spec}, status))
    return made


def network() -> list[PrintedObject]:
    core = "/api/v1/namespaces/{namespace}/"
    port: Object = {"port": 80, "name": "a"}
    specs: list[Object] = [
        {"ports": [port, {"port": 81, "name": "b", "protocol": "UDP"}], "selector": {"b": "2", "a": "1"}},
        {"clusterIP": "None", "selector": {"a": "1"}},
        {"type": "NodePort", "ports": [port]},
        {"type": "LoadBalancer", "ports": [port]},
        {"type": "LoadBalancer", "ports": [port], "externalIPs": ["1.2.3.4"]},
        {"type": "ExternalName", "externalName": "x.example"},
        {"ports": [port], "externalIPs": ["1.2.3.4", "1.2.3.5"]},
    ]
    balanced = {"loadBalancer": {"ingress": [{"ip": "9.9.9.9"}, {"hostname": "a.example"}, {"ip": "8.8.8.8"}]}}
    addresses = [{"ip": f"10.0.0.{index}"} for index in range(1, 5)]
    subsets: list[list[Object]] = [
        [],
        [{"addresses": addresses[:2], "ports": [{"port": 80, "name": "a"}]}],
        [{"addresses": addresses, "ports": [{"port": 80, "name": "a"}, {"port": 81, "name": "b"}]}],
        [{"addresses": addresses}],
        [{"addresses": [{"ip": "fd00::1"}], "ports": [{"port": 80}]}],
    ]
    slices = "/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices"
    endpoints = [{"addresses": [each["ip"]]} for each in addresses]
    ports: list[Object] = [{"name": "a", "port": 80}, {"name": "b"}]
    return [
        *(PrintedObject(core + "services", {"metadata": meta("svc"), "spec": spec}) for spec in specs),
        PrintedObject(core + "services", {"metadata": meta("svc"), "spec": specs[3]}, balanced),
        PrintedObject(core + "services", {"metadata": meta("svc"), "spec": specs[4]}, balanced),
        *(PrintedObject(core + "endpoints", {"metadata": meta("e"), "subsets": each}) for each in subsets),
        PrintedObject(slices, {"metadata": meta("es"), "addressType": "IPv4", "endpoints": endpoints, "ports": ports}),
        PrintedObject(slices, {"metadata": meta("es"), "addressType": "IPv4", "endpoints": endpoints[:1], "ports": []}),
        PrintedObject(slices, {"metadata": meta("es"), "addressType": "FQDN", "endpoints": [], "ports": [{"name": ""}]}),
    ]


def storage() -> list[PrintedObject]:
    claims, volumes = "/api/v1/namespaces/{namespace}/persistentvolumeclaims", "/api/v1/persistentvolumes"
    asked: Object = {"accessModes": ["ReadWriteOnce", "ReadOnlyMany"], "resources": {"requests": {"storage": "1Gi"}}}
    given: Object = {"phase": "Bound", "accessModes": ["ReadWriteMany"], "capacity": {"storage": "2Gi"}}
    volume: Object = {"capacity": {"storage": "1Gi"}, "hostPath": {"path": "/x"}, "accessModes": ["ReadWriteOncePod"]}
    bound: Object = {"claimRef": {"namespace": "ns", "name": "c"}, "storageClassName": "fast", "volumeMode": "Block"}
    named = {"annotations": {"volume.beta.kubernetes.io/storage-class": "old"}}
    default = {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}
    classes = "/apis/storage.k8s.io/v1/storageclasses"
    late: Object = {"volumeBindingMode": "WaitForFirstConsumer", "reclaimPolicy": "Retain", "allowVolumeExpansion": True}
    return [
        PrintedObject(claims, {"metadata": meta("c"), "spec": asked}),
        PrintedObject(claims, {"metadata": meta("c"), "spec": asked | {"storageClassName": "fast"}}, {"phase": "Pending"}),
        PrintedObject(claims, {"metadata": meta("c", **named), "spec": asked | {"volumeName": "v"}}, given),
        PrintedObject(volumes, {"metadata": meta("show-v"), "spec": volume}),
        PrintedObject(volumes, {"metadata": meta("show-v"), "spec": volume | bound}, {"phase": "Failed", "reason": "Lost"}),
        PrintedObject(classes, {"metadata": meta("show-s"), "provisioner": "p/x"}),
        PrintedObject(classes, {"metadata": meta("show-s", **default), "provisioner": "p/x", **late}),
    ]


def cluster() -> list[PrintedObject]:
    core, rbac = "/api/v1/namespaces/{namespace}/", "/apis/rbac.authorization.k8s.io/v1/"
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}
    cluster_role = role | {"kind": "ClusterRole"}
    people = [{"kind": kind, "name": f"{kind}{index}"} for kind in ("User", "Group") for index in (1, 2)]
    accounts = [{"kind": "ServiceAccount", "namespace": "ns", "name": "sa"}]
    node_info = {
        "machineID": "", "systemUUID": "", "bootID": "", "kernelVersion": "6.1", "osImage": "Debian", "kubeletVersion": "v1.32.0",
        "containerRuntimeVersion": "containerd://2", "kubeProxyVersion": "", "operatingSystem": "linux", "architecture": "amd64",
    }  # fmt: skip
    addresses = [{"type": "InternalIP", "address": "10.0.0.1"}, {"type": "ExternalIP", "address": "1.1.1.1"}]
    ready: Object = {"conditions": [condition("Ready")], "nodeInfo": node_info, "addresses": addresses}
    roles = {"labels": {"node-role.kubernetes.io/control-plane": "", "node-role.kubernetes.io/b": "", "kubernetes.io/role": "a"}}
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
    lease = "/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
    priorities = "/apis/scheduling.k8s.io/v1/priorityclasses"
    limits = {"limits": [{"type": "Container", "default": {"cpu": "1"}}]}
    hard = {"pods": "5", "limits.cpu": "4", "requests.memory": "1Gi", "limits.memory": "2Gi"}
    return [
        PrintedObject(core + "configmaps", {"metadata": meta("cm"), "data": {"a": "1", "b": "2"}, "binaryData": {"c": "AA=="}}),
        PrintedObject(core + "configmaps", {"metadata": meta("cm")}),
        PrintedObject(core + "secrets", {"metadata": meta("s"), "stringData": {"a": "1"}}),
        PrintedObject(core + "serviceaccounts", {"metadata": meta("sa"), "secrets": [{"name": "x"}]}),
        PrintedObject(core + "limitranges", {"metadata": meta("lr"), "spec": limits}),
        PrintedObject(
            core + "resourcequotas", {"metadata": meta("rq"), "spec": {"hard": hard}}, {"hard": hard, "used": {"pods": "1"}}
        ),
        PrintedObject("/api/v1/namespaces", {"metadata": meta("show-ns")}),
        PrintedObject("/api/v1/nodes", {"metadata": meta("show-node")}),
        PrintedObject("/api/v1/nodes", {"metadata": meta("show-node", **roles)}, ready),
        PrintedObject(
            "/api/v1/nodes",
            {"metadata": meta("show-node"), "spec": {"unschedulable": True}},
            {"conditions": [condition("Ready", "Unknown")]},
        ),
        PrintedObject(rbac + "namespaces/{namespace}/roles", {"metadata": meta("r"), "rules": rules}),
        PrintedObject(rbac + "clusterroles", {"metadata": meta("show-cr"), "rules": rules}),
        PrintedObject(
            rbac + "namespaces/{namespace}/rolebindings",
            {"metadata": meta("rb"), "roleRef": role, "subjects": [*people, *accounts]},
        ),
        PrintedObject(
            rbac + "clusterrolebindings", {"metadata": meta("show-crb"), "roleRef": cluster_role, "subjects": accounts}
        ),
        PrintedObject(lease, {"metadata": meta("l"), "spec": {"holderIdentity": "me"}}),
        PrintedObject(lease, {"metadata": meta("l")}),
        PrintedObject(priorities, {"metadata": meta("show-p"), "value": 10}),
        PrintedObject(priorities, {"metadata": meta("show-p"), "value": -7, "preemptionPolicy": "Never"}),
        *_events(),
    ]


def _events() -> list[PrintedObject]:
    path = "/api/v1/namespaces/{namespace}/events"
    about = {"kind": "Pod", "name": "p", "fieldPath": "spec.containers{a}"}
    times = {"firstTimestamp": "2024-01-01T00:00:00Z", "lastTimestamp": "2024-06-01T00:00:00Z"}
    old: Object = {"reason": "R", "message": " text \n", "type": "Normal", "source": {"component": "c", "host": "h"}, "count": 4}
    new: Object = {
        "reason": "R", "action": "A", "type": "Warning", "reportingComponent": "k/c", "reportingInstance": "i",
        "eventTime": "2024-01-01T00:00:00.000001Z",
    }  # fmt: skip
    series = {"series": {"count": 9, "lastObservedTime": "2024-03-01T00:00:00.000000Z"}}
    made: list[Object] = [old | times, {"reason": "R"}, new, new | series]
    return [
        PrintedObject(
            path,
            {"metadata": meta("e", namespace="{namespace}"), "involvedObject": about | {"namespace": "{namespace}"}, **each},
        )
        for each in made
    ]
