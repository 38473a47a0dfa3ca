"""The logs of a pod that is removed: whose pod it was, and no secret values."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest

from traincrew.embedded.kubelet.logs import kept_pod, secret_values

TOKEN = "hf_1234567890"  # noqa: S105
STAMP = "2026-01-02T03:04:05.000000001Z stdout F "


def pod(**variables: str) -> dict[str, Any]:
    owner = {"apiVersion": "kubeflow.org/v1", "kind": "JAXJob", "name": "mnist", "uid": "j-1", "controller": True}
    env = [{"name": name, "value": value} for name, value in variables.items()]
    return {
        "metadata": {"name": "mnist-worker-0", "namespace": "ns", "uid": "u-1", "ownerReferences": [{"uid": "other"}, owner]},
        "spec": {"containers": [{"name": "jax", "env": env}]},
    }


@pytest.fixture
def log(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "jax" / "0.log"
    path.parent.mkdir()
    return path


def replaced(log: pathlib.Path, text: str, pod: dict[str, Any]) -> str:
    log.write_text(f"{STAMP}{text}\n")
    secret_values.replace(log.parent.parent, pod)
    found = log.read_text()
    assert len(found) == len(f"{STAMP}{text}\n")  # whoever reads the file goes on at the same place
    return found.removeprefix(STAMP).removesuffix("\n")


def test_each_occurrence_of_a_secret_value_is_replaced(log: pathlib.Path) -> None:
    found = replaced(log, f"my {TOKEN} and {TOKEN}; lr 0.1", pod(HF_TOKEN=TOKEN, LR="my"))
    assert found == "my <redacted>*** and <redacted>***; lr 0.1"


def test_a_value_shorter_than_the_word_is_replaced(log: pathlib.Path) -> None:
    assert replaced(log, "token 12345678!", pod(HF_TOKEN=TOKEN[3:11])) == "token ********!"


def test_the_lines_of_a_key_are_replaced(log: pathlib.Path) -> None:
    assert replaced(log, "read MIIEvQIBADAN", pod(SSH_KEY="-----BEGIN-----\nMIIEvQIBADAN\n")) == "read <redacted>**"


def test_rotated_files_and_all_containers_are_searched(log: pathlib.Path) -> None:
    others = [log.with_name("0.log.1"), log.parent.parent / "setup" / "1.log"]
    others[1].parent.mkdir()
    for each in others:
        each.write_text(f"{STAMP}{TOKEN}\n")
    (log.parent / "2.log").touch()
    secret_values.replace(log.parent.parent, pod(HF_TOKEN=TOKEN))
    assert [each.read_text() for each in others] == [f"{STAMP}<redacted>***\n"] * 2


def test_a_log_whose_values_are_replaced_says_so_and_whose_pod_it_was(log: pathlib.Path) -> None:
    directory = log.parent.parent
    kept_pod.create(directory, pod())
    assert kept_pod.read(directory) == kept_pod.KeptPod(kept_pod.ControllerRef("JAXJob", "j-1"), secrets_replaced=False)
    secret_values.replace(directory, pod())
    assert kept_pod.read(directory) == kept_pod.KeptPod(kept_pod.ControllerRef("JAXJob", "j-1"), secrets_replaced=True)
    kept_pod.create(directory, pod())
    assert kept_pod.read(directory).secrets_replaced


def test_a_pod_that_never_ran_gets_no_directory(tmp_path: pathlib.Path) -> None:
    secret_values.replace(tmp_path / "none", pod())
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("content", [b"", b'{"controller":["JAXJob"', b'{"controller":3}', b"\xff"])
def test_a_damaged_file_is_as_none(tmp_path: pathlib.Path, content: bytes) -> None:
    (tmp_path / kept_pod.FILE).write_bytes(content)
    assert kept_pod.read(tmp_path) == kept_pod.UNKNOWN
