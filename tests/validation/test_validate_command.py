"""`traincrew validate` as a process."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys

import pytest
import yaml
from tests.validation import valid_manifests

from traincrew.kinds import KINDS

SEEDS = pathlib.Path(__file__).parents[2] / "examples" / "seeds"


def traincrew(*words: str, text: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "traincrew.cli.main", *words]
    done = subprocess.run(command, input=text, capture_output=True, timeout=60, check=False)
    assert b"Traceback" not in done.stderr
    return done


@pytest.fixture
def good(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "good.yaml"
    path.write_text(yaml.safe_dump(valid_manifests.job(KINDS[0])))
    return path


@pytest.fixture
def bad(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "bad.yaml"
    path.write_text("apiVersion: kubeflow.org/v1\nkind: JAXJob\nmetadata: {name: 1j}\nspec: {}\n")
    return path


def test_the_seeds_are_valid() -> None:
    done = traincrew("validate", str(SEEDS))
    assert done.stdout.decode() == "no errors, no warnings, 10 jobs in 12 files; 2 objects of other kinds skipped\n"
    assert done.returncode == 0


def test_findings_are_printed_with_file_and_line_and_the_exit_code_is_1(good: pathlib.Path, bad: pathlib.Path) -> None:
    done = traincrew("validate", str(good), str(bad))
    lines = done.stdout.decode().splitlines()
    assert [line for line in lines if "bad.yaml" in line and not line.startswith(f"{bad}:3: metadata.name: should match")] == [
        f"{bad}:4: spec.jaxReplicaSpecs: is required"
    ]
    assert lines[-1].startswith("2 errors, ")
    assert done.returncode == 1


def test_a_directory_is_searched_in_depth_and_in_order(tmp_path: pathlib.Path) -> None:
    for name in ("b/two.yml", "a/one.json", "c.YAML", "ignored.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("[]")
    done = traincrew("validate", str(tmp_path))
    found = [line.split(":")[0].removeprefix(f"{tmp_path}/") for line in done.stdout.decode().splitlines()[:-1]]
    assert found == ["a/one.json", "b/two.yml", "c.YAML"]
    assert done.returncode == 1


def test_standard_input_is_read(bad: pathlib.Path) -> None:
    done = traincrew("validate", "-", text=bad.read_bytes())
    assert done.stdout.startswith(b"-:3: metadata.name: ")
    assert done.returncode == 1


def test_json_output_has_the_same_findings(bad: pathlib.Path) -> None:
    done = traincrew("validate", "--output", "json", str(bad))
    found = json.loads(done.stdout)
    assert (found["files"], found["jobs"], found["others"]) == (1, 1, 0)
    assert [(one["file"], one["line"], one["path"], one["level"]) for one in found["findings"]] == [
        (str(bad), 3, "metadata.name", "error"),
        (str(bad), 4, "spec.jaxReplicaSpecs", "error"),
    ]
    assert done.returncode == 1


@pytest.mark.parametrize("text", [b"\xff\xfe\x00", None], ids=["not UTF-8", "not there"])
def test_what_cannot_be_read_is_reported_and_the_rest_is_validated(
    tmp_path: pathlib.Path, bad: pathlib.Path, text: bytes | None
) -> None:
    path = tmp_path / "strange.yaml"
    if text is not None:
        path.write_bytes(text)
    done = traincrew("validate", str(path), str(bad))
    assert str(path).encode() in done.stderr
    assert b"2 errors" in done.stdout
    assert done.returncode == 2


def test_nothing_to_check_is_a_wrong_call() -> None:
    assert traincrew("validate").returncode == 2


def test_manifests_crds_prints_the_kinds_named() -> None:
    done = traincrew("manifests", "crds", "MPIJob", "tfjobs")
    found = yaml.load_all(done.stdout, Loader=yaml.CSafeLoader)
    assert [crd["metadata"]["name"] for crd in found] == ["mpijobs.kubeflow.org", "tfjobs.kubeflow.org"]
    assert done.returncode == 0


def test_manifests_crds_knows_no_other_kinds() -> None:
    done = traincrew("manifests", "crds", "PodJob")
    assert b"unknown kind 'PodJob'" in done.stderr
    assert done.returncode == 2


def test_a_script_is_not_a_manifest(tmp_path: pathlib.Path) -> None:
    script = tmp_path / "ok.py"
    script.write_text("import torch\n")
    done = traincrew("validate", str(script))
    assert f"error: {script} is a script, not a manifest. To run it as a job".encode() in done.stderr
    assert (done.returncode, done.stdout) == (2, b"")
