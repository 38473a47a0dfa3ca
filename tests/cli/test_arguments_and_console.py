"""Job references, times and manifests of the user, and the console output."""

from __future__ import annotations

import datetime as dt
import io
import os
import pathlib
import pty
import subprocess
import time

import pytest
from tests.cli.cluster_fixture import COMMAND, TIMEOUT_SECONDS

from traincrew import errors
from traincrew.cli.jobs import interrupts, time_arguments
from traincrew.cli.jobs.terminal_output import TerminalOutput
from traincrew.client import pod_logs
from traincrew.inspection import job_references, log_files, manifests

NOW = dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)


@pytest.mark.parametrize("word", ["pytorchjob", "PyTorchJob", "pytorchjobs", "pytorchjobs.kubeflow.org", "pytorch"])
def test_a_kind_has_all_its_kubectl_names(word: str) -> None:
    named = job_references.parse(f"{word}/mnist")
    assert named.kind is not None
    assert (named.kind.kind, named.name) == ("PyTorchJob", "mnist")


def test_a_misspelt_kind_gets_a_suggestion() -> None:
    with pytest.raises(errors.SettingsError, match="did you mean 'PyTorchJob'"):
        job_references.parse("pytorchjop/mnist")
    with pytest.raises(errors.SettingsError, match="Known kinds: TFJob, PyTorchJob"):
        job_references.parse("x/mnist")


@pytest.mark.parametrize("text", ["", "pytorchjob/", "pytorchjob/a/b"])
def test_an_invalid_job_reference_is_rejected(text: str) -> None:
    with pytest.raises(errors.SettingsError, match="KIND/NAME"):
        job_references.parse(text)


@pytest.mark.parametrize(
    ("arguments", "code", "error"),
    [
        (["lss"], 2, "unknown command 'lss'. Did you mean `traincrew ls`?"),
        (["kill"], 2, "unknown command 'kill'. Did you mean `traincrew delete`?"),
        (["zzzz"], 2, "unknown command 'zzzz'. Run `traincrew --help` to list the commands."),
        (
            ["logs", "j", "--tail", "x"],
            2,
            "invalid value for '--tail': 'x' is not a valid whole number. Run `traincrew logs --help`",
        ),
        (["run", "--kind", "JAXJob", "--workers", "0", "--", "true"], 2, "0 is not in the range 1 to 20000."),
        (["scale", "j", "x"], 2, "'x' is neither a number of workers nor one of manual, yield, idle."),
        (["run", "--kind", "JAXJob"], 2, "specify the command after --, such as: traincrew run --kind JAXJob -- python train.py"),
        (["port-forward"], 2, "missing argument 'JOB'. Run `traincrew port-forward --help` for the arguments."),
        (["logs", "j", "--since", "yesterday"], 2, "or an RFC 3339 time such as 2026-01-31T10:00:00Z"),
        (["ls", "--data", "/nosuch"], 1, "no cluster found"),
        (["kubeconfig", "--data", "/nosuch"], 1, "no cluster exists in /nosuch"),
        (["logs", "j", "--since", "99999999d"], 2, "invalid time '99999999d': must be between 0001-01-01T00:00:00Z"),
        (["why", "--kubeconfig", "/nosuch", "j"], 2, "cannot read the kubeconfig '/nosuch'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_errors_are_one_line_with_a_remedy(arguments: list[str], code: int, error: str, tmp_path: pathlib.Path) -> None:
    environment = {**os.environ, "HOME": str(tmp_path), "TRAINCREW_DATA": str(tmp_path / "data")}
    environment.pop("KUBECONFIG", None)
    done = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, env=environment, timeout=TIMEOUT_SECONDS)
    assert (done.returncode, done.stdout) == (code, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ")
    assert error in line


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("5m", 300), ("1h30m", 5400), ("2d", 172800)])
def test_ages_are_parsed(text: str, seconds: int) -> None:
    assert time_arguments.parse_time(text, NOW) == NOW - dt.timedelta(seconds=seconds)


def test_rfc3339_times_are_parsed() -> None:
    assert time_arguments.parse_time("2026-01-02T03:00:00Z", NOW) == dt.datetime(2026, 1, 2, 3, tzinfo=dt.UTC)


@pytest.mark.parametrize("text", ["5", "m", "5x", "-5m", "5m!", "2026-99-01T00:00:00Z"])
def test_an_invalid_time_is_rejected(text: str) -> None:
    with pytest.raises(errors.SettingsError):
        time_arguments.parse_time(text, NOW)


@pytest.mark.parametrize(
    "text",
    [
        "99999999d",
        "9999999999999999d",
        f"{'9' * 400}d",
        "800000d",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-14:00",
    ],
    ids=lambda text: text[:30],
)
def test_a_time_that_is_out_of_range_is_rejected_with_the_limit(text: str) -> None:
    with pytest.raises(errors.SettingsError, match="must be between 0001-01-01T00:00:00Z and"):
        time_arguments.parse_time(text, NOW)


def test_the_first_day_in_local_time_is_rejected_with_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "XXX-14")  # 14 hours before UTC
    time.tzset()
    try:
        with pytest.raises(errors.SettingsError, match="must be between 0001-01-01T00:00:00Z and"):
            time_arguments.parse_time("0001-01-01", NOW)
    finally:
        monkeypatch.undo()
        time.tzset()


