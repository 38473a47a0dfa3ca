"""The wizard: the form and the YAML are one document, checked by the API server before it is submitted."""

from __future__ import annotations

import pathlib
import re

import pytest
import yaml
from playwright.sync_api import Locator, Page, expect
from tests.console_browser.console_process import Machine

SEED = """mpirun --allow-run-as-root -np 2 -bind-to none -map-by slot \\
  -x NCCL_DEBUG=INFO -x LD_LIBRARY_PATH -x PATH \\
  -mca pml ob1 -mca btl ^openib \\
  python scripts/tf_cnn_benchmarks/tf_cnn_benchmarks.py \\
  --model=resnet101 --batch_size=64 --variable_update=horovod"""


@pytest.fixture
def wizard(page: Page) -> Page:
    page.goto("/jobs")
    page.get_by_role("main").get_by_role("link", name="New job").click()
    page.get_by_role("textbox", name="Name").wait_for()
    return page


def yaml_of(page: Page) -> Locator:
    return page.get_by_role("region", name="YAML").locator(".cm-content")


def test_the_mpi_job_of_the_seed_document(wizard: Page, machine: Machine) -> None:
    wizard.get_by_role("textbox", name="Name").fill("benchmarks-mpi")
    wizard.get_by_role("textbox", name="Description").fill("TensorFlow benchmarks")
    wizard.get_by_role("combobox", name="Image").fill("mpioperator/tensorflow-benchmarks:latest")
    wizard.get_by_role("textbox", name="Start command").fill("mpirun")
    wizard.get_by_role("textbox", name="Arguments").fill(SEED)
    expect(wizard.get_by_text("The arguments begin with the start command again.")).to_be_visible()
    wizard.get_by_role("button", name="Remove it from the arguments").click()
    expect(wizard.get_by_text("The arguments begin with the start command again.")).to_have_count(0)
    expect(wizard.get_by_text("3 replicas")).to_be_visible()
    expect(wizard.get_by_text("-np 2 uses all 2 slots of the workers.")).to_be_visible()
    wizard.get_by_role("button", name="Submit").click()
    expect(wizard.get_by_role("heading", name="benchmarks-mpi")).to_be_visible()

    job = machine.api.get("mpijobs", "default", "benchmarks-mpi")
    assert job["apiVersion"] == "kubeflow.org/v1"
    roles = job["spec"]["mpiReplicaSpecs"]
    assert {role: each["replicas"] for role, each in roles.items()} == {"Launcher": 1, "Worker": 2}
    launcher = roles["Launcher"]["template"]["spec"]["containers"][0]
    assert launcher["command"] == ["mpirun"]
    assert launcher["args"][:3] == ["--allow-run-as-root", "-np", "2"]
    assert launcher["args"][-1] == "--variable_update=horovod"
    assert launcher["resources"]["limits"] == {"cpu": "2", "memory": "4Gi"}


