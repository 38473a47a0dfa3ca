"""The netns daemon: keeps the cluster's network namespace, serves DNS and passes sockets. Outlives the kubelet."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from typing import Any

from traincrew.embedded import process_identity
from traincrew.embedded.kubelet.network import addresses, netns_state
from traincrew.embedded.kubelet.network.addresses import Subnet
from traincrew.embedded.kubelet.network.bridge import PodBridge
from traincrew.embedded.kubelet.network.dns_server import DnsServer
from traincrew.embedded.kubelet.network.dns_zone import Zone
from traincrew.embedded.kubelet.network.netns_socket import ControlReply, ControlSocket
from traincrew.embedded.kubelet.network.netns_state import Record
from traincrew.embedded.kubelet.runtime.event_loop import EventLoop
from traincrew.embedded.kubelet.runtime.protocol import Message

_BACKLOG = 512
_DELETE_AFTER = 0.05
"""Seconds until detached links are deleted."""


class NetnsDaemon:
    """state: content of netns.json. tear_down: undoes the changes outside of the namespace."""

    def __init__(self, loop: EventLoop, bridge: PodBridge, state: Record, tear_down: Callable[[], None]) -> None:
        self._loop, self._bridge, self._state, self._tear_down = loop, bridge, state, tear_down
        self._listeners: dict[tuple[str, int], socket.socket] = {}
        self._attachments: dict[str, Record] = {}
        self._requests: dict[str, Callable[[Message], ControlReply]] = {
            "hello": self._hello,
            "attach": self._attach,
            "detach": self._detach,
            "socket": self._socket,
            "listen": self._listen,
            "zone": self._zone,
            "stop": self._stop,
        }
        self.dns: DnsServer | None = None

    def restore(self, attachments: Record) -> None:
        """Attaches the running pods of the previous netns daemon, which was killed, with their addresses."""
        for address, attachment in attachments.items():
            if process_identity.is_alive(attachment):
                try:
                    self._bridge.attach(int(attachment["pid"]), address, str(attachment["mac"]))
                    self._attachments[address] = attachment
                except OSError:
                    traceback.print_exc()
        netns_state.write(netns_state.ATTACHMENTS, self._attachments)

    def load_zone(self) -> None:
        if self.dns is not None:
            self.dns.zone = Zone.loaded(netns_state.read(netns_state.ZONE)) or self.dns.zone

    def handle(self, message: Message) -> ControlReply:
        handler = self._requests.get(str(message.get("op")))
        if handler is None:
            return {"error": f"unknown request {message.get('op')!r}", "errno": 0}, []
        return handler(message)

    def _hello(self, message: Message) -> ControlReply:
        attachments = {address: attachment["pid"] for address, attachment in self._attachments.items()}
        return {"result": {**self._state, "attachments": attachments}}, []

    def _attach(self, message: Message) -> ControlReply:
        pid, address = int(message["pid"]), addresses.to_text(addresses.to_int(str(message["address"])))
        mac = str(message.get("mac") or addresses.mac_address(address))
        attachment = {**process_identity.of(pid), "mac": mac}
        if self._attachments.get(address) == attachment and self._bridge.is_attached(address):
            # A restarted kubelet attaches its pods again: their links must not be interrupted.
            return {"result": {}}, []
        self._bridge.attach(pid, address, mac)
        self._attachments = {each: known for each, known in self._attachments.items() if known["pid"] != pid}
        self._attachments[address] = attachment
        netns_state.write(netns_state.ATTACHMENTS, self._attachments)
        return {"result": {}}, []

    def _detach(self, message: Message) -> ControlReply:
        address = str(message["address"])
        self._bridge.detach(addresses.to_text(addresses.to_int(address)))
        self._loop.call_later(_DELETE_AFTER, self._bridge.delete_detached)
        if self._attachments.pop(address, None) is not None:
            netns_state.write(netns_state.ATTACHMENTS, self._attachments)
        return {"result": {}}, []

    def _socket(self, message: Message) -> ControlReply:
        family = socket.AF_INET6 if message.get("family") == 6 else socket.AF_INET
        within = str(message.get("within") or "")
        if not within:
            return {"result": {}}, [self._bridge.socket(family)]
        attachment = self._attachments.get(within)
        if attachment is None or not process_identity.is_alive(attachment):
            raise OSError(113, f"no pod has the address {within}")
        return {"result": {}}, [self._bridge.socket(family, int(attachment["pid"]))]

    def _listen(self, message: Message) -> ControlReply:
        key = (str(message["address"]), int(message["port"]))
        if key not in self._listeners:
            if key[0] != self._state["gateway"]:
                self._bridge.add_address(key[0])
            listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            try:
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                listener.bind(key)
                listener.listen(_BACKLOG)
            except BaseException:
                listener.close()
                raise
            self._listeners[key] = listener
        return {"result": {}}, [self._listeners[key].dup()]

    def _zone(self, message: Message) -> ControlReply:
        self.load_zone()
        return {"result": {}}, []

    def _stop(self, message: Message) -> ControlReply:
        """Undoes the changes outside before the reply. The namespace ends with this process."""
        self._tear_down()
        remove_files()
        self._loop.running = False
        return {"result": {}}, []


def serve(bridge: PodBridge, state: Record, upstream: Any, tear_down: Callable[[], None], ready: Callable[[], None]) -> None:
    loop = EventLoop()
    subnet = Subnet.parse(state["subnet"])
    daemon = NetnsDaemon(loop, bridge, state, tear_down)
    daemon.dns = DnsServer(loop, subnet, upstream)
    daemon.restore(netns_state.read(netns_state.ATTACHMENTS))
    daemon.load_zone()
    ControlSocket(loop, netns_state.SOCKET, daemon.handle)
    netns_state.write(netns_state.RECORD, state)
    signal.signal(signal.SIGTERM, _on_sigterm)
    ready()
    while loop.running:
        try:
            loop.run()
        except SystemExit:
            tear_down()
            return
        except Exception:
            # One bad request or packet must not stop the cluster's network.
            traceback.print_exc(file=sys.stderr)


def _on_sigterm(number: int, frame: object) -> None:
    """The machine probably shuts down. If not, the next netns daemon reads the state files."""
    raise SystemExit


def remove_files() -> None:
    """Removes the lock file last, so that its absence means that no file is left."""
    for path in (
        netns_state.SOCKET,
        netns_state.RECORD,
        netns_state.ATTACHMENTS,
        netns_state.ZONE,
        netns_state.LOG,
        netns_state.LOCK,
    ):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
