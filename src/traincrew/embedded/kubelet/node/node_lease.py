"""Renews the node lease, the heartbeat of the node."""

from __future__ import annotations

import asyncio
import logging

import msgspec

from traincrew import errors
from traincrew.apimachinery import times
from traincrew.client import clock, interfaces
from traincrew.embedded.kubelet.node.node_status import NodeStatusUpdater
from traincrew.model.resources import LEASES

log = logging.getLogger(__name__)

NAMESPACE = "kube-node-lease"
LEASE_SECONDS = 40
RENEWAL_SECONDS = 10.0


class NodeLease:
    def __init__(self, client: interfaces.Client, node: str, status: NodeStatusUpdater) -> None:
        self._client, self._node, self._status = client, node, status

    async def run(self) -> None:
        while True:
            try:
                await self._renew()
            except errors.ApiError as error:
                log.warning("node lease not renewed", extra={"error": str(error)})
            await asyncio.sleep(RENEWAL_SECONDS)

    async def _renew(self) -> None:
        now = times.rfc3339_micro(clock.now())
        spec = {"holderIdentity": self._node, "leaseDurationSeconds": LEASE_SECONDS, "renewTime": now}
        try:
            await self._client.patch(LEASES, NAMESPACE, self._node, msgspec.json.encode({"spec": spec}))
        except errors.NotFound:
            # A lease is deleted with its Node, which owns it. So the Node has to exist first.
            owner = {"apiVersion": "v1", "kind": "Node", "name": self._node, "uid": await self._status.register()}
            metadata = {"name": self._node, "namespace": NAMESPACE, "ownerReferences": [owner]}
            body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}
            await self._client.create(LEASES, NAMESPACE, msgspec.json.encode(body))
