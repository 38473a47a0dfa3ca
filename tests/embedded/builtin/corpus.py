"""Objects of the built-in kinds, right and wrong: a base of each kind, and edits of it, one a line: `path = JSON`, `;` between two.

A path ends in `!` to take the field away. Edits under UPDATES are made to the stored object and sent with PUT; those under STATUS
to the status subresource.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from typing import Any

import yaml

Object = dict[str, Any]

CLUSTER_SCOPED = ("Namespace", "Node", "PersistentVolume", "ClusterRole", "ClusterRoleBinding", "PriorityClass", "StorageClass")
PLURALS = {"Endpoints": "endpoints", "PriorityClass": "priorityclasses", "StorageClass": "storageclasses"}


def plural(kind: str) -> str:
    return PLURALS.get(kind, kind.lower() + "s")


_STEP = re.compile(r"\.?([^.\[\]!]+)|\[(\d+)\]|\['([^']*)'\]")


def edited(base: Object, line: str) -> Object:
    obj = copy.deepcopy(base)
    for edit in line.split(" ; "):
        path, _, value = edit.partition(" = ")
        _edit(obj, path.strip(), json.loads(value) if value else None)
    return obj


def _edit(obj: Any, path: str, value: Any) -> None:
    steps: list[Any] = [int(index) if index else name or quoted for name, index, quoted in _STEP.findall(path)]
    for step in steps[:-1]:
        if isinstance(obj, dict):
            obj = obj.setdefault(step, {})
        else:
            obj = obj[step]
    if path.endswith("!"):
        obj.pop(steps[-1], None)
    elif isinstance(obj, list) and steps[-1] == len(obj):
        obj.append(value)
    else:
        obj[steps[-1]] = value


def lines(text: str) -> Iterator[str]:
    return (line.strip() for line in text.strip().splitlines() if line.strip() and not line.strip().startswith("#"))


def base(kind: str) -> Object:
    found: Object = yaml.safe_load(BASES[kind])
    return found


BASES = {
    "Pod": """
apiVersion: v1
kind: Pod
metadata: {name: base, labels: {app: web}, annotations: {note: "yes"}}
spec:
  containers:
  - name: main
    image: busybox
    command: [sleep, "1"]
    env: [{name: A, value: "1"}, {name: B, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]
    ports: [{containerPort: 80, name: http}]
    resources: {limits: {cpu: "1", memory: 1Gi}}
    volumeMounts: [{name: data, mountPath: /data}]
  initContainers: [{name: first, image: "busybox:1.36"}]
  volumes: [{name: data, emptyDir: {}}]
""",
    "Service": """
apiVersion: v1
kind: Service
metadata: {name: base}
spec: {selector: {app: web}, ports: [{port: 80, name: http}]}
""",
    "ConfigMap": "{apiVersion: v1, kind: ConfigMap, metadata: {name: base}, data: {a: b}, binaryData: {c: aGVsbG8=}}",
    "Secret": "{apiVersion: v1, kind: Secret, metadata: {name: base}, data: {a: aGVsbG8=}, stringData: {b: text}}",
    "ServiceAccount": "{apiVersion: v1, kind: ServiceAccount, metadata: {name: base}, secrets: [{name: x, kind: Secret}]}",
    "Namespace": "{apiVersion: v1, kind: Namespace, metadata: {name: base}}",
    "Node": """
apiVersion: v1
kind: Node
metadata: {name: base}
spec: {podCIDR: 10.1.0.0/24, taints: [{key: a, effect: NoSchedule}]}
status: {capacity: {cpu: "4", memory: 8192Mi, pods: "110"}}
""",
    "Event": """
apiVersion: v1
kind: Event
metadata: {name: base}
involvedObject: {kind: Pod, name: p, namespace: NAMESPACE}
reason: Started
message: it started
type: Normal
firstTimestamp: "2024-01-01T00:00:00Z"
count: 1
source: {component: me}
""",
    "Lease": """
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: base}
spec: {holderIdentity: me, leaseDurationSeconds: 15, renewTime: "2024-01-01T00:00:00.123456Z"}
""",
    "Job": """
