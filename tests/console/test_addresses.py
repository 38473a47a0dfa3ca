"""The addresses at which the console listens."""

from __future__ import annotations

import pathlib
import socket

import pytest
import yaml

from traincrew.console import run


def test_the_console_of_a_pod_answers_by_ipv4_and_by_ipv6() -> None:
    with run.Listen("::", 0).socket() as listening:
        for address in ("127.0.0.1", "::1"):
            socket.create_connection((address, listening.getsockname()[1]), 5).close()


def test_the_manifests_let_it_listen_with_both_families() -> None:
    """The chart renders the same."""
    file = pathlib.Path(__file__).parents[2] / "manifests" / "console" / "console.yaml"
    (deployment,) = (each for each in yaml.safe_load_all(file.read_text()) if each["kind"] == "Deployment")
    assert "--address=::" in deployment["spec"]["template"]["spec"]["containers"][0]["args"]


def test_an_address_of_ipv4_is_not_extended() -> None:
    with run.Listen("0.0.0.0", 0).socket() as listening:  # noqa: S104
        port = listening.getsockname()[1]
        socket.create_connection(("127.0.0.1", port), 5).close()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("::1", port), 5)