JOB = """apiVersion: kubeflow.org/v1
kind: JAXJob
metadata: {name: j}
spec:
  jaxReplicaSpecs:
    Worker: {template: {spec: {containers: [{name: jax, image: i}]}}}
"""
CLAIM = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: c}\n"


def test_objects_are_parsed_in_order() -> None:
    found = manifests.parse({"a": CLAIM + "---\n" + JOB, "b": JOB.replace("name: j}", "name: k}")})
    assert [str(each) for each in found.objects] == ["persistentvolumeclaim/c", "jaxjob/j", "jaxjob/k"]
    assert [each.location for each in found.objects] == ["a:1", "a:5", "b:1"]
    assert found.errors == ()


def test_every_error_has_file_and_line() -> None:
    found = manifests.parse({"a": JOB.replace("Worker", "Wroker"), "b": JOB.replace("image: i", "imaeg: i")})
    assert any(each.startswith("a:6: spec.jaxReplicaSpecs.Wroker") for each in found.errors)
    assert any(each.startswith("b:6: ") and "imaeg" in each for each in found.errors)


def test_duplicate_and_unnamed_objects_are_errors() -> None:
    assert "is a duplicate of" in manifests.parse({"a": CLAIM, "b": CLAIM}).errors[0]
    assert "metadata.name" in manifests.parse({"a": "apiVersion: v1\nkind: ConfigMap\n"}).errors[0]


@pytest.mark.parametrize(
    ("pod", "answer"),
    [("a-worker-0", True), ("a-launcher", True), ("a-launcher-x7k2p", True), ("a-b-worker-0", False),
     ("a-worker-0-worker-1", False), ("a-nothing-0", False), ("ab-worker-0", False)],
)  # fmt: skip
def test_stored_logs_are_matched_by_replica_name(pod: str, answer: bool) -> None:
    assert log_files.is_replica(pod, None, "a") is answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [("\n", "DELETE"), ("y\n", "DELETE"), ("n\n", "CONTINUE"), ("No\n", "CONTINUE"), ("d\n", "DETACH"), ("detach\n", "DETACH")],
)
def test_answers_to_the_interrupt_question(text: str, answer: str) -> None:
    assert interrupts.parse_choice(text).name == answer


def test_a_closed_terminal_means_detach() -> None:
    assert interrupts.parse_choice(None) is interrupts.InterruptChoice.DETACH


def line(text: bytes, nanoseconds: int = 0) -> pod_logs.PodLogLine:
    return pod_logs.PodLogLine(nanoseconds, text)


def test_without_a_terminal_each_state_is_a_line() -> None:
    out, err = io.BytesIO(), io.BytesIO()
    console = TerminalOutput(out, err, {})
    console.state("waits")
    console.state("waits")
    console.lines("worker-0", [line(b"a\rb"), line(b"\xff")])
    console.state("")
    assert out.getvalue() == b"[worker-0] a\rb\n[worker-0] \xff\n"
    assert err.getvalue() == b"waits\n"


def test_timestamps_precede_lines_on_request() -> None:
    out = io.BytesIO()
    TerminalOutput(out, io.BytesIO(), {}).lines("", [line(b"a", 1_500_000_001)], timestamps=True)
    assert out.getvalue() == b"1970-01-01T00:00:01.500000001Z a\n"


class Terminal:
    def __init__(self, env: dict[str, str]) -> None:
        self.master, slave = pty.openpty()
        self.file = open(slave, "wb", buffering=0)  # noqa: SIM115
        self.console = TerminalOutput(self.file, self.file, {"TERM": "xterm", **env})

    def text(self) -> str:
        self.file.close()
        found = b""
        with open(self.master, "rb", buffering=0) as master:
            try:
                while piece := master.read(4096):
                    found += piece
            except OSError:  # the end, as Linux says it
                pass
        return found.decode()


def test_on_a_terminal_the_state_line_is_overwritten() -> None:
    terminal = Terminal({})
    terminal.console.state("waits for a")
    terminal.console.state("waits for b")
    terminal.console.lines("worker-0", [line(b"10%\r20%"), line(b"done")])
    text = terminal.text()
    assert "\x1b[36mworker-0 |\x1b[0m 20%\r\n" in text
    assert "10%" not in text
    assert text.endswith("waits for b")
    assert text.count("\r\x1b[K") == 2


def test_no_color_is_respected() -> None:
    terminal = Terminal({"NO_COLOR": "1"})
    terminal.console.lines("worker-0", [line(b"a")])
    assert terminal.text() == "[worker-0] a\r\n"


def test_logs_are_held_while_a_question_is_shown() -> None:
    out = io.BytesIO()
    console = TerminalOutput(out, io.BytesIO(), {})
    console.hold()
    console.lines("w", [line(b"a")])
    assert out.getvalue() == b""
    console.release()
    assert out.getvalue() == b"[w] a\n"
