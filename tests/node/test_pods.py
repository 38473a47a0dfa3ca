"""Pods are real processes: what they see, what they say, how they end."""

from __future__ import annotations

import os
import pathlib

from tests.cluster.api import eventually
from tests.node.local_cluster import SOURCE, LocalCluster, pod, terminated


def test_a_pod_runs_to_its_end_and_its_exit_code_and_log_are_kept(everywhere: LocalCluster) -> None:
    everywhere.create(pod("ends", "sh", "-c", "echo out; echo err >&2; exit 3"))
    ended = everywhere.ended("ends")
    assert ended["status"]["phase"] == "Failed"
    assert terminated(ended)["exitCode"] == 3
    assert terminated(ended)["reason"] == "Error"
    assert sorted(everywhere.logs("ends").split()) == ["err", "out"]


def test_a_signal_is_an_exit_code_of_128_and_more(everywhere: LocalCluster) -> None:
    everywhere.create(pod("signalled", "sh", "-c", "kill -SEGV $$$$"))
    assert terminated(everywhere.ended("signalled"))["exitCode"] == 139


def test_a_command_that_is_not_there_is_told_with_where_it_was_looked_for(everywhere: LocalCluster) -> None:
    everywhere.create(pod("lost", "no-such-program"))
    ended = everywhere.ended("lost")
    told = terminated(ended)
    assert (told["exitCode"], told["reason"]) == (128, "StartError")
    assert 'exec: "no-such-program": executable file not found in $PATH' in told["message"]
    assert "/usr/bin" in told["message"]


def test_deletion_gives_grace_and_then_kills_every_process(everywhere: LocalCluster) -> None:
    stubborn = "trap 'echo told' TERM; (trap '' TERM; while :; do sleep 0.1; done) & while :; do sleep 0.1; done"
    everywhere.create(pod("stubborn", "sh", "-c", stubborn, terminationGracePeriodSeconds=1))
    uid = everywhere.running("stubborn")["metadata"]["uid"]
    everywhere.api.delete("pods", "default", "stubborn")
    everywhere.gone("stubborn")
    assert "told" in (everywhere.data / "logs" / f"default_stubborn_{uid}" / "main" / "0.log").read_text()


def test_exec_probes_and_lifecycle_hooks_run_without_an_error_in_the_log(everywhere: LocalCluster) -> None:
    action = {"exec": {"command": ["true"]}}
    before = len(everywhere.whole_log())
    probed = pod("probed", "sleep", "600", readinessProbe={**action, "periodSeconds": 1}, lifecycle={"postStart": action})
    everywhere.create(probed)
    everywhere.running("probed")
    assert "Traceback" not in everywhere.whole_log()[before:]


def test_a_pod_has_a_name_an_address_and_a_root_of_its_own(machine: LocalCluster) -> None:
    script = "hostname; cat /etc/hostname; echo x > /etc/own-file; mkdir -p /brand/new; ls /brand; ls -A /tmp"
    machine.create(pod("alone", "sh", "-c", script))
    ended = machine.ended("alone")
    assert ended["status"]["phase"] == "Succeeded", machine.logs("alone")
    told = machine.logs("alone").split()
    assert told[:3] == ["alone", "alone", "new"]
    # Its /tmp is its own; an environment that lies in the host's shows through.
    assert set(told[3:]) <= {SOURCE.parts[2]}
    assert ended["status"]["podIP"] != ended["status"]["hostIP"]
    assert not pathlib.Path("/etc/own-file").exists()
    assert not pathlib.Path("/brand").exists()


def test_a_container_sees_its_own_processes_only(machine: LocalCluster) -> None:
    machine.create(pod("counting", "sh", "-c", "echo $(ls /proc | grep -c '^[0-9]')"))
    machine.ended("counting")
    assert int(machine.logs("counting")) < 6


def test_the_clusters_data_are_hidden(machine: LocalCluster) -> None:
    machine.create(pod("nosy", "sh", "-c", f"ls -A {machine.data} 2>/dev/null | wc -l; cat {machine.data}/kubeconfig"))
    ended = machine.ended("nosy")
    assert ended["status"]["phase"] == "Failed"
    assert "0" in machine.logs("nosy").split("\n")


def test_the_hosts_files_cannot_be_written(machine: LocalCluster) -> None:
    target = machine.home / "precious"
    target.write_text("mine")
    target.chmod(0o666)
    machine.create(pod("vandal", "sh", "-c", f"echo theirs > {target}; cat {target}"))
    machine.ended("vandal")
    assert target.read_text() == "mine"


