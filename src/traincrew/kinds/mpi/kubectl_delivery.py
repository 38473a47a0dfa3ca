"""The init container of a v1 launcher: it copies kubectl into the launcher, and waits until the workers are ready.

The launcher pod is created together with the workers, since gang schedulers need the whole gang.
"""

from __future__ import annotations

from traincrew.kinds.horovod import horovodrun
from traincrew.kinds.hosts import HOSTFILE, MOUNT
from traincrew.kinds.mpi.spec import CONFIG_VOLUME
from traincrew.kinds.option import Option
from traincrew.kinds.replica import Manifest, Replica, env_vars
from traincrew.model import jobs

CONTAINER = "kubectl-delivery"
IMAGE = Option("mpi-kubectl-delivery-image", "", "image that brings kubectl into launcher pods. Default: --init-image")
PUBLIC_IMAGE = "kubeflow/kubectl-delivery:latest"
"""The image if the operator does not know its own."""
TARGET = "/opt/kube"
VOLUME = "mpi-job-kubectl"

# The mounted host file has the number of workers, also if the job was scaled before its start. jsonpath prints one status per
# line, so grep counts pods. Most workers are ready in a moment, hence the short first intervals (if `sleep` knows fractions).
_SCRIPT = """set -eu
kubectl="$(command -v kubectl || true)"
if [ -z "$kubectl" ]; then
  echo "kubectl: not found in the image of this container. Set the operator's flag --{flag} to an image that has it."
  exit 127
fi
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


def container(replica: Replica, workers: str) -> Manifest:
    """`workers` is the label selector of the pods to wait for."""
    resources = {"cpu": "100m", "memory": "512Mi", "ephemeral-storage": "5Gi"}
    return {
        "name": CONTAINER,
        "image": replica.planning.options.get(IMAGE.flag) or replica.planning.init_image or PUBLIC_IMAGE,
        "imagePullPolicy": "IfNotPresent",
        "command": ["/bin/sh", "-c", script(replica.job, workers)],
        "env": env_vars({"TARGET_DIR": TARGET, "NAMESPACE": replica.job.namespace}),
        "volumeMounts": [{"name": VOLUME, "mountPath": TARGET}, {"name": CONFIG_VOLUME, "mountPath": MOUNT}],
        "resources": {"requests": dict(resources), "limits": dict(resources)},
    }


def script(job: jobs.Job, workers: str) -> str:
    minimum = horovodrun.minimum_workers(job)
    counted = f"$(grep -c '^{job.name}-worker-' {HOSTFILE} || true)"
    need = f'need="{counted}"' if minimum is None else f"need={minimum}"
    return _SCRIPT.format(need=need, selector=workers, flag=IMAGE.flag)