def test_every_field_of_the_form_reaches_the_job(wizard: Page, machine: Machine) -> None:
    wizard.get_by_role("textbox", name="Name").fill("all-fields")
    wizard.get_by_role("combobox", name="Image").fill("python")
    wizard.get_by_role("textbox", name="Start command").fill("true")
    wizard.get_by_role("textbox", name="Install command").fill("echo installed")
    wizard.get_by_role("button", name="Add a variable").click()
    wizard.get_by_role("textbox", name="Name of the variable").fill("NCCL_DEBUG")
    wizard.get_by_role("textbox", name="Value", exact=True).fill("INFO")
    wizard.get_by_role("button", name="Add a volume").click()
    wizard.get_by_role("menuitem", name="Empty directory").click()
    wizard.get_by_role("textbox", name="Mount path").fill("/scratch")
    wizard.get_by_role("textbox", name="Shared memory").fill("128Mi")
    worker = wizard.get_by_role("group", name="Worker", exact=True)
    for device in ("nvidia.com/vgpu", "nvidia.com/gpumem"):
        worker.get_by_role("button", name="Add a device").click()
        wizard.get_by_role("menuitem", name=device).click()
    expect(worker.get_by_role("textbox", name="nvidia.com/gpumem")).to_have_value("1k")
    wizard.get_by_text("Advanced", exact=True).click()
    wizard.get_by_role("textbox", name="Maximum restarts").fill("3")
    wizard.get_by_role("textbox", name="Delete after the end (seconds)").fill("3600")
    wizard.get_by_role("textbox", name="Queue").fill("team-a")
    wizard.get_by_role("button", name="Add a label").click()
    wizard.get_by_role("textbox", name="Key").fill("exp")
    wizard.get_by_role("textbox", name="Value", exact=True).last.fill("7")
    wizard.keyboard.press("Enter")
    expect(yaml_of(wizard)).to_contain_text('exp: "7"')
    wizard.get_by_role("button", name="Submit").click()
    expect(wizard.get_by_role("heading", name="all-fields")).to_be_visible()

    job = machine.api.get("mpijobs", "default", "all-fields")
    assert job["metadata"]["labels"] == {"kueue.x-k8s.io/queue-name": "team-a", "exp": "7"}
    policy = job["spec"]["runPolicy"]
    assert (policy["backoffLimit"], policy["ttlSecondsAfterFinished"]) == (3, 3600)
    for role in ("Launcher", "Worker"):
        pod = job["spec"]["mpiReplicaSpecs"][role]["template"]["spec"]
        main = pod["containers"][0]
        assert {"name": "NCCL_DEBUG", "value": "INFO"} in main["env"]
        assert [each["mountPath"] for each in main["volumeMounts"]] == ["/scratch", str(pathlib.Path("/dev", "shm"))]
        assert pod["volumes"][1]["emptyDir"] == {"medium": "Memory", "sizeLimit": "128Mi"}
    assert main["resources"]["limits"] == {"cpu": "2", "memory": "4Gi", "nvidia.com/vgpu": "1", "nvidia.com/gpumem": "1k"}
    machine.api.delete("mpijobs", "default", "all-fields")  # its memory is that of other tests
    launcher = job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]
    assert launcher["command"] == ["sh", "-c", 'set -e\necho installed\nexec "$@"', "sh", "true"]


def test_what_is_typed_key_by_key_is_what_the_job_gets(wizard: Page) -> None:
    install = wizard.get_by_role("textbox", name="Install command")
    install.press_sequentially("pip install -r a.txt\npip check ")
    expect(install).to_have_value("pip install -r a.txt\npip check ")
    environment = wizard.get_by_role("combobox", name="Runtime environment")
    environment.press_sequentially("/opt/tf/")
    expect(environment).to_have_value("/opt/tf/")
    wizard.get_by_role("textbox", name="Name").focus()
    expect(environment).to_have_value("/opt/tf")
    expect(install).to_have_value("pip install -r a.txt\npip check")
    expect(yaml_of(wizard)).to_contain_text("traincrew.kubeflow.org/environment: /opt/tf")
    expect(yaml_of(wizard)).to_contain_text("pip install -r a.txt")


def test_a_start_command_becomes_a_script_only_when_it_is_typed(wizard: Page) -> None:
    start = wizard.get_by_role("textbox", name="Start command")
    start.fill("")
    start.press_sequentially("bash -c 'python train.py'")
    expect(start).to_have_value("bash -c 'python train.py'")
    wizard.get_by_role("textbox", name="Name").focus()
    expect(start).to_have_value("python train.py")
    expect(wizard.get_by_role("radio", name="bash")).to_be_checked()


def test_the_amount_of_a_device_can_be_typed_anew(wizard: Page) -> None:
    worker = wizard.get_by_role("group", name="Worker", exact=True)
    worker.get_by_role("button", name="Add a device").click()
    wizard.get_by_role("menuitem", name="nvidia.com/gpu", exact=True).click()
    amount = worker.get_by_role("textbox", name="nvidia.com/gpu")
    amount.press("End")
    amount.press("Backspace")
    amount.press_sequentially("4")
    expect(amount).to_have_value("4")
    expect(yaml_of(wizard)).to_contain_text('nvidia.com/gpu: "4"')


