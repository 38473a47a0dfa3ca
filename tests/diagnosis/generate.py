"""Makes the cases from real runs: `python -m tests.diagnosis.generate [NAME …]`.

Needs root and the environments of `make frameworks`.
The job and the program of a case are in its file. The outputs that this script writes replace those of the last run.
"""

from __future__ import annotations

import os
import pathlib
import re
import sys
import time
from typing import Any

import yaml
from tests.cluster.api import Object, RejectedRequest
from tests.diagnosis import case_files
from tests.node.local_cluster import LocalCluster
from tools.frameworks import cache_paths

LINES = 200
"""Lines of each output that are kept."""
TIMEOUT = float(os.environ.get("TRAINCREW_CASES_PATIENCE", "300"))
JOB = "case"
ENVIRONMENT = re.compile(rf"{re.escape(str(cache_paths.root()))}/([a-z0-9-]+)-[0-9a-f]{{8}}")
REPLICAS_FIELDS = {"PyTorchJob": "pytorchReplicaSpecs", "TFJob": "tfReplicaSpecs", "MPIJob": "mpiReplicaSpecs",
                   "XGBoostJob": "xgbReplicaSpecs", "PaddleJob": "paddleReplicaSpecs", "JAXJob": "jaxReplicaSpecs"}  # fmt: skip
CONTAINERS = {"PyTorchJob": "pytorch", "TFJob": "tensorflow", "MPIJob": "mpi", "XGBoostJob": "xgboost",
              "PaddleJob": "paddle", "JAXJob": "jax"}  # fmt: skip


class Text(str):
    """A text that YAML writes as a block."""


class Dumper(yaml.SafeDumper):
    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, indentless=False)


