"""Pods are real processes: their view of the system, their output and their exit."""

from __future__ import annotations

import functools
import os
import pathlib
import time
from typing import Any

from tests.cluster.api import consistently, eventually
from tests.node.local_cluster import SOURCE, LocalCluster, pod, terminated


def test_the_exit_code_and_the_log_of_a_pod_are_kept(any_cluster: LocalCluster) -> None:
    any_cluster.create(pod("ends", "sh", "-c", "echo out; echo err >&2; exit 3"))
    ended = any_cluster.ended("ends")
    assert ended["status"]["phase"] == "Failed"
    assert terminated(ended)["exitCode"] == 3
    assert terminated(ended)["reason"] == "Error"
    assert sorted(any_cluster.logs("ends").split()) == ["err", "out"]


def test_a_signal_is_an_exit_code_of_128_and_more(any_cluster: LocalCluster) -> None:
    any_cluster.create(pod("signalled", "sh", "-c", "kill -SEGV $$$$"))
    assert terminated(any_cluster.ended("signalled"))["exitCode"] == 139


def test_a_missing_command_is_reported_with_the_path_that_was_searched(any_cluster: LocalCluster) -> None:
    any_cluster.create(pod("lost", "no-such-program"))
    ended = any_cluster.ended("lost")
    message = terminated(ended)
    assert (message["exitCode"], message["reason"]) == (128, "StartError")
    assert 'exec: "no-such-program": executable file not found in $PATH' in message["message"]
    assert "/usr/bin" in message["message"]


def test_deletion_kills_every_process_after_the_grace_period(any_cluster: LocalCluster) -> None:
    ignoring = "(trap '' TERM; echo ready; while :; do sleep 0.1; done)"
    stubborn = f"trap 'echo terminating' TERM; {ignoring} & while :; do sleep 0.1; done"
    any_cluster.create(pod("stubborn", "sh", "-c", stubborn, terminationGracePeriodSeconds=1))
    uid = any_cluster.running("stubborn")["metadata"]["uid"]
    log = any_cluster.data / "logs" / f"default_stubborn_{uid}" / "main" / "0.log"
    eventually(lambda: "ready" in log.read_text(), because="a container runs before its shell handles signals")
    any_cluster.api.delete("pods", "default", "stubborn")
    any_cluster.gone("stubborn")
    assert "terminating" in log.read_text()


def test_the_status_of_terminated_pods_is_not_written_again(cluster: LocalCluster) -> None:
    """Pods that start and exit in the same moment: the writes of their statuses overlap."""
    names = [f"short-{number}" for number in range(24)]
    once = "[ -e /kept/once ] && exit 0; touch /kept/once; exit 1"
    kept: dict[str, Any] = {
        "volumes": [{"name": "kept", "emptyDir": {}}], "restartPolicy": "OnFailure", "automountServiceAccountToken": False,
    }  # fmt: skip
    pods = [pod(name, "sh", "-c", once, **kept) for name in names]
    for each in pods:
        each["spec"]["containers"][0]["volumeMounts"] = [{"name": "kept", "mountPath": "/kept"}]
    cluster.create(*pods)

    for name in names:
        cluster.ended(name)

    def versions() -> list[str]:
        return [each["metadata"]["resourceVersion"] for each in cluster.api.all("pods", "default")]

    def settled() -> bool:
        before = versions()
        time.sleep(1)
        return versions() == before

    eventually(settled, because="statuses are written again and again")
    expected = versions()
    consistently(lambda: versions() == expected)


def test_exec_probes_and_lifecycle_hooks_run_without_an_error_in_the_log(any_cluster: LocalCluster) -> None:
    action = {"exec": {"command": ["true"]}}
    before = len(any_cluster.whole_log())
    probed = pod("probed", "sleep", "600", readinessProbe={**action, "periodSeconds": 1}, lifecycle={"postStart": action})
    any_cluster.create(probed)
    any_cluster.running("probed")
    assert "Traceback" not in any_cluster.whole_log()[before:]