def test_the_limits_of_an_elastic_mpi_job(wizard: Page) -> None:
    wizard.get_by_text("Advanced", exact=True).click()
    wizard.get_by_role("textbox", name="Elastic: fewest workers").fill("1")
    wizard.get_by_role("textbox", name="Elastic: most workers").fill("4")
    expect(yaml_of(wizard)).to_contain_text("elasticPolicy")
    expect(yaml_of(wizard)).to_contain_text("maxReplicas: 4")
    expect(wizard.get_by_text("The API server accepts the job.")).to_be_visible()


def test_a_file_with_several_objects_is_submitted_as_a_whole(page: Page, machine: Machine, tmp_path: pathlib.Path) -> None:
    file = tmp_path / "with-config.yaml"
    config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: with-config}\ndata: {epochs: '3'}\n"
    job = machine.api.get("tfjobs", "default", "evaluate")
    job = {"apiVersion": job["apiVersion"], "kind": job["kind"], "metadata": {"name": "with-config"}, "spec": job["spec"]}
    file.write_text(f"{config}---\n{yaml.safe_dump(job)}")
    page.goto("/templates")
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Open a file").click()
    chooser.value.set_files(file)
    expect(page.get_by_role("textbox", name="Name")).to_have_value("with-config")
    expect(page.get_by_text("The YAML has 1 more object.")).to_be_visible()
    page.get_by_role("textbox", name="Name").fill("with-config-2")
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("heading", name="with-config-2")).to_be_visible()
    assert machine.api.get("configmaps", "default", "with-config")["data"] == {"epochs": "3"}
    machine.api.delete("tfjobs", "default", "with-config-2")


def test_a_role_is_added_and_removed(wizard: Page) -> None:
    wizard.goto("/jobs/new?kind=tfjob")
    wizard.get_by_role("button", name="Add a role").click()
    wizard.get_by_role("menuitem", name="PS").click()
    expect(wizard.get_by_role("group", name="PS")).to_be_visible()
    expect(wizard.get_by_text("3 replicas")).to_be_visible()
    expect(wizard.get_by_text("The API server accepts the job.")).to_be_visible()
    wizard.get_by_role("button", name="Remove PS").click()
    expect(wizard.get_by_text("2 replicas")).to_be_visible()


def test_form_and_yaml_are_one_document(wizard: Page) -> None:
    wizard.get_by_role("group", name="Worker").get_by_role("textbox", name="Replicas").fill("4")
    expect(yaml_of(wizard)).to_contain_text("replicas: 4")
    expect(wizard.get_by_text("5 replicas")).to_be_visible()
    expect(wizard.get_by_text("-np 2 uses fewer than the 4 slots of the workers.")).to_be_visible()

    yaml_of(wizard).click()
    wizard.keyboard.press("Control+Home")
    wizard.keyboard.type("# kept\n")
    wizard.get_by_role("textbox", name="Name").fill("other")
    expect(yaml_of(wizard)).to_contain_text("# kept")
    expect(yaml_of(wizard)).to_contain_text("name: other")


def test_broken_yaml_freezes_the_form_and_loses_nothing(wizard: Page) -> None:
    wizard.get_by_role("textbox", name="Name").fill("precious")
    yaml_of(wizard).click()
    wizard.keyboard.press("Control+End")
    wizard.keyboard.type("x: [")
    name = wizard.get_by_role("textbox", name="Name")
    expect(name).to_be_disabled()
    expect(name).to_have_value("precious")
    expect(wizard.get_by_role("button", name="Submit")).to_be_disabled()
    for _ in range(4):
        wizard.keyboard.press("Backspace")
    expect(name).to_be_enabled()


def test_the_api_server_says_what_is_wrong_at_the_field_and_the_line(wizard: Page) -> None:
    expect(wizard.get_by_text("The API server accepts the job.")).to_be_visible()
    wizard.get_by_role("group", name="Worker").get_by_role("textbox", name="CPU").fill("many")
    expect(wizard.get_by_text("The API server refuses the job.")).to_be_visible()
    expect(wizard.get_by_role("contentinfo").or_(wizard.locator(".wizard-footer"))).to_contain_text(re.compile(r"Line \d+"))
    expect(wizard.locator(".cm-lint-marker-error").first).to_be_visible()
    expect(wizard.get_by_role("button", name="Submit")).to_be_disabled()