def test_pods_find_each_other_by_the_names_of_services(machine: LocalCluster) -> None:
    service = {
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "greeter"},
        "spec": {"clusterIP": "None", "selector": {"app": "greeter"}, "ports": [{"port": 8000}]},
    }  # fmt: skip
    server = pod("greeter-0", "python3", "-m", "http.server", "8000", hostname="greeter-0", subdomain="greeter")
    server["metadata"]["labels"] = {"app": "greeter"}
    machine.create(service, server)
    machine.running("greeter-0")
    ask = "import socket; print(socket.create_connection(('{}', 8000), 5).getpeername()[0])"
    for number, name in enumerate(("greeter", "greeter.default", "greeter-0.greeter.default.svc.cluster.local")):
        machine.create(pod(f"asks-{number}", "python3", "-c", ask.format(name), restartPolicy="OnFailure"))
        assert machine.ended(f"asks-{number}")["status"]["phase"] == "Succeeded"
        assert machine.logs(f"asks-{number}").split()[-1] == machine.pod("greeter-0")["status"]["podIP"]


def test_the_api_server_is_reached_from_a_pod_with_its_own_token(machine: LocalCluster) -> None:
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
    machine.create(pod("calls-home", "python3", "-c", script))
    assert machine.ended("calls-home")["status"]["phase"] == "Succeeded", machine.logs("calls-home")
    assert machine.logs("calls-home").strip() == "system:serviceaccount:default:default"


def test_config_maps_stand_where_the_pod_wants_them_and_follow_changes(machine: LocalCluster) -> None:
    machine.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "words"}, "data": {"word": "first"}})
    volumes = [{"name": "words", "configMap": {"name": "words"}}]
    mounts = [{"name": "words", "mountPath": "/brand/new/words"}]
    script = "cat /brand/new/words/word; echo; until grep -q second /brand/new/words/word; do sleep 0.1; done; echo seen"
    machine.create(pod("reads", "sh", "-c", script, volumes=volumes, volumeMounts=mounts))
    eventually(lambda: "first" in machine.logs("reads"))
    machine.api.patch("configmaps", "default", "words", {"data": {"word": "second"}})
    assert machine.ended("reads")["status"]["phase"] == "Succeeded"
    assert machine.logs("reads").split() == ["first", "seen"]


def test_init_containers_come_first_and_in_order(everywhere: LocalCluster) -> None:
    first = {"name": "first", "image": "x", "command": ["sh", "-c", "echo one"]}
    second = {"name": "second", "image": "x", "command": ["sh", "-c", "echo two"]}
    everywhere.create(pod("inits", "sh", "-c", "echo main", initContainers=[first, second]))
    ended = everywhere.ended("inits")
    assert ended["status"]["phase"] == "Succeeded"
    moments = [terminated(ended, name) for name in ("first", "second", "main")]
    assert [everywhere.logs("inits", container=name).strip() for name in ("first", "second", "main")] == ["one", "two", "main"]
    assert moments[0]["finishedAt"] <= moments[1]["startedAt"]
    assert moments[1]["finishedAt"] <= moments[2]["startedAt"]


def test_pods_outlive_the_daemon_and_nothing_of_them_is_lost(everywhere: LocalCluster) -> None:
    everywhere.create(pod("lives-on", "sh", "-c", "i=0; while [ $i -lt 60 ]; do echo $i; i=$((i+1)); sleep 0.05; done; exit 7"))
    everywhere.running("lives-on")
    everywhere.kill()
    everywhere.up()
    ended = everywhere.ended("lives-on")
    assert terminated(ended)["exitCode"] == 7
    assert ended["status"]["containerStatuses"][0]["restartCount"] == 0
    assert everywhere.logs("lives-on").split() == [str(number) for number in range(60)]


def test_the_process_of_a_pod_belongs_to_the_user_who_started_the_cluster(machine: LocalCluster) -> None:
    machine.create(pod("whose", "sleep", "60"))
    machine.running("whose")
    uid = machine.pod("whose")["metadata"]["uid"]
    note = (machine.data / "node" / "pods" / uid / "shim.json").read_text()
    owner = pathlib.Path(f"/proc/{_pid(note)}").stat().st_uid
    assert owner == (machine.user if machine.user is not None else os.geteuid())
    machine.api.delete("pods", "default", "whose", grace=0)


def _pid(note: str) -> int:
    import json

    return int(json.loads(note)["pid"])
