"""The pod that runs TensorBoard beside a job and reads the log directory of the job from the job's own volumes."""

from __future__ import annotations

import dataclasses
import posixpath
import re
from collections.abc import Iterator
from typing import Any

from traincrew.kinds import pod_templates
from traincrew.kinds.kind import JobKind
from traincrew.kinds.replica import Manifest
from traincrew.model import jobs, naming

PORT = 6006
CONTAINER = "tensorboard"
LABEL = "traincrew.kubeflow.org/tensorboard-of"
"""Not the label of replicas: the operator must not take this pod for one."""

_FLAGS = re.compile(
    r"--(?:log[_-]?dir|logging[_-]dir|(?:tensorboard|tb)[_-](?:log[_-]?)?dir|summary[_-]dir)[= ]\s*[\"']?([^\s\"']+)"
)
_VARIABLES = ("TENSORBOARD_LOGDIR", "TENSORBOARD_LOGGING_DIR", "TENSORBOARD_LOG_DIR")
_PRIVATE_VOLUMES = ("emptyDir", "ephemeral")
"""Volumes that each pod has for itself."""
_POD_FIELDS = (
    "imagePullSecrets", "nodeSelector", "runtimeClassName", "securityContext", "serviceAccountName", "tolerations",
)  # fmt: skip
_CONTAINER_FIELDS = ("env", "envFrom", "imagePullPolicy", "workingDir")
_USER_FIELDS = ("runAsUser", "runAsGroup", "runAsNonRoot", "seccompProfile", "seLinuxOptions", "allowPrivilegeEscalation")


class NoLogDirectory(Exception):
    """The message says why TensorBoard cannot read the logs of the job, and what to do."""


@dataclasses.dataclass(frozen=True)
class TensorBoard:
    log_directory: str = ""
    """A path in the replicas, or a URL such as s3://bucket/logs. Empty: from the command of the job, else its shared volume."""
    image: str = ""
    """Empty: the image of the job."""
    all_addresses: bool = False
    """Whether TensorBoard listens on all addresses of the pod, as pods/proxy requires. A port-forward reaches localhost."""
    port: int = PORT
    deadline_seconds: int = 0
    """The pod ends after this time, if nobody deletes it. 0: never."""


def name(job: jobs.Job) -> str:
    return f"{job.name}-{CONTAINER}"


def build(kind: JobKind, job: jobs.Job, wanted: TensorBoard) -> Manifest:
    """Raise NoLogDirectory if the pod could not read the logs."""
    role, directory = _find_log_directory(kind, job, wanted.log_directory)
    template = role.fresh_template()
    spec = template.get("spec") or {}
    main = pod_templates.main_container(kind, spec["containers"])
    annotations = (template.get("metadata") or {}).get("annotations") or {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name(job),
            "namespace": job.namespace,
            "labels": {"app.kubernetes.io/name": CONTAINER, LABEL: job.name},
            **({"annotations": annotations} if annotations else {}),
            # Deleted with the job.
            "ownerReferences": [_owner(kind, job)],
        },
        "spec": {
            **{field: spec[field] for field in _POD_FIELDS if field in spec},
            **({"activeDeadlineSeconds": wanted.deadline_seconds} if wanted.deadline_seconds else {}),
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 5,
            "enableServiceLinks": False,
            "affinity": _near(job),
            "volumes": spec.get("volumes", []),
            "containers": [_container(main, directory, wanted)],
        },
    }


def _owner(kind: JobKind, job: jobs.Job) -> Manifest:
    version = f"{kind.resource.group}/{kind.resource.version}"
    return {"apiVersion": version, "kind": kind.kind, "name": job.name, "uid": job.metadata.uid}


