"""A class name means one thing in the whole source, so that a reader who meets it knows which one it is."""

from __future__ import annotations

import ast
import collections
import pathlib

SOURCE = pathlib.Path(__file__).parents[2] / "src" / "traincrew"
CONTRACT = "console/contract/"
"""Messages to the page have the names of what they show."""
KUBERNETES = {
    "Autoscaler", "BatchJob", "BatchJobSpec", "BatchJobStatus", "ClaimSource", "Condition", "ConfigMap", "Container",
    "ContainerPort", "ContainerState", "ContainerStatus", "Lease", "LeaseSpec", "Node", "NodeSpec", "NodeStatus",
    "PartialObjectMetadata", "PersistentVolume", "PersistentVolumeClaim", "Pod", "PodGroup", "PodGroupStatus", "PodIP", "PodSpec",
    "PodStatus", "PriorityClass", "QuotaStatus", "RoleBinding", "Running", "StorageClass", "Terminated", "Volume", "Waiting",
    "WatchEvent",
}  # fmt: skip
"""Types of the Kubernetes API. Each package decodes the fields that it reads."""
SAME = {
    "ElasticPolicy": "that of PyTorchJobs extends the shared one",
    "LogRequest": "a request for logs, by the command line and by the page",
    "Operator": "settings.Operator has the settings of the operator",
    "Phase": "the status of Kubernetes objects that have little but a phase",
    "Spec": "each kind has its own",
}
NESTED = frozenset(("Meta", "Spec", "Status"))
"""Classes inside of a class, which are named with it."""


def definitions() -> dict[str, set[str]]:
    """The files that define a class, by its name."""
    found: dict[str, set[str]] = collections.defaultdict(set)
    for path in SOURCE.rglob("*.py"):
        name = str(path.relative_to(SOURCE))
        if not name.startswith(CONTRACT):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    found[node.name].add(name)
    return found


def test_no_two_classes_of_different_meaning_have_one_name() -> None:
    twice = {name: sorted(files) for name, files in definitions().items() if len(files) > 1}
    assert {name: files for name, files in twice.items() if name not in KUBERNETES | SAME.keys() | NESTED} == {}


def test_the_exceptions_are_needed() -> None:
    twice = {name for name, files in definitions().items() if len(files) > 1}
    assert sorted((KUBERNETES | SAME.keys()) - twice) == []
