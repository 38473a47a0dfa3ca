"""How kubectl gets into a v1 launcher, and how the launcher waits for its workers.

The launcher pod is made in the same pass as the workers, since gang schedulers need the whole gang. It must not start before
the workers can be reached: the init container that brings kubectl waits for them.
"""

from __future__ import annotations

from traincrew.kinds.kind import Manifest, Replica, var
from traincrew.kinds.mpi import elastic
from traincrew.kinds.mpi.spec import CONFIG_VOLUME, DELIVERY_IMAGE, MOUNT
from traincrew.model import jobs

TARGET = "/opt/kube"
VOLUME = "mpi-job-kubectl"

# Counts against the mounted host file, so that a job scaled before its start waits for the right number. jsonpath prints one
# status a line, so grep counts pods. Workers that are started beside the launcher are ready in a moment; for those that are not,
# once a second is enough. (Not every sleep knows parts of seconds.)
_SCRIPT = """set -eu
kubectl="$(command -v kubectl || true)"
if [ -z "$kubectl" ]; then echo "no kubectl in this image: give the operator an image that has one"; exit 1; fi
cp "$kubectl" "$TARGET_DIR/kubectl"
workers={selector}
tries=0
states='jsonpath={{range .items[*]}}{{.status.conditions[?(@.type=="Ready")].status}}{{"\\n"}}{{end}}'
count_ready() {{
  "$TARGET_DIR/kubectl" get pods --namespace "$NAMESPACE" --selector "$workers" --output "$states" | grep -c '^True$' || true
}}
while true; do
  {need}
  ready="$(count_ready)"
  if [ "${{ready:-0}}" -ge "$need" ]; then echo "$ready of $need workers are ready"; exit 0; fi
  echo "waiting for workers: ${{ready:-0}} of $need are ready"
  tries=$((tries + 1))
  if [ "$tries" -gt 20 ]; then sleep 1; else sleep 0.05 2>/dev/null || sleep 1; fi
done"""


def delivery(pod: Manifest, replica: Replica, workers: str) -> None:
    """Adds the container; `workers` selects the pods to wait for."""
    spec = pod["spec"]
    main = spec["containers"][0]
    resources = {"cpu": "100m", "memory": "512Mi", "ephemeral-storage": "5Gi"}
    container: Manifest = {
        "name": "kubectl-delivery",
        "image": replica.planning.options.get(DELIVERY_IMAGE) or "kubeflow/kubectl-delivery:latest",
        "imagePullPolicy": "IfNotPresent",
        "command": ["/bin/sh", "-c", script(replica.job, workers)],
        "env": [var("TARGET_DIR", TARGET), var("NAMESPACE", replica.job.namespace)],
        "volumeMounts": [{"name": VOLUME, "mountPath": TARGET}, {"name": CONFIG_VOLUME, "mountPath": MOUNT}],
        "resources": {"requests": dict(resources), "limits": dict(resources)},
    }
    if "securityContext" in main:  # `restricted` namespaces demand it of every container
        container["securityContext"] = main["securityContext"]
    spec.setdefault("initContainers", []).append(container)
    spec.setdefault("volumes", []).append({"name": VOLUME, "emptyDir": {}})
    main["volumeMounts"].append({"name": VOLUME, "mountPath": TARGET})
    if not spec.get("serviceAccount"):  # the field's older name
        spec.setdefault("serviceAccountName", f"{replica.job.name}-launcher")


def script(job: jobs.Job, workers: str) -> str:
    least = elastic_minimum(job)
    counted = f"$(grep -c '^{job.name}-worker-' {MOUNT}/hostfile || true)"
    return _SCRIPT.format(need=f'need="{counted}"' if least is None else f"need={least}", selector=workers)


def elastic_minimum(job: jobs.Job) -> int | None:
    """How many workers an elastic launch needs to start; None where the command names no host discovery script."""
    first = next(iter(job.roles["Launcher"].containers), {})
    words = [str(word) for word in (first.get("command") or []) + (first.get("args") or [])]
    words = [part for word in words for part in word.split()]
    if not any(word.startswith("--host-discovery-script") for word in words):
        return None
    for flags in (("--min-np", "--min-num-proc"), ("-np", "--num-proc")):
        value = elastic.flag(words, flags)
        if value is not None:
            per_worker = max(int(job.spec.slots_per_worker or 1), 1)
            return max(-(-value // per_worker), 1)
    return 1
