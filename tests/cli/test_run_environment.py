"""The environment of jobs that `traincrew run` creates: that of the caller, or the one that the options name."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator, Mapping
from types import MappingProxyType

import pytest
from tests.cli.cluster_fixture import COMMAND, write_manifests
from tests.cluster import manifests

from traincrew.cli.jobs import python_environment
from traincrew.inspection import package_installation

WHERE = "import sys; print('prefix', sys.prefix)\n"
MODULE = "traincrew_test_framework"
TIMEOUT_SECONDS = 120


@dataclasses.dataclass(frozen=True)
class Caller:
    """A user of a cluster that was started from another environment."""

    data: pathlib.Path
    work: pathlib.Path
    env: dict[str, str]

    def run(
        self, *arguments: str, cwd: pathlib.Path | None = None, variables: Mapping[str, str] = MappingProxyType({})
    ) -> tuple[int, str, str]:
        done = subprocess.run(
            [*COMMAND, *arguments], cwd=cwd or self.work, env={**self.env, **variables}, capture_output=True, text=True,
            timeout=TIMEOUT_SECONDS, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout, done.stderr

    def environment(self, name: str, *modules: str, directory: pathlib.Path | None = None) -> pathlib.Path:
        """A virtual environment with these modules."""
        made = (directory or self.work) / name
        venv.create(made, symlinks=True)
        for module in modules:
            self.module(made, module)
        return made

    def module(self, environment: pathlib.Path, name: str) -> None:
        (package := next(environment.glob("lib/python3*/site-packages")) / name).mkdir()
        (package / "__init__.py").write_text(f"name = {environment.name!r}\n")

    def activated(self, environment: pathlib.Path) -> dict[str, str]:
        return {"VIRTUAL_ENV": str(environment), "PATH": f"{environment}/bin:{self.env['PATH']}"}


@pytest.fixture(scope="module")
def caller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    root = tmp_path_factory.mktemp("caller")
    path = f"{os.path.dirname(os.path.realpath(sys.executable))}:/usr/local/bin:/usr/bin:/bin"
    dropped = ("KUBECONFIG", "VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH")
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    own = {"TRAINCREW_DATA": str(root / "data"), "XDG_CONFIG_HOME": str(root / "config"), "TRAINCREW_CACHE": str(root / "cache")}
    found = Caller(root / "data", root / "work", {**kept, **own, "PATH": path})
    found.work.mkdir()
    (found.work / "where.py").write_text(WHERE)
    code, _, err = found.run("up", "--detach")
    assert code == 0, err
    yield found
    found.run("delete", "--all", "--wait")
    found.run("down", "--grace", "0")


def job(
    caller: Caller, *command: str, options: tuple[str, ...] = (), variables: Mapping[str, str] = MappingProxyType({})
) -> tuple[int, str, str]:
    return caller.run("run", "--rm", "--kind", "PyTorchJob", *options, "--", *command, variables=variables)


def test_a_job_runs_in_the_activated_environment_of_the_caller(caller: Caller) -> None:
    mine = caller.environment("mine")
    code, out, err = job(caller, "python", "where.py", variables=caller.activated(mine))
    assert (code, out) == (0, f"[master-0] prefix {mine}\n"), err
    version = ".".join(map(str, sys.version_info[:3]))
    assert err.startswith(f"The job runs with Python {version} of the activated virtual environment {mine}.\n")


def test_without_an_activated_environment_a_job_runs_with_the_python_of_the_path(caller: Caller) -> None:
    other = caller.environment("other")
    code, out, err = job(caller, "python", "where.py", variables={"PATH": f"{other}/bin:{caller.env['PATH']}"})
    assert (code, out) == (0, f"[master-0] prefix {other}\n"), err


def only_python3(caller: Caller, name: str, *modules: str) -> pathlib.Path:
    """As on Debian."""
    made = caller.environment(name, *modules)
    (made / "bin" / "python3").unlink()
    (made / "bin" / "python").rename(made / "bin" / "python3")
    return made


def path_of_debian(caller: Caller, environment: pathlib.Path) -> dict[str, str]:
    """No other directory has a Python under the name `python`."""
    tools = caller.work / "tools"
    if not tools.exists():
        tools.mkdir()
        for program in ("sh", "env"):
            (tools / program).symlink_to(shutil.which(program) or "")
    return {"PATH": f"{environment}/bin:{tools}:{sys.prefix}/bin"}


def test_the_python_of_the_command_names_the_environment_and_not_that_of_traincrew_at_the_end_of_the_path(caller: Caller) -> None:
    mine = only_python3(caller, "debian", "of_debian")
    (caller.work / "debian.py").write_text("import of_debian, sys; print('prefix', sys.prefix)\n")
    variables = path_of_debian(caller, mine)
    code, out, err = job(caller, "python3", "debian.py", variables=variables)
    assert (code, out) == (0, f"[master-0] prefix {mine}\n"), err
    assert f"of the virtual environment {mine}.\n" in err
    code, out, err = job(caller, "sh", "-c", "python3 debian.py", variables=variables)
    assert (code, out) == (0, f"[master-0] prefix {mine}\n"), err


def test_a_python_that_only_traincrew_has_stops_the_job_with_that_of_the_user(caller: Caller) -> None:
    mine = only_python3(caller, "debian-too")
    variables = path_of_debian(caller, mine)
    code, out, err = job(caller, "python", "where.py", variables=variables)
    assert (code, out) == (2, "")
    assert f"python in the PATH is only that of traincrew ({sys.prefix}/bin/python), and the job would run with Python" in err
    assert f"Use python3 for your own Python, or --env-dir {sys.prefix} for that of traincrew." in err
    assert (
        "\n  traincrew run --kind KIND --workers 2 -- python3 where.py\n" in caller.run("run", "where.py", variables=variables)[2]
    )
    code, out, err = job(caller, "python", "where.py", options=("--env-dir", sys.prefix), variables=variables)
    assert (code, out) == (0, f"[master-0] prefix {sys.prefix}\n"), err


def test_the_environment_of_traincrew_is_that_of_the_caller_if_it_comes_first(caller: Caller) -> None:
    variables = {"PATH": f"{sys.prefix}/bin:{caller.env['PATH']}"}
    code, out, err = job(caller, "python", "where.py", variables=variables)
    assert (code, out) == (0, f"[master-0] prefix {sys.prefix}\n"), err


def test_env_dir_selects_an_environment(caller: Caller) -> None:
    given = caller.environment("given")
    code, out, err = job(caller, "python", "where.py", options=("--env-dir", str(given)))
    assert (code, out) == (0, f"[master-0] prefix {given}\n"), err
    code, _, err = job(caller, "python", "where.py", options=("--env-dir", str(caller.work)))
    assert (code, "is not a Python environment: bin/python does not exist" in err) == (2, True)


def test_requirements_are_installed_once(caller: Caller) -> None:
    wheel = caller.work / "tiny-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("tiny.py", "value = 42\n")
        archive.writestr("tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
        archive.writestr("tiny-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("tiny-1.0.dist-info/RECORD", "")
    (caller.work / "requirements.txt").write_text(f"{wheel}\n")
    (caller.work / "tiny_user.py").write_text("import tiny; print(tiny.value)\n")
    options = ("--requirements", "requirements.txt")
    code, out, err = job(caller, "python", "tiny_user.py", options=options)
    assert (code, out) == (0, "[master-0] 42\n"), err
    assert "Installing the packages of requirements.txt" in err
    wheel.unlink()
    code, out, err = job(caller, "python", "tiny_user.py", options=options)
    assert (code, out, "Installing" in err) == (0, "[master-0] 42\n", False), err


def test_requirements_that_cannot_be_installed_show_the_error_of_pip(caller: Caller) -> None:
    (caller.work / "bad.txt").write_text("/nonexistent/package.whl\n")
    code, _, err = job(caller, "python", "where.py", options=("--requirements", "bad.txt"))
    assert code == 2
    assert "/nonexistent/package.whl" in err
    assert "failed with exit code 1. Correct the file" in err


def test_a_missing_framework_stops_the_job_with_the_command_that_has_it(caller: Caller) -> None:
    built = caller.environment("framework", MODULE)
    assert caller.run("image", "set", "traincrew/framework", "--env-dir", str(built))[0] == 0
    (caller.work / "train.py").write_text(f"import {MODULE}\nprint({MODULE}.name)\n")
    bare = caller.environment("bare")
    code, out, err = job(caller, "python", "train.py", variables=caller.activated(bare))
    assert (code, out) == (2, "")
    assert f"The command imports {MODULE}." in err
    command = "traincrew run --image traincrew/framework --rm --kind PyTorchJob -- python train.py"
    assert f"image traincrew/framework does. Nothing was created. Run:\n  {command}\n" in err
    assert "No jobs found" in caller.run("ls")[2]
    code, out, err = caller.run(*command.split()[1:], variables=caller.activated(bare))
    assert (code, out) == (0, "[master-0] framework\n"), err


def test_an_environment_with_the_framework_alone_stops_the_job_with_what_it_lacks(caller: Caller) -> None:
    built = caller.environment("alone", "xgboost")
    assert caller.run("image", "set", "traincrew/alone", "--env-dir", str(built))[0] == 0
    (caller.work / "both.py").write_text("import xgboost\nimport needed_too\nprint('both')\n")
    variables = caller.activated(caller.environment("without-both"))
    code, out, err = job(caller, "python", "both.py", variables=variables)
    assert (code, out) == (2, "")
    assert "The command imports needed_too, xgboost." in err
    assert (
        "image traincrew/alone has xgboost and lacks needed_too. Nothing was created. Install what provides needed_too:\n  "
        in err
    )
    install, _, command = [line.strip() for line in err.splitlines()[-3:]]
    assert install == package_installation.command(str(built))
    assert command == "traincrew run --image traincrew/alone --rm --kind PyTorchJob -- python both.py"
    assert "No jobs found" in caller.run("ls")[2]
    caller.module(built, "needed_too")
    code, out, err = caller.run(*command.split()[1:], variables=variables)
    assert (code, out) == (0, "[master-0] both\n"), err


def test_the_advice_about_a_missing_module_names_the_image_that_has_it(caller: Caller) -> None:
    built = caller.environment("later", "imported_later")
    assert caller.run("image", "set", "traincrew/later", "--env-dir", str(built))[0] == 0
    (caller.work / "late.py").write_text("def main():\n    import imported_later\nmain()\n")
    assert caller.run("run", "--kind", "PyTorchJob", "--name", "late", "--", "python", "late.py")[0] == 1
    assert "Image traincrew/later has it: use `traincrew run --image traincrew/later`" in caller.run("why", "late")[1]
    caller.run("delete", "late", "--wait")


@pytest.mark.parametrize("option", [False, True], ids=["activated", "--env-dir"])
def test_a_missing_module_of_the_own_environment_is_reported_with_its_installation(caller: Caller, option: bool) -> None:
    own = caller.environment(f"own-{option}", "xgboost")
    (caller.work / "partly.py").write_text("import xgboost\nimport cv2\nimport needed_three\n")
    options, variables = (("--env-dir", str(own)), {}) if option else ((), caller.activated(own))
    code, _, err = job(caller, "python", "partly.py", options=options, variables=variables)
    assert code == 1
    assert "warning: The command imports cv2, needed_three. " in err
    install = package_installation.command(str(own)).replace("PACKAGE", "opencv-python needed_three")
    assert f"Install what is missing: `{install}`, or choose another environment" in err


def test_a_missing_program_stops_the_job(caller: Caller) -> None:
    code, _, err = job(caller, "nosuchprogram", "x")
    assert (code, "nosuchprogram is not in the PATH of Python" in err) == (2, True)


def test_a_script_or_a_misspelled_program_as_the_command_gets_the_right_one(caller: Caller) -> None:
    (caller.work / "ok.py").write_text(WHERE)
    code, _, err = job(caller, "ok.py")
    assert (code, "ok.py is a script, not a program. Nothing was created. Use `python" in err) == (2, True), err
    code, _, err = caller.run("run", "--workers", "3", "ok.py")
    assert (code, "traincrew run --kind KIND --workers 3 -- python" in err) == (2, True), err
    code, _, err = job(caller, "pyhton", "ok.py")
    assert (code, "Did you mean python" in err) == (2, True), err


def test_a_variable_instead_of_a_program_is_set_with_an_option(caller: Caller) -> None:
    code, _, err = job(caller, "WORLD_SIZE=4", "python", "x.py")
    assert (code, "Write `--env WORLD_SIZE=4` before `--`" in err) == (2, True)


def test_a_missing_program_of_a_launcher_stops_the_job(caller: Caller) -> None:
    binaries = caller.environment("launcher") / "bin"
    (binaries / "mpirun").symlink_to("/bin/true")
    options = ("run", "--kind", "MPIJob", "--env-dir", str(binaries.parent))
    code, _, err = caller.run(*options, "--", "nosuchprogram")
    assert (code, "nosuchprogram is not in the PATH of Python" in err) == (2, True)
    (binaries / "mpirun").unlink()
    if shutil.which("mpirun", path=caller.env["PATH"]) is None:
        code, _, err = caller.run(*options, "--", "true")
        assert (code, "mpirun is not in the PATH of Python" in err) == (2, True)
        assert "Install it there, or build an environment: `make framework-openmpi4` in the clone of traincrew" in err


@pytest.mark.parametrize(
    ("command", "missing"),
    [
        (("python", "-u", "nosuch.py"), "nosuch.py"),
        (("./missing.sh", "x"), "./missing.sh"),
        (("python", "-W", "ignore", "no"), "no"),
    ],
)
def test_a_missing_file_stops_the_job(caller: Caller, command: tuple[str, ...], missing: str) -> None:
    code, _, err = job(caller, *command)
    assert code == 2
    assert f"{missing}: no such file in {caller.work}, where the command runs. Nothing was created." in err
    assert "No jobs found" in caller.run("ls")[2]


def test_an_image_without_a_mapping_stops_the_job_with_the_name_that_was_meant(caller: Caller) -> None:
    mine = caller.environment("meant")
    assert caller.run("image", "set", "traincrew/meant", "--env-dir", str(mine))[0] == 0
    code, _, err = job(caller, "python", "where.py", options=("--image", "meant"))
    assert code == 2
    assert "image meant has no mapping" in err
    assert "Did you mean traincrew/meant? Run `traincrew image set meant --env-dir DIR` to map it" in err
    assert "Did you mean" not in job(caller, "python", "where.py", options=("--image", "some/other:1"))[2]
    assert job(caller, "python", "where.py", options=("--image", "traincrew/meant"))[0] == 0
    err = job(caller, "python", "where.py", options=("--image", "traincrew/horovod-torch"))[2]
    assert "image traincrew/horovod-torch has no mapping. Nothing was created." in err
    assert "Run `make framework-horovod-torch` in the clone of traincrew (docs/frameworks.md), then run again." in err


def test_a_script_in_a_directory_that_pods_do_not_see_stops_the_job(caller: Caller, tmp_path: pathlib.Path) -> None:
    script = tmp_path / "hidden.py"
    script.write_text(WHERE)
    if not str(script).startswith(("/tmp/", "/var/tmp/", "/run/")):  # noqa: S108 - of this machine
        pytest.skip("the temporary directory is visible in pods")
    code, _, err = job(caller, "python", str(script))
    assert code == 2
    assert f"{script}: pods have a /tmp of their own and do not see this file" in err
    code, out, err = caller.run("run", "--rm", "--kind", "PyTorchJob", "--", "python", str(script), cwd=tmp_path)
    assert (code, "prefix" in out) == (0, True), err


def manifest(caller: Caller, *command: str, mount: dict[str, object] | None = None, **fields: object) -> str:
    container = {"name": "pytorch", "image": "some/plain", "command": [*command], **(mount or {})}
    spec = {"containers": [container], **fields}
    replica = {"replicas": 1, "restartPolicy": "Never", "template": {"spec": spec}}
    return write_manifests(caller.work, manifests.job("PyTorchJob", Master=replica), name="plain.yaml")


@pytest.mark.parametrize("command", [("bash", "-e"), ("perl",), ("torchrun", "--nproc-per-node", "2"), ("sh", "-c")])
def test_a_script_in_tmp_stops_a_job_of_any_interpreter(caller: Caller, tmp_path: pathlib.Path, command: tuple[str, ...]) -> None:
    script = tmp_path / "hidden.sh"
    script.touch()
    if not str(script).startswith(("/tmp/", "/var/tmp/", "/run/")):  # noqa: S108 - of this machine
        pytest.skip("the temporary directory is visible in pods")
    last = f"bash {script}" if command == ("sh", "-c") else str(script)
    code, _, err = caller.run("run", manifest(caller, *command, last))
    assert (code, f"container pytorch: {script}: pods have a /tmp of their own and do not see this file" in err) == (2, True), err


def test_a_script_that_does_not_exist_stops_a_job_of_a_shell(caller: Caller) -> None:
    code, _, err = job(caller, "bash", "trian.sh")
    assert (code, f"trian.sh: no such file in {caller.work}, where the command runs. Nothing was created." in err) == (2, True), (
        err
    )


def test_a_script_of_a_manifest_that_pods_do_not_see_stops_the_job(caller: Caller, tmp_path: pathlib.Path) -> None:
    script = tmp_path / "hidden.py"
    script.write_text(WHERE)
    if not str(script).startswith(("/tmp/", "/var/tmp/", "/run/")):  # noqa: S108 - of this machine
        pytest.skip("the temporary directory is visible in pods")
    code, _, err = caller.run("run", manifest(caller, "python", str(script)))
    assert code == 2
    assert f"container pytorch: {script}: pods have a /tmp of their own and do not see this file. Mount {tmp_path} " in err
    mount: dict[str, object] = {"volumeMounts": [{"name": "work", "mountPath": str(tmp_path)}]}
    volumes = [{"name": "work", "hostPath": {"path": str(tmp_path)}}]
    code, out, err = caller.run("run", "--rm", manifest(caller, "python", str(script), mount=mount, volumes=volumes))
    assert (code, "prefix" in out) == (0, True), err


def test_why_says_that_pods_have_a_tmp_of_their_own(caller: Caller) -> None:
    code, _, err = caller.run("run", manifest(caller, "python", "/tmp/traincrew-no-such-script.py"))  # noqa: S108 - not made
    assert code == 2, err
    assert "Move /tmp/traincrew-no-such-script.py out of /tmp, or mount its directory" in caller.run("why", "j")[1]
    caller.run("delete", "j", "--wait")


def test_the_packages_of_the_user_and_his_programs_are_those_of_a_manifest(caller: Caller) -> None:
    """As `pip install --user` installs them."""
    user = caller.work / "user"
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    (user / "lib" / version / "site-packages" / "of_the_user").mkdir(parents=True)
    (user / "lib" / version / "site-packages" / "of_the_user" / "__init__.py").write_text("name = 'mine'\n")
    (user / "bin").mkdir()
    (user / "bin" / "my-tool").write_text("#!/bin/sh\necho tool of the user\n")
    (user / "bin" / "my-tool").chmod(0o755)
    variables = {"PYTHONUSERBASE": str(user), "PATH": f"{caller.env['PATH']}:{user}/bin"}
    command = ("sh", "-c", "my-tool && python -c 'import of_the_user; print(of_the_user.name)'")
    code, out, err = caller.run("run", "--rm", manifest(caller, *command), variables=variables)
    assert (code, out) == (0, "[master-0] tool of the user\n[master-0] mine\n"), err


def test_an_activated_conda_environment_is_that_of_the_caller(caller: Caller) -> None:
    mine = caller.environment("conda")
    activated = {"CONDA_PREFIX": str(mine), "PATH": f"{mine}/bin:{caller.env['PATH']}"}
    code, out, err = job(caller, "python", "where.py", variables=activated)
    assert (code, out) == (0, f"[master-0] prefix {mine}\n"), err
    assert f"of the activated conda environment {mine}.\n" in err


def test_an_activated_environment_is_not_used_if_another_python_comes_first_in_the_path(caller: Caller) -> None:
    mine, first = caller.environment("later"), caller.environment("first")
    variables = {"VIRTUAL_ENV": str(mine), "PATH": f"{first}/bin:{mine}/bin:{caller.env['PATH']}"}
    code, out, err = job(caller, "python", "where.py", variables=variables)
    assert (code, out) == (0, f"[master-0] prefix {first}\n"), err
    assert f"of the virtual environment {first}.\n" in err


def test_the_interpreter_of_the_command_names_the_environment_wherever_it_is(caller: Caller, tmp_path: pathlib.Path) -> None:
    mine = caller.environment("named", directory=tmp_path)
    code, out, err = job(caller, f"{mine}/bin/python", "-c", WHERE, options=("--no-mount",))
    assert (code, f"prefix {mine}" in out) == (0, True), err


def test_code_that_an_unknown_image_cannot_import_stops_the_job_with_the_command_that_maps_it(caller: Caller) -> None:
    built = caller.environment("code", "imported_by_code")
    assert caller.run("image", "set", "traincrew/code", "--env-dir", str(built))[0] == 0
    container = {"name": "pytorch", "image": "some/trainer", "command": ["python", "-c", "import imported_by_code"]}
    replica = {"replicas": 1, "restartPolicy": "OnFailure", "template": {"spec": {"containers": [container]}}}
    path = write_manifests(caller.work, manifests.job("PyTorchJob", Master=replica), name="code.yaml")
    code, _, err = caller.run("run", path)
    assert (code, "the environment of image traincrew/code does. Nothing was created." in err) == (2, True), err
    command = err.splitlines()[-1].split()
    assert command == ["traincrew", "image", "set", "some/trainer", "--env-dir", str(built)]
    assert caller.run(*command[1:])[0] == 0
    assert caller.run("run", "--rm", path)[0] == 0


def test_an_unknown_image_with_arguments_alone_says_how_to_set_its_entrypoint(caller: Caller) -> None:
    container = {"name": "pytorch", "image": "some/image", "args": ["--epochs", "3"]}
    replica = {"replicas": 1, "restartPolicy": "Never", "template": {"spec": {"containers": [container]}}}
    path = write_manifests(caller.work, manifests.job("PyTorchJob", Master=replica), name="entrypoint.yaml")
    code, _, err = caller.run("run", path)
    assert code == 128
    remedy = "`traincrew image set some/image --command 'PROGRAM'`"
    assert f"The ENTRYPOINT of the image is unknown here: the first argument runs as the command. Run {remedy}" in err
    page = caller.run("why", "j")[1]
    assert "so its first argument was run as the command." in page
    assert page.count(remedy) == 1
    assert f"Set `command` in the manifest, or the ENTRYPOINT: {remedy}." in page
    caller.run("delete", "j", "--wait")


@pytest.mark.skipif(os.geteuid() != 0, reason="runAsUser of another user needs root")
def test_an_environment_in_a_closed_directory_is_reported_before_the_container_starts(caller: Caller) -> None:
    home = pathlib.Path("/opt/traincrew-test-closed-home")
    home.mkdir(mode=0o700)
    try:
        mine = caller.environment("venv", directory=home)
        container = {"name": "pytorch", "image": "some/image", "command": ["python", "-c", WHERE]}
        spec = {"securityContext": {"runAsUser": 1000}, "containers": [container]}
        replica = {"replicas": 1, "restartPolicy": "Never", "template": {"spec": spec}}
        path = write_manifests(caller.work, manifests.job("PyTorchJob", Master=replica), name="closed.yaml")
        code, out, err = caller.run("run", "--env-dir", str(mine), path)
        assert (code, out) == (1, "")
        assert "can never run here: container pytorch of pod j-master-0:" in err
        assert f"user 1000 (runAsUser) may not use the environment {mine}: {home} has mode 0700. Run `chmod o+x {home}`" in err
    finally:
        shutil.rmtree(home)


@pytest.mark.parametrize(
    ("python", "shown"),
    [
        ("/home/ada/v/bin/python", "Python 3.12.1 of the virtual environment ~/v"),
        ("/home/ada/v/bin/python3", "Python 3.12.1 of the virtual environment ~/v"),
        ("/home/ada/.pyenv/shims/python", "Python 3.12.1 (~/.pyenv/shims/python) of the virtual environment ~/v"),
    ],
)
def test_the_interpreter_is_named_if_it_is_not_that_of_the_environment(
    python: str, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    found = python_environment.PythonEnvironment("/home/ada/v", python, "3.12.1", "the virtual environment")
    assert str(found) == shown
