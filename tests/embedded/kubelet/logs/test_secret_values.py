"""The logs of a pod that is removed: whose pod it was, and no secret values."""

from __future__ import annotations

import os
import pathlib
import random
import time
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


@pytest.mark.parametrize(
    ("values", "text", "expected"),
    [
        (("abcdefgh-long", "abcdefgh"), "abcdefgh-long abcdefgh-lo!", "<redacted>*** ********-lo!"),
        (("abcdefgh-long", "bcdefgh="), "aabcdefgh= abcdefgx", "aa******** abcdefgx"),
        (("a.cdefgh",), "abcdefgh a.cdefgh", "abcdefgh ********"),
        (("tökén-tökén",), "a tökén-tökén b", "a <redacted>***** b"),
    ],
)
def test_values_that_begin_alike_are_distinguished(log: pathlib.Path, values: tuple[str, ...], text: str, expected: str) -> None:
    log.write_text(f"{STAMP}{text}\n")
    secret_values.replace(log.parent.parent, pod(**{f"TOKEN_{index}_KEY": each for index, each in enumerate(values)}))
    assert log.read_text() == f"{STAMP}{expected}\n"


def test_many_values_are_searched_in_one_pass(log: pathlib.Path) -> None:
    """Each for itself: 900 searches of 20 MB took more than seven seconds."""
    digits = "".join(random.Random(1).choices("0123456789", k=1_000))
    log.write_text(f"{STAMP}{digits}\n" * 20_000 + f"{STAMP}31415007\n")
    started = time.process_time()
    secret_values.replace(log.parent.parent, pod(SSH_KEY="\n".join(f"31415{number:03}" for number in range(900))))
    assert time.process_time() - started < 2
    assert log.read_text().endswith(f"{digits}\n{STAMP}********\n")


REMOVED = "traincrew: this log was removed:"


def test_the_logs_of_a_pod_with_too_many_values_are_removed_and_say_so(log: pathlib.Path) -> None:
    log.write_text(f"{STAMP}line-0000001\n" * 1_000)
    os.utime(log, (1_767_225_600, 1_767_225_600))
    secret_values.replace(log.parent.parent, pod(SSH_KEY="\n".join(f"line-{number:07}" for number in range(11_000))))
    expected = f"2026-01-01T00:00:00.000000000Z stdout F {REMOVED} its pod had more than 1000 secret values\n"
    assert log.read_text() == expected
    assert kept_pod.read(log.parent.parent).secrets_replaced


def test_a_log_that_consists_of_secret_values_is_removed_and_says_so(log: pathlib.Path) -> None:
    other = log.with_name("1.log")
    log.write_text(f"{TOKEN}\n" * 400_000)
    other.write_text(f"{STAMP}{TOKEN}\n")
    started = time.process_time()
    secret_values.replace(log.parent.parent, pod(HF_TOKEN=TOKEN))
    assert time.process_time() - started < 20
    assert log.read_text().endswith(f"{REMOVED} secret values occurred in it too often\n")
    assert other.read_text() == f"{STAMP}<redacted>***\n"


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
