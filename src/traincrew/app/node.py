"""The composition root of the kubelet alone, as a node of any Kubernetes cluster."""

from __future__ import annotations

import asyncio
import fcntl
import os
import pathlib
import ssl
import urllib.parse
from collections.abc import Callable

import msgspec

from traincrew import __version__, errors, settings
from traincrew.app import event_loop, signals
from traincrew.client import connection, interfaces, retries
from traincrew.client.remote import RemoteClient
from traincrew.embedded import private_files
from traincrew.embedded.kubelet import kubelet as kubelet_kubelet
from traincrew.embedded.kubelet import runtime_setup
from traincrew.embedded.kubelet.server import server
from traincrew.embedded.kubelet.server.delegated_auth import DelegatedAuth
from traincrew.embedded.pki import certificates
from traincrew.model.resources import CONFIG_MAPS

AUTHENTICATION = ("kube-system", "extension-apiserver-authentication")
"""The ConfigMap with the certificate authority of the cluster's clients."""


def run(options: settings.JoinedNode, target: connection.ServerConnection, ready: Callable[[str], None]) -> None:
    """Runs this machine as a node until SIGTERM or SIGINT. `ready` is called with the node's name.

    Pods run on: they belong to the cluster, and the next kubelet adopts them.
    """
    event_loop.run(_serve(options, target, ready))


async def _serve(options: settings.JoinedNode, target: connection.ServerConnection, ready: Callable[[str], None]) -> None:
    stop = asyncio.Event()
    signals.listen(stop.set, *signals.STOP)
    data = private_files.ensure_directory(pathlib.Path(options.data))
    lock = _lock(data)
    try:
        async with RemoteClient(target, component="node", limits=retries.RetryLimits(in_flight=64)) as client:
            config = await _kubelet_config(client, options, target, data)
            async with kubelet_kubelet.run(
                client, options.node, config, await runtime_setup.prepare(options.node, data)
            ) as kubelet:
                ready(kubelet.identity.name)
                await stop.wait()
                if options.stop_pods:
                    await kubelet.stop(options.node.shutdown_grace)
    finally:
        os.close(lock)


def _lock(data: pathlib.Path) -> int:
    """Two kubelets on one data directory would start each other's pods."""
    lock = os.open(data / "node.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise errors.SettingsError(f"A node already runs on {data}. Stop it, or choose another --data.") from None
    return lock


async def _kubelet_config(
    client: interfaces.Client, options: settings.JoinedNode, target: connection.ServerConnection, data: pathlib.Path
) -> kubelet_kubelet.KubeletConfig:
    pki = certificates.ensure(data / "pki", certificates.names(options.address))
    context = pki.server_context()
    authority = options.client_ca or await _client_authority(client)
    context.load_verify_locations(cadata=authority)
    context.verify_mode = ssl.CERT_OPTIONAL
    parts = urllib.parse.urlsplit(target.server)
    api = (parts.hostname or "127.0.0.1", parts.port or 443)
    callers = server.KubeletAuth(names=frozenset(options.callers), review=DelegatedAuth(client, options.node.name))
    return kubelet_kubelet.KubeletConfig(
        data, __version__, api, context, callers, options.address, authority=pki.authority.decode()
    )


async def _client_authority(client: interfaces.Client) -> str:
    try:
        config_map = msgspec.json.decode(await client.get(CONFIG_MAPS, *AUTHENTICATION))
    except (errors.NotFound, errors.Forbidden) as error:
        raise errors.SettingsError(
            f"The certificate authority of the API server's clients cannot be read ({error}). Name it with --client-ca-file."
        ) from None
    authority: str = (config_map.get("data") or {}).get("client-ca-file", "")
    if not authority:
        raise errors.SettingsError("The cluster has no authority for client certificates. Name one with --client-ca-file.")
    return authority
