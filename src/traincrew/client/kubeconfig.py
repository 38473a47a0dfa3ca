"""Reads a `Connection` from kubeconfig files or from a pod's service account.

No library is used: kubernetes_asyncio needs 1.5 s to import (aiohttp: 0.4 s), 75 MB of memory and 26 MB of disk,
does not cache the credentials of plugins and ignores their certificates; kr8s requires a second HTTP library.

Every error names the file and the entry. No error quotes a value that may be secret.
"""

from __future__ import annotations

import dataclasses
import os
import pathlib
from collections.abc import Mapping

import yarl

from traincrew import errors
from traincrew.client import connection, credentials, kubeconfig_files, kubeconfig_users, proxies

SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"


def discover(path: str | None, context: str | None = None) -> connection.ServerConnection:
    """By the given kubeconfig, else $KUBECONFIG, else the pod's service account, else the user's kubeconfig."""
    if path or context or os.environ.get("KUBECONFIG"):
        return load(path, context)
    if os.environ.get("KUBERNETES_SERVICE_HOST"):
        return in_cluster()
    return load(None)


def load(path: str | None = None, context: str | None = None) -> connection.ServerConnection:
    """The connection of a context. Default: the current context.

    Without a path the files in $KUBECONFIG are read, else ~/.kube/config, as by kubectl. The first file that
    defines an entry wins. Missing files are skipped.
    """
    files = kubeconfig_files.read(path, os.environ)
    chosen = _context(files, context)
    cluster = _entry(files.clusters, "cluster", chosen.value.cluster, files.where)
    user = kubeconfig_files.KubeconfigEntry("user", "", kubeconfig_files.KubeconfigUser(), chosen.file)
    if chosen.value.user:
        user = _entry(files.users, "user", chosen.value.user, files.where)
    server = _server(cluster)
    return connection.ServerConnection(
        server=server,
        identity=kubeconfig_users.identity(cluster, user),
        where=f"context {chosen.name!r} of {chosen.file}",
        namespace=chosen.value.namespace or "default",
        insecure=cluster.value.insecure,
        tls_server_name=cluster.value.tls_server_name,
        proxy=_proxy(cluster, server),
        impersonation=kubeconfig_users.impersonation(user.value),
    )


IN_CLUSTER_ADDRESS = "https://kubernetes.default.svc"
"""The API server of the cluster in which a pod runs, as its pods name it."""


def in_cluster(root: str = SERVICE_ACCOUNT, env: Mapping[str, str] = os.environ) -> connection.ServerConnection:
    """The connection of the pod in which this process runs. The token is read again when it rotates."""
    found = in_cluster_server(root, env)
    token = pathlib.Path(root, "token")
    if not token.exists():
        raise errors.KubeconfigError(f"not in a pod with a service account: {str(token)!r} does not exist; specify a kubeconfig")
    material = credentials.Material("the service account's token", path=str(token))
    identity = credentials.ClientIdentity(authority=credentials.authority(found.identity), token=material)
    return dataclasses.replace(found, identity=identity, where=f"the service account in {root}")


def in_cluster_server(root: str = SERVICE_ACCOUNT, env: Mapping[str, str] = os.environ) -> connection.ServerConnection:
    """The API server of the cluster in which this process runs, without credentials."""
    host, port = env.get("KUBERNETES_SERVICE_HOST"), env.get("KUBERNETES_SERVICE_PORT", "443")
    if not host:
        raise errors.KubeconfigError(
            "not in a pod with a service account: KUBERNETES_SERVICE_HOST is not set; specify a kubeconfig"
        )
    server = f"https://{f'[{host}]' if ':' in host else host}:{port}"
    namespace = pathlib.Path(root, "namespace")
    return connection.ServerConnection(
        server=server,
        identity=credentials.ClientIdentity(
            authority=credentials.Material("the pod's authority", path=str(pathlib.Path(root, "ca.crt")))
        ),
        where=f"the cluster of the pod ({root})",
        namespace=namespace.read_text().strip() if namespace.exists() else "default",
        proxy=proxies.from_environment(yarl.URL(server), env),
    )


def without_credentials(found: connection.ServerConnection) -> connection.ServerConnection:
    """The same API server for other users: address and certificate authority alone."""
    identity = credentials.ClientIdentity(authority=credentials.authority(found.identity))
    return dataclasses.replace(found, identity=identity, impersonation=())


def _context(files: kubeconfig_files.Files, context: str | None) -> kubeconfig_files.KubeconfigEntry[kubeconfig_files.Context]:
    name = context or files.current_context
    if not name:
        known = _names(files.contexts)
        raise errors.KubeconfigError(f"{files.where} has no current-context; name a context, available: {known}")
    chosen = _entry(files.contexts, "context", name, files.where)
    if not chosen.value.cluster:
        raise errors.KubeconfigError(f"{chosen.field('cluster')} is not set")
    return chosen


def _entry(
    entries: Mapping[str, kubeconfig_files.KubeconfigEntry[kubeconfig_files.Named]], what: str, name: str, where: str
) -> kubeconfig_files.KubeconfigEntry[kubeconfig_files.Named]:
    entry = entries.get(name)
    if entry is None:
        raise errors.KubeconfigError(f"{what} {name!r} not found in {where}; available: {_names(entries)}")
    return entry


def _names(entries: Mapping[str, object]) -> str:
    return ", ".join(sorted(entries)) or "none"


def _server(cluster: kubeconfig_files.KubeconfigEntry[kubeconfig_files.KubeconfigCluster]) -> str:
    try:
        url = yarl.URL(cluster.value.server)
    except ValueError:
        url = yarl.URL()
    if url.scheme not in ("http", "https") or not url.host or url.user or url.password:
        raise errors.KubeconfigError(
            f"{cluster.field('server')} must be a URL such as https://host:port, without user and password"
        )
    return cluster.value.server.rstrip("/")


def _proxy(cluster: kubeconfig_files.KubeconfigEntry[kubeconfig_files.KubeconfigCluster], server: str) -> str:
    if cluster.value.proxy_url:
        return proxies.checked(cluster.value.proxy_url, cluster.field("proxy-url"))
    return proxies.from_environment(yarl.URL(server), os.environ)
