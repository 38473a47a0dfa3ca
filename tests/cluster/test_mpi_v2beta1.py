"""MPIJob v2beta1: the objects of a job and the files that its launcher reads."""

from __future__ import annotations

import base64

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from tests.cluster import mpi
from tests.cluster.api import Api, Object, consistently, eventually
from tests.cluster.fake_kubelet import FakeKubelet
from tests.cluster.submitted_job import PREFIX, Submit, labels


@pytest.mark.checklist(139)
def test_a_job_has_a_service_a_config_map_a_secret_workers_and_a_batch_job(
    submit: Submit, api: Api, kubelet: FakeKubelet, namespace: str
) -> None:
    job = submit(mpi.job(2, version="v2beta1"))
    service = mpi.there(api, "services", namespace, "j")
    config = mpi.there(api, "configmaps", namespace, "j-config")
    secret = mpi.there(api, "secrets", namespace, "j-ssh")
    launcher = mpi.launcher_job(job)
    workers = [kubelet.pod(f"j-worker-{index}") for index in range(2)]
    assert service["spec"]["clusterIP"] == "None"
    assert "ports" not in service["spec"]
    assert service["spec"]["selector"] == {PREFIX + "operator-name": "mpi-operator", PREFIX + "job-name": "j"}
    assert config["data"].keys() == {"hostfile", "discover_hosts.sh"}
    assert secret["type"] == "kubernetes.io/ssh-auth"
    for entry in (service, config, secret, launcher):
        assert entry["metadata"]["labels"]["app"] == "j"
    for entry in (service, config, secret, launcher, *workers):
        assert mpi.owned_by(entry, job, "v2beta1")
    for plural in ("serviceaccounts", "roles", "rolebindings"):
        assert api.names(plural, namespace) == set()


