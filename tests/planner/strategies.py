"""Hypothesis strategies: valid jobs of every kind and both MPI versions, and unusual jobs that the API server accepts."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from tests.planner import manifests
from tests.planner.manifests import Manifest

from traincrew import settings

RESTART_POLICIES = st.sampled_from([None, "Never", "OnFailure", "Always", "ExitCode"])
SSH = "MPIJob/v2beta1"
KINDS = st.sampled_from([*manifests.BY_NAME, SSH])

_ROLES: dict[str, dict[str, st.SearchStrategy[int]]] = {
    "TFJob": {
        "Chief": st.just(1),
        "PS": st.integers(1, 2),
        "Evaluator": st.just(1),
        "Worker": st.integers(0, 3),
    },
    "PyTorchJob": {"Master": st.just(1), "Worker": st.integers(1, 3)},
    "MPIJob": {"Launcher": st.just(1), "Worker": st.integers(0, 3)},
    SSH: {"Launcher": st.just(1), "Worker": st.integers(1, 3)},
    "XGBoostJob": {"Master": st.just(1), "Worker": st.integers(0, 2)},
    "PaddleJob": {"Master": st.just(1), "Worker": st.integers(1, 3)},
    "JAXJob": {"Worker": st.integers(1, 3)},
}
_REQUIRED = {"MPIJob": {"Launcher"}, SSH: {"Launcher"}, "XGBoostJob": {"Master"}, "JAXJob": {"Worker"}}


@st.composite
def run_policies(draw: st.DrawFn) -> Manifest:
    return draw(
        st.fixed_dictionaries(
            {},
            optional={
                "cleanPodPolicy": st.sampled_from(["None", "Running", "All"]),
                "backoffLimit": st.integers(0, 3),
                "activeDeadlineSeconds": st.integers(0, 600),
                "ttlSecondsAfterFinished": st.integers(0, 120),
                "suspend": st.booleans(),
                "schedulingPolicy": st.fixed_dictionaries({}, optional={"minAvailable": st.integers(1, 3)}),
            },
        )
    )


@st.composite
def valid_jobs(draw: st.DrawFn) -> Manifest:
    """A job that passes validation."""
    name = draw(KINDS)
    required = _REQUIRED.get(name, set())
    roles = {role: draw(count) for role, count in _ROLES[name].items() if role in required or draw(st.booleans())}
    if not roles:
        roles = {"Worker": 1}
    ssh = name == SSH
    restart = draw(st.sampled_from([None, "Never", "OnFailure"]) if ssh else RESTART_POLICIES)
    details: dict[str, Any] = {"restart": restart, "policy": draw(run_policies()), "spec": draw(_extras(name, roles)), **roles}
    found = manifests.ssh_job(**details) if ssh else manifests.job(name, **details)
    for spec in found["spec"][manifests.BY_NAME[found["kind"]].replicas_field].values():
        if draw(st.booleans()):
            spec["template"]["spec"]["hostNetwork"] = True
    return found


def _extras(name: str, roles: dict[str, int]) -> st.SearchStrategy[Manifest]:
    elastic = st.fixed_dictionaries(
        {},
        optional={
            "minReplicas": st.integers(1, 2),
            "maxReplicas": st.integers(2, 4),
            "metrics": st.just([{"type": "Resource", "resource": {"name": "cpu"}}]),
        },
    )
    known: dict[str, dict[str, st.SearchStrategy[Any]]] = {
        "TFJob": {"enableDynamicWorker": st.booleans(), "successPolicy": st.sampled_from(["", "AllWorkers"])},
        "PyTorchJob": {"nprocPerNode": st.sampled_from(["auto", "2"])},
        "PaddleJob": {"elasticPolicy": elastic},
        SSH: {
            "launcherCreationPolicy": st.sampled_from(["AtStartup", "WaitForWorkersReady"]),
            "runLauncherAsWorker": st.booleans(),
            "mpiImplementation": st.sampled_from(["OpenMPI", "Intel", "MPICH"]),
        },
    }
    if name == "PyTorchJob" and "Worker" in roles:
        known[name]["elasticPolicy"] = elastic
    return st.fixed_dictionaries({}, optional=known.get(name, {}))


_ODD_CONTAINERS = st.sampled_from(
    [
        [],
        None,
        [{"name": "x"}],
        [{"name": "mpi", "image": "i"}, {"name": "pytorch", "image": "i", "ports": None, "env": None}],
        [{"name": "tensorflow", "image": "i", "ports": [{"containerPort": 1}, {"containerPort": 1}], "resources": None}],
        [{"name": "jax", "image": "i", "resources": {"limits": {"cpu": "plenty", "nvidia.com/gpu": 1}}}],
    ]
)
_ODD_TEMPLATES = st.one_of(
    st.none(),
    st.just({}),
    st.just({"metadata": None, "spec": None}),
    st.builds(
        lambda containers, extra: {"metadata": {"labels": None}, "spec": {"containers": containers, **extra}},
        _ODD_CONTAINERS,
        st.sampled_from([{}, {"initContainers": None, "volumes": None}, {"restartPolicy": "Always", "schedulerName": "s"}]),
    ),
)
_NUMBERS = st.one_of(st.none(), st.integers(-2, 3), st.just(2**31 - 1))
_ODD_SPECS = st.one_of(
    st.none(),
    st.fixed_dictionaries({}, optional={"replicas": _NUMBERS, "restartPolicy": RESTART_POLICIES, "template": _ODD_TEMPLATES}),
)
_KEYS = st.sampled_from(["Worker", "worker", "Master", "master", "Launcher", "launcher", "PS", "Chief", "Evaluator", "Foo", ""])


_ODD_POLICIES = st.fixed_dictionaries(
    {},
    optional={
        "activeDeadlineSeconds": st.sampled_from([-1, 2**63 - 1]),
        "ttlSecondsAfterFinished": st.sampled_from([-1, 2**31 - 1]),
        "backoffLimit": st.just(-1),
        "cleanPodPolicy": st.just("Sometimes"),
        "managedBy": st.sampled_from(["", "kubeflow.org/training-operator", "kueue.x-k8s.io/multikueue"]),
        "schedulingPolicy": st.just({"minAvailable": -3, "minResources": {}}),
    },
)


@st.composite
def odd_jobs(draw: st.DrawFn) -> Manifest:
    """A valid job with one or two unusual values."""
    found = draw(valid_jobs())
    field = manifests.BY_NAME[found["kind"]].replicas_field
    oddity = draw(st.sampled_from(["keys", "numbers", "templates", "policy", "spec", "name", "all"]))
    for spec in found["spec"][field].values():
        if oddity in ("numbers", "all"):
            spec["replicas"] = draw(_NUMBERS)
        if oddity in ("templates", "all"):
            spec["template"] = draw(_ODD_TEMPLATES)
    if oddity in ("keys", "all"):
        found["spec"][field].update(draw(st.dictionaries(_KEYS, _ODD_SPECS, max_size=2)))
    if oddity in ("policy", "all"):
        found["spec"]["runPolicy"].update(draw(_ODD_POLICIES))
    if oddity in ("spec", "all"):
        odd = [{field: None}, {field: {}}, {"runPolicy": None}, {"slotsPerWorker": -1}, {"slotsPerWorker": 0}]
        found["spec"].update(draw(st.sampled_from(odd)))
    if oddity in ("name", "all"):
        found["metadata"]["name"] = draw(st.sampled_from(["1j", "j" * 63, "j" * 53, "j-worker-0"]))
    return found


plannings = st.builds(
    settings.Planning,
    gang_scheduler=st.sampled_from(["", "", "volcano", "scheduler-plugins-scheduler"]),
    cluster_domain=st.sampled_from(["", "cluster.local"]),
    finished_job_pod_grace=st.sampled_from([0, 30]),
    host_ports=st.sampled_from([None, None, (20000, 20099), (20000, 20003)]),
    host_ports_for_all=st.booleans(),
)
