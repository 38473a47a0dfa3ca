"""TCP ports with a listener."""

from __future__ import annotations

import socket

import pytest

from traincrew.embedded.kubelet.network import listening_ports


@pytest.mark.parametrize(("family", "address"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
def test_a_port_with_a_listener_is_reported(family: socket.AddressFamily, address: str) -> None:
    with socket.socket(family) as listener:
        listener.bind((address, 0))
        port = listener.getsockname()[1]
        assert port not in listening_ports.ports()
        listener.listen()
        assert port in listening_ports.ports()
    assert port not in listening_ports.ports()
