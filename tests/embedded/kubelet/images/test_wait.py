"""traincrew-wait, run as the init container of a v2beta1 launcher runs it."""

from __future__ import annotations

import pathlib
import socket
import subprocess
from collections.abc import Iterator

import pytest

from traincrew.embedded.kubelet.images import tools_directory
from traincrew.embedded.kubelet.images.programs import nslookup


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The commands, as the operator's image has them."""
    found = tmp_path_factory.mktemp("image") / "tools"
    tools_directory.install(found)
    return found


class Wait:
    def __init__(self, program: pathlib.Path, folder: pathlib.Path, *options: str) -> None:
        self.names, self.hosts = folder / "names", folder / "hosts"
        self.hosts.write_text("j-launcher.j.n.svc slots=1\nj-worker-0.j.n.svc slots=1\nj-worker-1.j.n.svc:1\n")
        command = [str(program), f"--hosts-file={self.hosts}", "--prefix=j-worker-", *options]
        self.process = subprocess.Popen(command, env={nslookup.NAMES: str(self.names)}, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self._lines = self.process.stdout

    def resolve(self, *workers: int) -> None:
        """A new file in place of the old one, as the kubelet writes it."""
        new = self.names.with_suffix(".new")
        new.write_text("".join(f"127.0.0.1\tj-worker-{number}.j.n.svc\n" for number in workers))
        new.rename(self.names)

    def next_line(self) -> str:
        return self._lines.readline().strip()


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    return tmp_path


@pytest.fixture
def server() -> Iterator[socket.socket]:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        yield found


def _port(server: socket.socket) -> str:
    return f"--ports=1,{server.getsockname()[1]}"


def test_hosts_must_resolve_and_listen(directory: pathlib.Path, folder: pathlib.Path, server: socket.socket) -> None:
    server.listen()
    (folder / "names").write_text("127.0.0.1\tj-worker-0.j.n.svc\n")
    wait = Wait(directory / "bin" / "traincrew-wait", folder, _port(server))
    assert wait.next_line().startswith("waiting for hosts: 1 of 2 are ready; j-worker-1.j.n.svc ")
    wait.resolve(0, 1)
    assert wait.next_line() == "2 of 2 hosts are ready"
    assert wait.process.wait(30) == 0
    wait.process.communicate()


def test_a_host_that_resolves_and_does_not_listen_yet_is_waited_for(
    directory: pathlib.Path, folder: pathlib.Path, server: socket.socket
) -> None:
    (folder / "names").write_text("127.0.0.1\tj-worker-0.j.n.svc\n127.0.0.1\tj-worker-1.j.n.svc\n")
    wait = Wait(directory / "bin" / "traincrew-wait", folder, _port(server))
    assert wait.next_line().startswith("waiting for hosts: 0 of 2 are ready; j-worker-0.j.n.svc does not listen at port 1, ")
    server.listen()
    assert wait.next_line() == "2 of 2 hosts are ready"
    assert wait.process.wait(30) == 0
    wait.process.communicate()


def test_a_count_of_hosts_is_enough(directory: pathlib.Path, folder: pathlib.Path, server: socket.socket) -> None:
    server.listen()
    (folder / "names").write_text("127.0.0.1\tj-worker-1.j.n.svc\n")
    wait = Wait(directory / "bin" / "traincrew-wait", folder, _port(server), "--count=1")
    assert wait.next_line() == "1 of 1 hosts are ready"
    assert wait.process.wait(30) == 0
    wait.process.communicate()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--hosts=x"], "unknown argument '--hosts=x'"),
        ([], "--hosts-file is required"),
        (["--hosts-file=/absent"], "No such file or directory: '/absent'"),
        (["--hosts-file=/absent", "--ports=ssh"], "invalid literal for int() with base 10: 'ssh'"),
    ],
)
def test_invalid_arguments_are_reported(directory: pathlib.Path, options: list[str], message: str) -> None:
    command = [str(directory / "bin" / "traincrew-wait"), *options]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert result.stderr.startswith("traincrew-wait: ")
    assert message in result.stderr


def test_the_image_has_no_other_commands(directory: pathlib.Path) -> None:
    assert {path.name for path in (directory / "bin").iterdir()} == set(tools_directory.IMAGE_COMMANDS)