Dumper.add_representer(Text, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", str(text), style="|"))


def manifest(job: dict[str, Any]) -> Object:
    kind = job["kind"]
    roles = {name: _role(kind, job, role or {}) for name, role in job["roles"].items()}
    spec = {"runPolicy": {"cleanPodPolicy": "None"}, REPLICAS_FIELDS[kind]: roles, **job.get("spec", {})}
    return {"apiVersion": f"kubeflow.org/{job.get('version', 'v1')}", "kind": kind, "metadata": {"name": JOB}, "spec": spec}


def _role(kind: str, job: dict[str, Any], role: dict[str, Any]) -> Object:
    container = {
        "name": CONTAINERS[kind],
        "image": job["image"],
        "volumeMounts": [{"name": "program", "mountPath": "/workspace"}],
        "workingDir": "/workspace",
        "env": [{"name": name, "value": str(value)} for name, value in job.get("env", {}).items()],
    }
    if "resources" in role:
        container["resources"] = role["resources"]
    if command := role.get("command", job.get("command")):
        container["command"] = command
    if "args" in job:
        container["args"] = job["args"]
    volumes = [{"name": "program", "configMap": {"name": JOB, "defaultMode": job.get("mode", 0o644)}}]
    template = {"spec": {"containers": [container], "volumes": volumes}}
    return {"replicas": role.get("replicas", 1), "restartPolicy": "Never", "template": template}


def run(cluster: LocalCluster, path: pathlib.Path) -> None:
    data = yaml.safe_load(path.read_text())
    if "job" not in data:
        return
    program = {"program.py": data.get("program", "")}
    cluster.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": JOB}, "data": program})
    job = manifest(data["job"])
    cluster.create(job)
    plural = f"{job['kind'].lower()}s"
    try:
        pods = _ended_pods(cluster, plural, data["job"].get("survivors", ()))
        data["replicas"] = [_replica(cluster, pod) for pod in pods]
    finally:
        _delete(cluster, plural)
    _write(path, data)
    codes = [f"{each['replica']} {each['exitCode']}" for each in data["replicas"]]
    print(f"{path.stem}: {', '.join(codes)}", flush=True)


def _ended_pods(cluster: LocalCluster, plural: str, survivors: tuple[str, ...]) -> list[Object]:
    """The pods of the job, when it has failed and all pods have ended but those that never do."""
    deadline = time.monotonic() + TIMEOUT
    while True:
        pods = [pod for pod in cluster.api.all("pods", "default") if pod["metadata"]["name"].startswith(f"{JOB}-")]
        status = cluster.api.get(plural, "default", JOB).get("status", {})
        failed = any(each["type"] == "Failed" and each["status"] == "True" for each in status.get("conditions", ()))
        waiting = [pod for pod in pods if pod["status"].get("phase") not in ("Succeeded", "Failed")]
        if failed and all(_role_of(pod) in survivors for pod in waiting):
            return sorted((pod for pod in pods if pod not in waiting), key=lambda pod: str(pod["metadata"]["name"]))
        if time.monotonic() > deadline:
            states = {pod["metadata"]["name"]: pod["status"].get("phase") for pod in pods}
            logs = "\n".join(cluster.logs(name)[-2000:] for name in states)
            raise TimeoutError(f"the job has not failed after {TIMEOUT:.0f} s: {states}\n{logs}")
        time.sleep(0.3)


def _role_of(pod: Object) -> str:
    labels = pod["metadata"]["labels"]
    return str(labels.get("training.kubeflow.org/replica-type") or labels.get("training.kubeflow.org/job-role", "")).capitalize()


def _replica(cluster: LocalCluster, pod: Object) -> dict[str, Any]:
    name, labels = pod["metadata"]["name"], pod["metadata"]["labels"]
    index = labels.get("training.kubeflow.org/replica-index", "")
    role = _role_of(pod)
    ended = pod["status"]["containerStatuses"][0]["state"]["terminated"]
    # The response has no charset, and requests takes it for Latin 1.
    log = cluster.logs(name).encode("latin-1", errors="replace").decode(errors="replace")
    lines = (log or ended.get("message", "")).splitlines()[-LINES:]
    output = "\n".join(_printable(ENVIRONMENT.sub(r"/opt/\1", line).replace(sys.base_prefix, "/usr")) for line in lines)
    shown = role if role == "Launcher" else f"{role} {index}"
    entry = {"replica": shown, "exitCode": ended["exitCode"], "reason": ended.get("reason", ""), "ended": ended["finishedAt"]}
    return {**entry, "output": Text(f"{output}\n")}


def _printable(line: str) -> str:
    """YAML has no blocks with tabs, escape sequences and other control characters."""
    plain = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", line).replace("\t", "    ")
    return re.sub(r"[\x00-\x1f\x7f]", "", plain).rstrip()


def _delete(cluster: LocalCluster, plural: str) -> None:
    cluster.api.delete(plural, "default", JOB)
    cluster.api.delete("configmaps", "default", JOB)
    deadline = time.monotonic() + TIMEOUT
    while cluster.api.all("pods", "default") or cluster.api.find(plural, "default", JOB):
        if time.monotonic() > deadline:
            raise TimeoutError("the pods of the job are not deleted")
        time.sleep(0.3)


def _write(path: pathlib.Path, data: dict[str, Any]) -> None:
    order = ("origin", "documented", "job", "program", "expect", "replicas")
    data = {key: data[key] for key in (*order, *(key for key in data if key not in order)) if key in data}
    if "program" in data:
        data["program"] = Text(data["program"])
    path.write_text(yaml.dump(data, Dumper=Dumper, sort_keys=False, width=1000, allow_unicode=True))


def main(names: list[str]) -> None:
    chosen = [path for path in case_files.paths() if not names or path.stem in names]
    if unknown := set(names) - {path.stem for path in chosen}:
        sys.exit(f"no case {', '.join(sorted(unknown))} in {case_files.CASES}")
    cluster = LocalCluster("root")
    config = cluster.home / ".config" / "traincrew"
    config.mkdir(parents=True)
    (config / "images.yaml").write_text((cache_paths.root() / "images.yaml").read_text())
    try:
        cluster.up()
        failed = [path.stem for path in chosen if not _succeeds(cluster, path)]
    finally:
        cluster.close()
    if failed:
        sys.exit(f"not generated: {', '.join(failed)}")


def _succeeds(cluster: LocalCluster, path: pathlib.Path) -> bool:
    try:
        run(cluster, path)
    except (TimeoutError, RejectedRequest) as error:
        print(f"{path.stem}: {error}", flush=True)
        return False
    return True


if __name__ == "__main__":
    main(sys.argv[1:])
