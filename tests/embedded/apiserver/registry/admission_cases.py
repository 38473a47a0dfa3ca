"""Cases for admission plugins: edits that pod security checks, and quotas and limit ranges with matching pods."""

from __future__ import annotations

from tests.embedded.apiserver.registry.object_edits import Object


def pod(namespace: str = "default") -> Object:
    containers = [{"name": "main", "image": "busybox"}, {"name": "side", "image": "busybox"}]
    meta = {"name": "p", "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": containers}}


_SAFE = '{"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}, "runAsNonRoot": true}'
_BOTH = f"spec.containers[0].securityContext = {_SAFE} ; spec.containers[1].securityContext = {_SAFE}"

SECURITY = (
    'spec.restartPolicy = "Never"',
    f'{_BOTH} ; spec.securityContext = {{"seccompProfile": {{"type": "RuntimeDefault"}}}}',
    f'{_BOTH} ; spec.securityContext = {{"seccompProfile": {{"type": "Unconfined"}}}}',
    _BOTH,
    "spec.hostNetwork = true ; spec.hostPID = true ; spec.hostIPC = true",
    'spec.containers[0].securityContext = {"privileged": true}',
    'spec.containers[0].securityContext = {"capabilities": {"add": ["NET_ADMIN", "CHOWN"]}}',
    'spec.containers[0].securityContext = {"runAsUser": 0, "runAsNonRoot": false}',
    'spec.securityContext = {"runAsUser": 0, "runAsNonRoot": false}',
    'spec.securityContext = {"runAsNonRoot": true}',
    'spec.containers[1].securityContext = {"seccompProfile": {"type": "Unconfined"}}',
    'spec.containers[0].ports = [{"containerPort": 80, "hostPort": 80}, {"containerPort": 81, "hostPort": 81}]',
    'spec.volumes = [{"name": "a", "hostPath": {"path": "/x"}}]',
    'spec.volumes = [{"name": "a", "nfs": {"server": "s", "path": "/x"}}, {"name": "b", "hostPath": {"path": "/"}}]',
    'spec.volumes = [{"name": "a", "emptyDir": {}}, {"name": "b", "configMap": {"name": "c"}}]',
    'spec.securityContext = {"sysctls": [{"name": "kernel.msgmax", "value": "1"}]}',
    'spec.securityContext = {"sysctls": [{"name": "net.ipv4.tcp_rmem", "value": "1"}]}',
    'spec.securityContext = {"seLinuxOptions": {"type": "x", "user": "u"}}',
    'spec.containers[0].securityContext = {"seLinuxOptions": {"role": "r"}}',
    'spec.containers[0].securityContext = {"appArmorProfile": {"type": "Unconfined"}}',
    'spec.initContainers = [{"name": "init", "image": "x", "securityContext": {"privileged": true}}]',
)

_SIZED = 'spec.containers[0].resources = {"limits": {"cpu": "1", "memory": "1Gi"}}'
_ALL_SIZED = f'{_SIZED} ; spec.containers[1].resources = {{"requests": {{"cpu": "500m", "memory": "512Mi"}}}}'

QUOTAS: tuple[tuple[Object, Object, str], ...] = (
    ({"hard": {"pods": "2"}}, {"pods": "2"}, ""),
    ({"hard": {"pods": "2"}}, {"pods": "1"}, ""),
    ({"hard": {"pods": "2"}}, {}, ""),
    ({"hard": {"count/pods": "0"}}, {"count/pods": "0"}, ""),
    ({"hard": {"requests.cpu": "1"}}, {"requests.cpu": "0"}, ""),
    ({"hard": {"requests.cpu": "1", "limits.memory": "1Gi"}}, {"requests.cpu": "0", "limits.memory": "0"}, _ALL_SIZED),
    ({"hard": {"requests.cpu": "1"}}, {"requests.cpu": "0"}, _ALL_SIZED),
    ({"hard": {"cpu": "10", "memory": "1Gi"}}, {"cpu": "9", "memory": "0"}, _ALL_SIZED),
    ({"hard": {"memory": "1536Mi"}}, {"memory": "0"}, _ALL_SIZED),
    ({"hard": {"pods": "0"}, "scopes": ["BestEffort"]}, {"pods": "0"}, ""),
    ({"hard": {"pods": "0"}, "scopes": ["BestEffort"]}, {"pods": "0"}, _SIZED),
    ({"hard": {"pods": "0"}, "scopes": ["Terminating"]}, {"pods": "0"}, "spec.activeDeadlineSeconds = 5"),
    (
        {"hard": {"requests.nvidia.com/gpu": "1"}},
        {"requests.nvidia.com/gpu": "0"},
        'spec.containers[0].resources = {"limits": {"nvidia.com/gpu": 2}}',
    ),
    ({"hard": {"services": "0"}}, {"services": "0"}, ""),
)

LIMITS: tuple[tuple[Object, str], ...] = (
    ({"type": "Container", "default": {"cpu": "2", "memory": "1Gi"}, "defaultRequest": {"cpu": "100m"}}, ""),
    ({"type": "Container", "default": {"cpu": "2"}}, _SIZED),
    ({"type": "Container", "max": {"cpu": "500m"}}, _SIZED),
    ({"type": "Container", "min": {"memory": "2Gi"}}, _SIZED),
    ({"type": "Container", "min": {"memory": "2Gi"}}, ""),
    (
        {"type": "Container", "maxLimitRequestRatio": {"cpu": "2"}},
        'spec.containers[0].resources = {"limits": {"cpu": "3"}, "requests": {"cpu": "1"}}',
    ),
    ({"type": "Pod", "max": {"cpu": "1"}}, _ALL_SIZED),
    ({"type": "Pod", "max": {"memory": "2Gi"}, "min": {"cpu": "1"}}, _ALL_SIZED),
)