def test_the_events_of_failed_probes_are_those_of_the_kubelet(any_cluster: LocalCluster) -> None:
    port, often = {"ports": [{"name": "web", "containerPort": 8123}]}, {"periodSeconds": 1, "timeoutSeconds": 1}
    cases: dict[str, dict[str, Any]] = {
        "by-name": {"httpGet": {"port": "web", "path": "/"}},
        "unnamed": {"tcpSocket": {"port": "other"}},
        "failing": {"exec": {"command": ["sh", "-c", "echo no; exit 1"]}},
        "slow": {"exec": {"command": ["sleep", "60"]}},
        "grpc": {"grpc": {"port": 8123}},
    }
    for name, action in cases.items():
        any_cluster.create(pod(name, "sleep", "600", readinessProbe={**action, **often}, **port))
    refused = "dial tcp IP:8123: connect: connection refused"
    expected = {
        "by-name": f'Readiness probe failed: Get "http://IP:8123/": {refused}',
        "unnamed": 'Readiness probe errored: strconv.Atoi: parsing "other": invalid syntax',
        "failing": "Readiness probe failed: no\n",
        "slow": 'Readiness probe failed: command timed out: "sleep 60" timed out after 1s',
        "grpc": f'Readiness probe failed: error: failed to connect service at "IP:8123": {refused}',
    }
    for name, message in expected.items():
        seen = eventually(functools.partial(_unhealthy, any_cluster, name))
        assert seen[0] == message.replace("IP", any_cluster.pod(name)["status"]["podIP"])


def _unhealthy(cluster: LocalCluster, name: str) -> list[str]:
    return [message for reason, message in cluster.events(name) if reason == "Unhealthy"]


def test_a_pod_has_a_name_an_address_and_a_root_of_its_own(cluster: LocalCluster) -> None:
    script = "hostname; cat /etc/hostname; echo x > /etc/own-file; mkdir -p /brand/new; ls /brand; ls -A /tmp"
    cluster.create(pod("alone", "sh", "-c", script))
    ended = cluster.ended("alone")
    assert ended["status"]["phase"] == "Succeeded", cluster.logs("alone")
    message = cluster.logs("alone").split()
    assert message[:3] == ["alone", "alone", "new"]
    # The pod has its own /tmp. An environment in the /tmp of the host is mounted.
    assert set(message[3:]) <= {SOURCE.parts[2]}
    assert ended["status"]["podIP"] != ended["status"]["hostIP"]
    assert not pathlib.Path("/etc/own-file").exists()
    assert not pathlib.Path("/brand").exists()


def test_the_hostname_of_a_pod_is_its_fqdn_if_it_wants_that(cluster: LocalCluster) -> None:
    named = {"hostname": "zero", "subdomain": "ring", "setHostnameAsFQDN": True}
    cluster.create(pod("qualified", "sh", "-c", "hostname; cat /etc/hostname; echo $HOSTNAME", **named))
    cluster.ended("qualified")
    assert cluster.logs("qualified").split() == ["zero.ring.default.svc.cluster.local"] * 3


def test_a_container_sees_its_own_processes_only(cluster: LocalCluster) -> None:
    cluster.create(pod("counting", "sh", "-c", "echo $(ls /proc | grep -c '^[0-9]')"))
    cluster.ended("counting")
    assert int(cluster.logs("counting")) < 6


def test_the_clusters_data_are_hidden(cluster: LocalCluster) -> None:
    cluster.create(pod("nosy", "sh", "-c", f"ls -A {cluster.data} 2>/dev/null | wc -l; cat {cluster.data}/kubeconfig"))
    ended = cluster.ended("nosy")
    assert ended["status"]["phase"] == "Failed"
    assert "0" in cluster.logs("nosy").split("\n")


def test_the_hosts_files_cannot_be_written(cluster: LocalCluster) -> None:
    target = cluster.home / "precious"
    target.write_text("mine")
    target.chmod(0o666)
    cluster.create(pod("vandal", "sh", "-c", f"echo theirs > {target}; cat {target}"))
    cluster.ended("vandal")
    assert target.read_text() == "mine"


def test_pods_find_each_other_by_the_names_of_services(cluster: LocalCluster) -> None:
    service = {
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "greeter"},
        "spec": {"clusterIP": "None", "selector": {"app": "greeter"}, "ports": [{"port": 8000}]},
    }  # fmt: skip
    server = pod("greeter-0", "python3", "-m", "http.server", "8000", hostname="greeter-0", subdomain="greeter")
    server["metadata"]["labels"] = {"app": "greeter"}
    cluster.create(service, server)
    cluster.running("greeter-0")
    ask = "import socket; print(socket.create_connection(('{}', 8000), 5).getpeername()[0])"
    for number, name in enumerate(("greeter", "greeter.default", "greeter-0.greeter.default.svc.cluster.local")):
        cluster.create(pod(f"asks-{number}", "python3", "-c", ask.format(name), restartPolicy="OnFailure"))
        assert cluster.ended(f"asks-{number}")["status"]["phase"] == "Succeeded"
        assert cluster.logs(f"asks-{number}").split()[-1] == cluster.pod("greeter-0")["status"]["podIP"]