@pytest.mark.checklist(139)
def test_the_secret_holds_a_key_pair_whose_halves_fit(submit: Submit, api: Api, namespace: str) -> None:
    submit(mpi.job(1, version="v2beta1"))
    data = mpi.there(api, "secrets", namespace, "j-ssh")["data"]
    assert data.keys() == {"ssh-privatekey", "ssh-publickey"}
    private = base64.b64decode(data["ssh-privatekey"])
    assert private.startswith(b"-----BEGIN EC PRIVATE KEY-----\n")
    key = serialization.load_pem_private_key(private, password=None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    assert isinstance(key.curve, ec.SECP521R1)
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    assert base64.b64decode(data["ssh-publickey"]).strip() == public


@pytest.mark.checklist(140)
@pytest.mark.parametrize(
    ("implementation", "end"), [("OpenMPI", " slots=2"), ("Intel", ":2"), ("MPICH", ":2"), (None, " slots=2")]
)
def test_the_host_file_is_in_the_form_of_the_implementation(
    submit: Submit, namespace: str, implementation: str | None, end: str
) -> None:
    spec: Object = {"mpiImplementation": implementation} if implementation else {}
    job = submit(mpi.job(2, version="v2beta1", slotsPerWorker=2, **spec))
    hosts = [f"j-worker-{index}.j.{namespace}.svc" for index in range(2)]
    assert mpi.files(job)["hostfile"] == "".join(f"{host}{end}\n" for host in hosts)


@pytest.mark.checklist(141)
def test_host_discovery_names_running_workers_without_slots(submit: Submit, kubelet: FakeKubelet, namespace: str) -> None:
    job = submit(mpi.job(3, version="v2beta1", slotsPerWorker=2))
    assert mpi.files(job)["discover_hosts.sh"] == "#!/bin/sh\n"
    kubelet.run("j-worker-2", "j-worker-0")
    hosts = [f"echo j-worker-{index}.j.{namespace}.svc\n" for index in (0, 2)]
    eventually(lambda: mpi.files(job)["discover_hosts.sh"] == "#!/bin/sh\n" + "".join(hosts))


@pytest.mark.checklist(142)
def test_a_launcher_that_works_too_is_the_first_host_and_number_zero(
    submit: Submit, api: Api, kubelet: FakeKubelet, namespace: str
) -> None:
    job = submit(mpi.job(2, version="v2beta1", runLauncherAsWorker=True))
    hosts = [f"{name}.j.{namespace}.svc" for name in ("j-launcher", "j-worker-0", "j-worker-1")]
    assert mpi.files(job)["hostfile"] == "".join(f"{host} slots=1\n" for host in hosts)
    assert mpi.files(job)["discover_hosts.sh"] == f"#!/bin/sh\necho {hosts[0]}\n"
    assert mpi.there(api, "services", namespace, "j")["spec"]["publishNotReadyAddresses"] is True
    indexes = [labels(kubelet.pod(f"j-worker-{number}"))["replica-index"] for number in range(2)]
    assert (labels(mpi.launcher_template(job))["replica-index"], *indexes) == ("0", "1", "2")


@pytest.mark.checklist(142)
def test_a_launcher_that_only_launches_is_no_host(submit: Submit, api: Api, kubelet: FakeKubelet, namespace: str) -> None:
    job = submit(mpi.job(1, version="v2beta1"))
    assert "publishNotReadyAddresses" not in mpi.there(api, "services", namespace, "j")["spec"]
    assert labels(kubelet.pod("j-worker-0"))["replica-index"] == "0"
    assert "replica-index" not in labels(mpi.launcher_template(job))


def test_scaling_down_a_job_whose_launcher_works_too_removes_the_last_worker_only(submit: Submit, kubelet: FakeKubelet) -> None:
    job = submit(mpi.job(3, version="v2beta1", runLauncherAsWorker=True))
    kubelet.pod("j-worker-2")
    before = {name: pod["metadata"]["uid"] for name, pod in job.pods().items() if "-worker-" in name}
    mpi.scale(job, 2)
    eventually(lambda: "j-worker-2" not in job.pods())
    kept = {name: before[name] for name in ("j-worker-0", "j-worker-1")}
    consistently(lambda: kept.items() <= {name: pod["metadata"]["uid"] for name, pod in job.pods().items()}.items(), 0.5)


@pytest.mark.checklist(154)
def test_a_job_managed_by_another_cluster_is_left_alone(submit: Submit, api: Api, namespace: str) -> None:
    job = submit(mpi.job(1, {"managedBy": "kueue.x-k8s.io/multikueue"}, version="v2beta1"))

    witness = submit({**mpi.job(1, version="v2beta1"), "metadata": {"name": "witness"}})
    eventually(witness.pods)  # the operator has seen the later job, so it has seen the earlier

    def made() -> set[str]:
        plurals = ("pods", "services", "configmaps", "secrets", "jobs")
        return {name for plural in plurals for name in api.names(plural, namespace) if not name.startswith("witness")}

    consistently(lambda: made() == set() and job.status == {}, 0.5)
    job.suspend(True)
    job.suspend(False)
    consistently(lambda: made() == set() and job.status == {}, 0.5)


@pytest.mark.checklist(150)
def test_the_job_is_completed_when_its_batch_job_says_so_not_when_that_is_seen(submit: Submit, api: Api, namespace: str) -> None:
    job = submit(mpi.job(1, version="v2beta1"))
    mpi.launcher_job(job)
    done = [{"type": type, "status": "True", "reason": "CompletionsReached"} for type in ("SuccessCriteriaMet", "Complete")]
    times = {"startTime": "2024-02-29T12:00:00Z", "completionTime": "2024-02-29T12:34:56Z"}
    # No Job controller is at work here: the test plays it.
    api.patch("jobs", namespace, "j-launcher", {"status": {**times, "succeeded": 1, "conditions": done}}, "status")
    job.becomes("Succeeded")
    assert job.status["completionTime"] == times["completionTime"]