def _near(job: jobs.Job) -> Manifest:
    """On the node of a replica if possible: directories of the host and ReadWriteOnce claims are there."""
    term = {"labelSelector": {"matchLabels": {naming.JOB_NAME: job.name}}, "topologyKey": "kubernetes.io/hostname"}
    return {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": term}]}}


def _container(main: Manifest, directory: str, wanted: TensorBoard) -> Manifest:
    user = {field: value for field, value in main.get("securityContext", {}).items() if field in _USER_FIELDS}
    listen = ["--bind_all"] if wanted.all_addresses else ["--host", "localhost"]
    return {
        "name": CONTAINER,
        "image": wanted.image or main.get("image", ""),
        "command": ["python3", "-m", "tensorboard.main", "--logdir", directory, "--port", str(wanted.port), *listen],
        "ports": [{"containerPort": wanted.port}],
        **{field: main[field] for field in _CONTAINER_FIELDS if field in main},
        **({"securityContext": user} if user else {}),
        "resources": {"requests": {"cpu": "100m", "memory": "256Mi"}},
        "volumeMounts": [{**mount, "readOnly": True} for mount in main.get("volumeMounts", [])],
        # The last lines say that a module is missing.
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }


def _find_log_directory(kind: JobKind, job: jobs.Job, given: str) -> tuple[jobs.RoleSpec, str]:
    """The role whose volumes have the log directory, and the directory."""
    candidates = [(role, directory) for role in job.roles.values() for directory in _candidates(kind, role, given)]
    if not candidates:
        raise NoLogDirectory(
            "the log directory of the job is not known: its command has no option such as --logdir, and it has no shared volume. "
            "Use --logdir DIR."
        )
    problems = [_problem(kind, role, directory) for role, directory in candidates]
    for (role, directory), problem in zip(candidates, problems, strict=True):
        if not problem:
            return role, directory
    raise NoLogDirectory(problems[0])


def _candidates(kind: JobKind, role: jobs.RoleSpec, given: str) -> Iterator[str]:
    if not role.containers:
        return
    main = pod_templates.main_container(kind, role.containers)
    working = main.get("workingDir", "")
    named = given or _named_directory(main)
    if named:
        yield named if "://" in named else posixpath.normpath(posixpath.join(working, named))
    else:
        # TensorBoard searches a directory with all directories below it.
        yield from (working,) if working and not _problem(kind, role, working) else _shared_mounts(role, main)


def _named_directory(main: Manifest) -> str:
    variables = {entry.get("name"): entry.get("value", "") for entry in main.get("env", [])}
    words = " ".join(str(word) for word in (*main.get("command", []), *main.get("args", [])))
    match = _FLAGS.search(words)
    if match and "$" not in match[1]:
        return match[1]
    return next((str(variables[each]) for each in _VARIABLES if variables.get(each)), "")


def _problem(kind: JobKind, role: jobs.RoleSpec, directory: str) -> str:
    """Why another pod cannot read the directory; empty if it can."""
    if "://" in directory:
        return ""
    if not directory.startswith("/"):
        return f"the log directory {directory!r} is relative, and the job has no workingDir. Use --logdir with an absolute path."
    main = pod_templates.main_container(kind, role.containers)
    mounts = [each for each in main.get("volumeMounts", []) if _is_below(directory, each.get("mountPath", ""))]
    if not mounts:
        return (
            f"the log directory {directory} is in the file system of the container, which no other pod can read. Write the logs "
            "to a volume, such as a PersistentVolumeClaim, and use --logdir DIR."
        )
    volume = _volumes(role).get(max(mounts, key=lambda each: len(each["mountPath"]))["name"], {})
    if private := next((each for each in _PRIVATE_VOLUMES if each in volume), ""):
        return (
            f"the log directory {directory} is in a volume of type {private}, which each pod has for itself. Write the logs to a "
            "shared volume, such as a PersistentVolumeClaim, and use --logdir DIR."
        )
    return ""


def _shared_mounts(role: jobs.RoleSpec, main: Manifest) -> list[str]:
    """The only mount of a shared volume; none if there are several."""
    volumes = _volumes(role)
    data = ("persistentVolumeClaim", "hostPath", "nfs", "csi")
    shared = [
        each["mountPath"] for each in main.get("volumeMounts", []) if any(kind in volumes.get(each["name"], {}) for kind in data)
    ]
    return shared if len(shared) == 1 else []


def _volumes(role: jobs.RoleSpec) -> dict[str, Any]:
    return {each.get("name", ""): each for each in (role.parsed.get("spec") or {}).get("volumes", [])}


def _is_below(path: str, directory: str) -> bool:
    root = directory.rstrip("/")
    return bool(directory) and (path == root or path.startswith(f"{root}/"))