def test_a_job_is_copied_and_changed(page: Page, machine: Machine) -> None:
    page.goto("/jobs/default/tfjob/evaluate")
    page.get_by_role("link", name="Copy and change").click()
    expect(page.get_by_role("textbox", name="Name")).to_have_value("evaluate-copy")
    page.get_by_role("textbox", name="Start command").fill("python -c 'print(\"accuracy 0.98\")'")
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("heading", name="evaluate-copy")).to_be_visible()
    machine.wait("tfjob/evaluate-copy", "Succeeded")
    page.get_by_role("link", name="Logs", exact=True).first.click()
    expect(page.get_by_role("log")).to_contain_text("accuracy 0.98")


def test_a_reload_keeps_what_was_changed_in_a_copy(page: Page) -> None:
    page.goto("/jobs/new?from=default/tfjob/evaluate")
    page.get_by_role("textbox", name="Name").fill("evaluate-better")
    expect(yaml_of(page)).to_contain_text("name: evaluate-better")
    page.reload()
    expect(page.get_by_role("textbox", name="Name")).to_have_value("evaluate-better")


def test_an_address_with_a_kind_shows_that_kind_whatever_the_draft(wizard: Page) -> None:
    wizard.get_by_role("textbox", name="Name").fill("precious")
    expect(yaml_of(wizard)).to_contain_text("name: precious")
    wizard.goto("/jobs/new?kind=pytorchjob")
    expect(yaml_of(wizard)).to_contain_text("kind: PyTorchJob")
    wizard.goto("/jobs/new")
    expect(wizard.get_by_role("textbox", name="Name")).to_have_value("precious")


def test_another_kind_and_starting_over_lose_nothing(wizard: Page) -> None:
    wizard.get_by_role("textbox", name="Name").fill("precious")
    wizard.get_by_role("radiogroup", name="Kind").get_by_text("TFJob").click()
    expect(yaml_of(wizard)).to_contain_text("kind: TFJob")
    wizard.get_by_role("button", name="Back to it").click()
    expect(wizard.get_by_role("textbox", name="Name")).to_have_value("precious")
    wizard.get_by_role("button", name="Start over").click()
    expect(wizard.get_by_role("textbox", name="Name")).to_have_value("my-job")
    wizard.get_by_role("button", name="Back to it").click()
    expect(wizard.get_by_role("textbox", name="Name")).to_have_value("precious")


def test_an_empty_number_is_not_zero_replicas(wizard: Page) -> None:
    replicas = wizard.get_by_role("group", name="Worker").get_by_role("textbox", name="Replicas")
    replicas.fill("")
    expect(wizard.get_by_text("Enter a number.")).to_be_visible()
    expect(yaml_of(wizard)).to_contain_text("replicas: 2")
    replicas.fill("3")
    expect(yaml_of(wizard)).to_contain_text("replicas: 3")


def test_roles_that_differ_keep_their_images(wizard: Page) -> None:
    wizard.goto("/jobs/new?kind=pytorchjob")
    yaml_of(wizard).get_by_text("pytorch/pytorch:2.5.1").last.dblclick()
    wizard.keyboard.press("End")
    wizard.keyboard.type("-worker")
    expect(wizard.get_by_role("combobox", name="Image (Worker)")).to_have_value(re.compile("-worker$"))
    wizard.get_by_role("combobox", name="Image", exact=True).fill("other")
    expect(yaml_of(wizard)).to_contain_text("image: other")
    expect(wizard.get_by_role("combobox", name="Image (Worker)")).to_have_value(re.compile("-worker$"))


def test_a_job_that_is_not_elastic_is_scaled_only_by_a_second_decision(page: Page, machine: Machine) -> None:
    page.goto("/jobs/default/pytorchjob/digits")
    page.get_by_role("button", name="Scale").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox").fill("3")
    dialog.get_by_role("button", name="Scale", exact=True).click()
    expect(dialog.get_by_role("alert")).to_contain_text("is not elastic")
    assert machine.api.get("pytorchjobs", "default", "digits")["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] == 2
    expect(dialog.get_by_role("button", name="Scale anyway")).to_be_visible()
