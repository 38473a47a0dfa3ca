"""The process that keeps the cluster's network: it has the namespace, answers names and passes sockets. Outlives the daemon."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from typing import Any

from traincrew.embedded.kubelet.network import addresses, netns_state
from traincrew.embedded.kubelet.network.addresses import Subnet
from traincrew.embedded.kubelet.network.bridge import PodBridge
from traincrew.embedded.kubelet.network.dns_server import DnsServer
from traincrew.embedded.kubelet.network.dns_zone import Zone
from traincrew.embedded.kubelet.network.netns_socket import ControlReply, ControlSocket
from traincrew.embedded.kubelet.network.netns_state import Record
from traincrew.embedded.kubelet.runtime.protocol import Message
from traincrew.embedded.kubelet.runtime.shim.event_loop import EventLoop

_BACKLOG = 512
_SWEEP = 0.05
"""Seconds until what was unplugged is deleted."""


class NetnsDaemon:
    """known: what holder.json says. leave: undoes what was done outside of the namespace."""

    def __init__(self, loop: EventLoop, wires: PodBridge, known: Record, leave: Callable[[], None]) -> None:
        self._loop, self._wires, self._known, self._leave = loop, wires, known, leave
        self._listeners: dict[tuple[str, int], socket.socket] = {}
        self._plugs: dict[str, Record] = {}
        self._requests: dict[str, Callable[[Message], ControlReply]] = {
            "hello": self._hello,
            "plug": self._plug,
            "unplug": self._unplug,
            "socket": self._socket,
            "listen": self._listen,
            "zone": self._zone,
            "stop": self._stop,
        }
        self.resolver: DnsServer | None = None

    def plug_again(self, plugs: Record) -> None:
        """Those that the last holder had, as far as they live: it was killed, they go on with the addresses they have."""
        for address, found in plugs.items():
            if netns_state.is_alive(found):
                try:
                    self._wires.plug(int(found["pid"]), address, str(found["mac"]))
                    self._plugs[address] = found
                except OSError:
                    traceback.print_exc()
        netns_state.write(netns_state.ATTACHMENTS, self._plugs)

    def load_zone(self) -> None:
        if self.resolver is not None:
            self.resolver.zone = Zone.loaded(netns_state.read(netns_state.ZONE)) or self.resolver.zone

    def answer(self, message: Message) -> ControlReply:
        handler = self._requests.get(str(message.get("ask")))
        if handler is None:
            return {"refused": f"this holder knows no {message.get('ask')!r}", "errno": 0}, []
        return handler(message)

    def _hello(self, message: Message) -> ControlReply:
        return {"done": {**self._known, "plugs": {address: found["pid"] for address, found in self._plugs.items()}}}, []

    def _plug(self, message: Message) -> ControlReply:
        pid, address = int(message["pid"]), addresses.to_text(addresses.to_int(str(message["address"])))
        mac = str(message.get("mac") or addresses.mac_address(address))
        found = {**netns_state.identity(pid), "mac": mac}
        if self._plugs.get(address) == found and self._wires.has(address):
            # A daemon that finds its pods again must not pull their cables.
            return {"done": {}}, []
        self._wires.plug(pid, address, mac)
        self._plugs = {each: known for each, known in self._plugs.items() if known["pid"] != pid}
        self._plugs[address] = found
        netns_state.write(netns_state.ATTACHMENTS, self._plugs)
        return {"done": {}}, []

    def _unplug(self, message: Message) -> ControlReply:
        address = str(message["address"])
        self._wires.unplug(addresses.to_text(addresses.to_int(address)))
        self._loop.call_later(_SWEEP, self._wires.sweep)
        if self._plugs.pop(address, None) is not None:
            netns_state.write(netns_state.ATTACHMENTS, self._plugs)
        return {"done": {}}, []

    def _socket(self, message: Message) -> ControlReply:
        family = socket.AF_INET6 if message.get("family") == 6 else socket.AF_INET
        within = str(message.get("within") or "")
        if not within:
            return {"done": {}}, [self._wires.socket(family)]
        found = self._plugs.get(within)
        if found is None or not netns_state.is_alive(found):
            raise OSError(113, f"no pod has the address {within}")
        return {"done": {}}, [self._wires.socket(family, int(found["pid"]))]

    def _listen(self, message: Message) -> ControlReply:
        place = (str(message["address"]), int(message["port"]))
        if place not in self._listeners:
            if place[0] != self._known["gateway"]:
                self._wires.add(place[0])
            listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            try:
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                listener.bind(place)
                listener.listen(_BACKLOG)
            except BaseException:
                listener.close()
                raise
            self._listeners[place] = listener
        return {"done": {}}, [self._listeners[place].dup()]

    def _zone(self, message: Message) -> ControlReply:
        self.load_zone()
        return {"done": {}}, []

    def _stop(self, message: Message) -> ControlReply:
        """What is outside goes before the answer; the namespace goes with this process."""
        self._leave()
        remove_files()
        self._loop.running = False
        return {"done": {}}, []


def serve(wires: PodBridge, known: Record, upstream: Any, leave: Callable[[], None], ready: Callable[[], None]) -> None:
    loop = EventLoop()
    subnet = Subnet.parse(known["subnet"])
    holder = NetnsDaemon(loop, wires, known, leave)
    holder.resolver = DnsServer(loop, subnet, upstream)
    holder.plug_again(netns_state.read(netns_state.ATTACHMENTS))
    holder.load_zone()
    ControlSocket(loop, netns_state.SOCKET, holder.answer)
    netns_state.write(netns_state.RECORD, known)
    signal.signal(signal.SIGTERM, _terminated)
    ready()
    while loop.running:
        try:
            loop.run()
        except SystemExit:
            leave()
            return
        except Exception:
            # One bad request or packet must not take the cluster's network down.
            traceback.print_exc(file=sys.stderr)


def _terminated(number: int, frame: object) -> None:
    """The machine goes down, most likely; if not, the next holder finds what it needs in the files."""
    raise SystemExit


def remove_files() -> None:
    """The lock's file last: whoever finds it gone finds nothing else."""
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