apiVersion: batch/v1
kind: Job
metadata: {name: base}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: "busybox:1"}]}}}
""",
    "CronJob": """
apiVersion: batch/v1
kind: CronJob
metadata: {name: base}
spec:
  schedule: "*/5 * * * *"
  jobTemplate: {spec: {template: {spec: {restartPolicy: OnFailure, containers: [{name: main, image: busybox}]}}}}
""",
    "Deployment": """
apiVersion: apps/v1
kind: Deployment
metadata: {name: base}
spec:
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: main, image: busybox}]}}
""",
    "ReplicaSet": """
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: base}
spec:
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: main, image: busybox}]}}
""",
    "StatefulSet": """
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: base}
spec:
  serviceName: web
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: main, image: busybox}]}}
  volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]
""",
    "DaemonSet": """
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: base}
spec:
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: main, image: busybox}]}}
""",
    "Role": """
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: base}
rules: [{apiGroups: [""], resources: [pods], verbs: [get, list]}]
""",
    "ClusterRole": """
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: base}
rules: [{nonResourceURLs: [/healthz], verbs: [get]}]
""",
    "RoleBinding": """
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: base}
roleRef: {kind: Role, name: r, apiGroup: rbac.authorization.k8s.io}
subjects: [{kind: User, name: u}, {kind: ServiceAccount, name: s, namespace: n}]
""",
    "ClusterRoleBinding": """
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: base}
roleRef: {kind: ClusterRole, name: r, apiGroup: rbac.authorization.k8s.io}
subjects: [{kind: Group, name: g}]
""",
    "PersistentVolume": """
apiVersion: v1
kind: PersistentVolume
metadata: {name: base}
spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /data}}
""",
    "PersistentVolumeClaim": """
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: base}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
""",
    "HorizontalPodAutoscaler": """
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: base}
spec: {scaleTargetRef: {kind: Deployment, name: d, apiVersion: apps/v1}, maxReplicas: 3}
""",
    "PriorityClass": "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: base}, value: 100}",
    "StorageClass": "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: base}, provisioner: example.com/x}",
    "Endpoints": """
apiVersion: v1
kind: Endpoints
metadata: {name: base}
subsets: [{addresses: [{ip: 10.0.0.1}], ports: [{port: 80}]}]
""",
    "EndpointSlice": """
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: base}
addressType: IPv4
endpoints: [{addresses: [10.0.0.1]}]
ports: [{port: 80}]
""",
    "LimitRange": """
apiVersion: v1
kind: LimitRange
metadata: {name: base}
spec: {limits: [{type: PersistentVolumeClaim, max: {storage: 10Gi}}]}
""",
    "ResourceQuota": """
apiVersion: v1
kind: ResourceQuota
metadata: {name: base}
spec: {hard: {"count/widgets.example.com": "10"}}
""",
    "PodDisruptionBudget": """
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: base}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
""",
}

METADATA = """
metadata.name = "UPPER"
metadata.name = "with_underscore"
metadata.name = "dot.ted"
metadata.name = "1digit"
metadata.name = "-dash"
metadata.labels = {"a b": "c"}
metadata.labels = {"a": "b c"}
metadata.labels = {"a/b/c": "d"}
metadata.labels = {"/b": "d"}
metadata.labels = {"Example.com/b": "d"}
metadata.labels = {"": "d"}
metadata.labels = {"a": "0123456789012345678901234567890123456789012345678901234567890123456789"}
metadata.labels = {"0123456789012345678901234567890123456789012345678901234567890123456789": "a"}
metadata.annotations = {"UP/x": "d"}
metadata.annotations = {"a b": "d"}
metadata.annotations = {}
metadata.finalizers = ["nodomain"]
metadata.finalizers = ["example.com/fine"]
metadata.finalizers = ["bad name/x"]
metadata.ownerReferences = [{"apiVersion": "", "kind": "", "name": "", "uid": ""}]
metadata.ownerReferences = [{"apiVersion": "v1", "kind": "Event", "name": "e", "uid": "u"}]
metadata.ownerReferences = [{"apiVersion": "a/b/c", "kind": "K", "name": "e", "uid": "u"}]
metadata.generation = 7
metadata.generateName = "Pre-"
"""
