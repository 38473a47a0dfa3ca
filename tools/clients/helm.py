"""Helm: its starter chart through the life of a release."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from tools.clients import commands, go_programs
from tools.clients.commands import Check
from tools.clients.results import ClientResult, from_checks

POD_CHART = {
    "Chart.yaml": "apiVersion: v2\nname: pods\nversion: 0.1.0\n",
    "values.yaml": "greeting: hello\n",
    "crds/widgets.yaml": """apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.clients.example.com}
spec:
  group: clients.example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
""",
    "templates/pod.yaml": """apiVersion: v1
kind: Pod
metadata: {name: {{ .Release.Name }}-server, labels: {app: {{ .Release.Name }}}}
spec:
  containers: [{name: main, image: nginx, ports: [{containerPort: 80}], readinessProbe: {httpGet: {port: 80}, periodSeconds: 1}}]
""",
    "templates/widget.yaml": """apiVersion: clients.example.com/v1
kind: Widget
metadata: {name: {{ .Release.Name }}}
spec: {greeting: {{ .Values.greeting }}}
""",
    "templates/lookup.yaml": """apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}-lookup}
data:
  found: {{ (lookup "v1" "Namespace" "" .Release.Namespace).metadata.name | quote }}
  kube: {{ .Capabilities.KubeVersion.Version }}
""",
    "templates/job.yaml": """apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Release.Name }}-migrate
  annotations: {helm.sh/hook: "pre-install,pre-upgrade", helm.sh/hook-delete-policy: before-hook-creation}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: busybox, command: [sh, -c, "echo migrated"]}]}}}
""",
    "templates/tests/test.yaml": """apiVersion: v1
kind: Pod
metadata: {name: {{ .Release.Name }}-test, annotations: {helm.sh/hook: test}}
spec: {restartPolicy: Never, containers: [{name: main, image: busybox, command: [sh, -c, "echo tested"]}]}
""",
}
"""A chart of kinds that a cluster on one machine runs: a CRD with an object, a pod, a Job as a hook, a test."""

NAMESPACE = ("--namespace", "helm-clients")
CHECKS = (
    Check(("create", "starter"), "Creating starter"),
    Check(("lint", "starter"), "0 chart.s. failed"),
    Check(("template", "starter", "--validate", "--set", "ingress.enabled=true"), "kind: Ingress"),
    Check(
        ("install", "one", "starter", *NAMESPACE, "--create-namespace", "--set", "autoscaling.enabled=true"),
        "STATUS: deployed.*no controller of this cluster acts on objects of kind Deployment",
    ),
    Check(("install", "one", "starter", *NAMESPACE), "cannot re-use a name", code=1),
    Check(("upgrade", "one", "starter", *NAMESPACE, "--set", "replicaCount=3"), "REVISION: 2"),
    Check(("rollback", "one", "1", *NAMESPACE), "Rollback was a success"),
    Check(("history", "one", *NAMESPACE), "Rollback to 1"),
    Check(("status", "one", *NAMESPACE, "--show-resources"), "v1/Deployment"),
    Check(("get", "manifest", "one", *NAMESPACE), "kind: ServiceAccount"),
    Check(("uninstall", "one", *NAMESPACE, "--wait"), "uninstalled"),
    Check(("install", "two", "pods", *NAMESPACE, "--wait", "--timeout", "60s"), "STATUS: deployed"),
    Check(("get", "hooks", "two", *NAMESPACE), "two-migrate"),
    Check(("test", "two", *NAMESPACE, "--logs"), "Phase: +Succeeded.*tested"),
    Check(("upgrade", "two", "pods", *NAMESPACE, "--set", "greeting=bye", "--wait", "--timeout", "60s"), "REVISION: 2"),
    Check(("get", "values", "two", *NAMESPACE), "greeting: bye"),
    Check(("upgrade", "two", "pods", *NAMESPACE, "--dry-run=server"), 'found: "helm-clients"'),
    Check(("list", "--all-namespaces", "--output", "json"), '"name":"two"'),
    Check(("uninstall", "two", *NAMESPACE, "--cascade", "foreground", "--wait"), "uninstalled"),
    Check(("list", *NAMESPACE, "--all", "--short"), r"\A\Z"),
)


def run(cluster: Mapping[str, str]) -> ClientResult:
    program, started = go_programs.program("helm"), time.monotonic()
    with tempfile.TemporaryDirectory() as work:
        for name, content in POD_CHART.items():
            path = Path(work) / "pods" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        checks = commands.run(program, CHECKS, Path(work), cluster)
    return from_checks("helm", go_programs.version("helm"), checks, time.monotonic() - started)