def test_the_api_server_is_reached_from_a_pod_with_its_own_token(cluster: LocalCluster) -> None:
    script = (
        "import json, os, ssl, urllib.request as r\n"
        "d = '/var/run/secrets/kubernetes.io/serviceaccount/'\n"
        "c = ssl.create_default_context(cafile=d + 'ca.crt')\n"
        "h = {'Authorization': 'Bearer ' + open(d + 'token').read()}\n"
        "b = json.dumps({'apiVersion': 'authentication.k8s.io/v1', 'kind': 'SelfSubjectReview'}).encode()\n"
        "q = r.Request('https://kubernetes.default.svc/apis/authentication.k8s.io/v1/selfsubjectreviews', b,"
        " {**h, 'Content-Type': 'application/json'})\n"
        "print(json.load(r.urlopen(q, context=c))['status']['userInfo']['username'])"
    )
    cluster.create(pod("calls-home", "python3", "-c", script))
    assert cluster.ended("calls-home")["status"]["phase"] == "Succeeded", cluster.logs("calls-home")
    assert cluster.logs("calls-home").strip() == "system:serviceaccount:default:default"


def test_config_maps_are_mounted_and_updated(cluster: LocalCluster) -> None:
    cluster.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "words"}, "data": {"word": "first"}})
    volumes = [{"name": "words", "configMap": {"name": "words"}}]
    mounts = [{"name": "words", "mountPath": "/brand/new/words"}]
    script = "cat /brand/new/words/word; echo; until grep -q second /brand/new/words/word; do sleep 0.1; done; echo seen"
    cluster.create(pod("reads", "sh", "-c", script, volumes=volumes, volumeMounts=mounts))
    eventually(lambda: "first" in cluster.logs("reads"))
    cluster.api.patch("configmaps", "default", "words", {"data": {"word": "second"}})
    assert cluster.ended("reads")["status"]["phase"] == "Succeeded"
    assert cluster.logs("reads").split() == ["first", "seen"]


def test_init_containers_run_first_and_in_order(any_cluster: LocalCluster) -> None:
    first = {"name": "first", "image": "x", "command": ["sh", "-c", "echo one"]}
    second = {"name": "second", "image": "x", "command": ["sh", "-c", "echo two"]}
    any_cluster.create(pod("inits", "sh", "-c", "echo main", initContainers=[first, second]))
    ended = any_cluster.ended("inits")
    assert ended["status"]["phase"] == "Succeeded"
    moments = [terminated(ended, name) for name in ("first", "second", "main")]
    assert [any_cluster.logs("inits", container=name).strip() for name in ("first", "second", "main")] == ["one", "two", "main"]
    assert moments[0]["finishedAt"] <= moments[1]["startedAt"]
    assert moments[1]["finishedAt"] <= moments[2]["startedAt"]


def test_pods_survive_a_killed_daemon_with_logs_and_exit_codes(any_cluster: LocalCluster) -> None:
    any_cluster.create(pod("lives-on", "sh", "-c", "i=0; while [ $i -lt 60 ]; do echo $i; i=$((i+1)); sleep 0.05; done; exit 7"))
    any_cluster.running("lives-on")
    any_cluster.kill()
    any_cluster.up()
    ended = any_cluster.ended("lives-on")
    assert terminated(ended)["exitCode"] == 7
    assert ended["status"]["containerStatuses"][0]["restartCount"] == 0
    assert any_cluster.logs("lives-on").split() == [str(number) for number in range(60)]


def test_the_process_of_a_pod_belongs_to_the_user_who_started_the_cluster(cluster: LocalCluster) -> None:
    cluster.create(pod("whose", "sleep", "60"))
    cluster.running("whose")
    uid = cluster.pod("whose")["metadata"]["uid"]
    note = (cluster.data / "node" / "pods" / uid / "shim.json").read_text()
    owner = pathlib.Path(f"/proc/{_pid(note)}").stat().st_uid
    assert owner == (cluster.user if cluster.user is not None else os.geteuid())
    cluster.api.delete("pods", "default", "whose", grace=0)


def _pid(note: str) -> int:
    import json

    return int(json.loads(note)["pid"])
