"""The `Identity` of a cluster and a user of a kubeconfig."""

from __future__ import annotations

import base64
import binascii

from traincrew import errors
from traincrew.client import credentials, execplugin, kubeconfig_files

Cluster = kubeconfig_files.KubeconfigEntry[kubeconfig_files.KubeconfigCluster]
User = kubeconfig_files.KubeconfigEntry[kubeconfig_files.KubeconfigUser]


def identity(cluster: Cluster, user: User) -> credentials.ClientIdentity:
    written = user.value
    if written.auth_provider is not None and written.exec is None:
        raise errors.KubeconfigError(
            f"{user.field('auth-provider')}: providers built into kubectl have been retired; "
            "use the exec plugin of your cloud or identity provider"
        )
    certificate = _material(user, "client-certificate", written.client_certificate_data, written.client_certificate)
    key = _material(user, "client-key", written.client_key_data, written.client_key)
    if (certificate is None) != (key is None):
        lacking = user.field("client-key" if key is None else "client-certificate")
        raise errors.KubeconfigError(f"{lacking} is missing: a client certificate requires a key and vice versa")
    return credentials.ClientIdentity(
        authority=_authority(cluster),
        certificate=certificate,
        key=key,
        token=_token(user),
        basic=f"{written.username}:{written.password}" if written.username else "",
        plugin=_plugin(written.exec, cluster, user) if written.exec else None,
    )


def impersonation(user: kubeconfig_files.KubeconfigUser) -> tuple[tuple[str, str], ...]:
    headers = [("Impersonate-User", user.as_user), ("Impersonate-Uid", user.as_uid)]
    headers += [("Impersonate-Group", group) for group in user.as_groups or ()]
    return tuple((name, value) for name, value in headers if value)


def _authority(cluster: Cluster) -> credentials.Material | None:
    written = cluster.value
    return _material(cluster, "certificate-authority", written.certificate_authority_data, written.certificate_authority)


def _material(entry: Cluster | User, name: str, data: str, path: str) -> credentials.Material | None:
    """The data or the path of a field. The data has precedence, as with kubectl."""
    if data:
        label = entry.field(f"{name}-data")
        return credentials.Material(label, data=_decoded(data, label))
    return credentials.Material(entry.field(name), path=entry.resolve(path)) if path else None


def _token(user: User) -> credentials.Material | None:
    if user.value.token_file:
        return credentials.Material(user.field("tokenFile"), path=user.resolve(user.value.token_file))
    if user.value.token:
        return credentials.Material(user.field("token"), data=user.value.token.encode())
    return None


def _plugin(call: kubeconfig_files.Exec, cluster: Cluster, user: User) -> execplugin.ExecPlugin:
    where = user.field("exec")
    if call.api_version not in execplugin.API_VERSIONS:
        known = " or ".join(execplugin.API_VERSIONS)
        raise errors.KubeconfigError(f"{where}: apiVersion must be {known}, got {call.api_version!r}")
    if call.interactive_mode not in ("", "Never", "IfAvailable", "Always"):
        raise errors.KubeconfigError(f"{where}: interactiveMode must be Never, IfAvailable or Always")
    return execplugin.ExecPlugin(
        label=where,
        command=user.resolve(call.command) if "/" in call.command else call.command,
        args=tuple(call.args or ()),
        env={variable.name: variable.value for variable in call.env or ()},
        api_version=call.api_version,
        interactive_mode=call.interactive_mode or "IfAvailable",
        install_hint=call.install_hint,
        cluster=_cluster_info(cluster) if call.provide_cluster_info else None,
    )


def _cluster_info(cluster: Cluster) -> dict[str, object]:
    written, authority = cluster.value, _authority(cluster)
    extensions = {each.name: each.extension for each in written.extensions or ()}
    info: dict[str, object] = {
        "server": written.server,
        "tls-server-name": written.tls_server_name,
        "insecure-skip-tls-verify": written.insecure,
        "certificate-authority-data": base64.b64encode(authority.read()).decode() if authority else "",
        "proxy-url": written.proxy_url,
        "config": extensions.get(kubeconfig_files.EXEC_EXTENSION),
    }
    return {name: value for name, value in info.items() if value}


def _decoded(text: str, label: str) -> bytes:
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        raise errors.KubeconfigError(f"{label} is not base64") from None
