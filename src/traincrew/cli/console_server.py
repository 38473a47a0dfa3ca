"""The console whose users sign in: its flags, and the server."""

from __future__ import annotations

import logging
import os
import pathlib
from typing import TYPE_CHECKING, Any

import click

from traincrew import errors
from traincrew.cli import cluster_target, history_options, node_options
from traincrew.cli.duration import Duration
from traincrew.cli.option_group import add_options
from traincrew.cli.whole_number import WholeNumber

if TYPE_CHECKING:
    from traincrew.client.connection import ServerConnection
    from traincrew.console import run, sign_in, trusted_proxies
    from traincrew.history import database_thread
    from traincrew.serving import serving_certificate

log = logging.getLogger(__name__)

MODES = ("link", "token", "proxy")
options = add_options((
    click.option(
        "--authentication-mode", type=click.Choice(MODES), default="link", show_default=True,
        help="How users sign in. link: with the link that is printed, on this machine. token: with a bearer token or a "
             "kubeconfig of their own. proxy: an authenticating proxy names them in a header, and the console impersonates them.",
    ),
    click.option(
        "--public-url", metavar="URL",
        help="Address at which users open the console, such as https://console.example.com. Requests for other hosts are "
             "rejected. Default: 127.0.0.1 or localhost, as with `kubectl port-forward`.",
    ),
    click.option("--tls-cert-file", metavar="FILE",
                 help="TLS certificate (PEM) of the console. It is reloaded when the file changes."),
    click.option("--tls-private-key-file", metavar="FILE", help="Private key (PEM) of --tls-cert-file."),
    click.option(
        "--api-server-address", multiple=True, metavar="URL",
        help="Another address of the same API server, which the kubeconfigs of users may name. May be repeated.",
    ),
    click.option("--cluster-name", metavar="NAME", default="", help="Name of the cluster on the page. Default: the API server."),
    click.option("--proxy-user-header", metavar="NAME", help="proxy: header that names the user, such as X-Forwarded-User."),
    click.option("--proxy-groups-header", metavar="NAME", default="",
                 help="proxy: header with the groups of the user, separated by commas."),
    click.option("--proxy-group", multiple=True, metavar="NAME",
                 help="proxy: group that the console may impersonate. Other groups in the header are ignored. May be repeated."),
    click.option("--proxy-address", multiple=True, metavar="CIDR",
                 help="proxy: address of the proxy. The headers are ignored from other addresses. May be repeated."),
    click.option("--proxy-secret-file", metavar="FILE",
                 help="proxy: file with a secret that the proxy sends in the header X-Traincrew-Proxy-Secret."),
    click.option("--session-idle-timeout", type=Duration(60), default="30m", show_default=True, metavar="DURATION",
                 help="End a session this long after its last request, if no tab is open."),
    click.option("--session-max-age", type=Duration(60), default="12h", show_default=True, metavar="DURATION",
                 help="End a session this long after the sign-in."),
    click.option("--max-sessions", type=WholeNumber(1), default=100, show_default=True, metavar="N",
                 help="Maximum number of sessions of all users. Each has its own watches on the API server."),
    click.option("--shutdown-delay", type=Duration(), default="5s", show_default=True, metavar="DURATION",
                 help="After SIGTERM, keep serving for this long while /readyz fails, so that no request is lost."),
    history_options.location,
    click.option("--prometheus", metavar="URL", envvar="TRAINCREW_PROMETHEUS", default="",
                 help="A Prometheus that reads the kubelets (cAdvisor) and NVIDIA's DCGM exporter, for network and GPUs of "
                      "replicas. Default: $TRAINCREW_PROMETHEUS."),
    *node_options.LOG_OPTIONS,
))  # fmt: skip


def serve(target_options: cluster_target.TargetOptions, address: tuple[str, int | None], flags: dict[str, Any]) -> None:
    """Raise SettingsError for flags that do not go together."""
    import traincrew.cli.aiohttp_import  # noqa: F401 - before other modules import aiohttp
    from traincrew.app import event_loop, log_format
    from traincrew.console import page_files, run

    log_format.configure(flags["log_format"], flags["log_level"])
    host, port = address
    server = _server(target_options, flags)
    page_files.require_built()
    listening = run.Listen(host, 8470 if port is None else port).socket()

    def on_ready() -> None:
        log.info("console is ready", extra={"address": f"{host}:{listening.getsockname()[1]}", "url": server.settings.public_url})

    event_loop.run(server.run(listening, on_ready, flags["shutdown_delay"]))


def _server(target_options: cluster_target.TargetOptions, flags: dict[str, Any]) -> run.UserServer:
    from traincrew.console import origins, run, sessions, settings
    from traincrew.history import database_thread

    url = origins.public_origin(flags["public_url"]) if flags["public_url"] else ""
    step = f"Open the console at {url}." if url else "Open it through a tunnel, or set --public-url to its address."
    location = history_options.checked(flags["history"])
    history = database_thread.DatabaseThread(location, writable=False) if location else None
    return run.UserServer(
        _authenticator(target_options, flags, history),
        settings.ServerSettings(url, step),
        sessions.SessionLimits(flags["session_idle_timeout"], flags["session_max_age"], flags["max_sessions"], per_user=10),
        _certificate(flags["tls_cert_file"], flags["tls_private_key_file"]),
        history,
    )


def _authenticator(
    target_options: cluster_target.TargetOptions, flags: dict[str, Any], history: database_thread.DatabaseThread | None
) -> sign_in.ConsoleAuthenticator:
    from traincrew.client import kubeconfig
    from traincrew.console import prometheus, settings, sign_in

    proxy = _proxy(flags)
    server = _api_server(target_options, with_credentials=proxy is not None)
    name = flags["cluster_name"] or target_options.context
    target = settings.ConsoleTarget(
        server=server.server,
        namespace=target_options.namespace,
        context=name,
        history=history,
        prometheus=prometheus.checked(flags["prometheus"]),
    )
    if proxy is not None:
        return sign_in.ProxyAuthenticator(server, target, proxy)
    addresses = (*flags["api_server_address"], *([kubeconfig.IN_CLUSTER_ADDRESS] if _in_pod(target_options) else []))
    return sign_in.TokenAuthenticator(kubeconfig.without_credentials(server), target, addresses)


def _in_pod(target_options: cluster_target.TargetOptions) -> bool:
    """Whether the cluster is that of the pod: no other one is named."""
    named = target_options.names_cluster() or bool(target_options.data)
    return not named and bool(os.environ.get("KUBERNETES_SERVICE_HOST"))


def _api_server(target_options: cluster_target.TargetOptions, *, with_credentials: bool) -> ServerConnection:
    """That of the pod, unless another cluster is named."""
    from traincrew.client import kubeconfig

    if not _in_pod(target_options):
        return cluster_target.resolve(target_options).connection
    return kubeconfig.in_cluster() if with_credentials else kubeconfig.in_cluster_server()


def _proxy(flags: dict[str, Any]) -> trusted_proxies.TrustedProxy | None:
    from traincrew.console import trusted_proxies

    given = [name for name in flags if name.startswith("proxy_") and flags[name]]
    if flags["authentication_mode"] != "proxy":
        if given:
            raise errors.SettingsError(f"--{given[0].replace('_', '-')} needs --authentication-mode proxy")
        return None
    if not flags["proxy_user_header"]:
        raise errors.SettingsError("--authentication-mode proxy needs --proxy-user-header NAME")
    found = trusted_proxies.TrustedProxy(
        user_header=flags["proxy_user_header"],
        groups_header=flags["proxy_groups_header"],
        allowed_groups=frozenset(flags["proxy_group"]),
        addresses=tuple(map(trusted_proxies.network, flags["proxy_address"])),
        secret=_secret(flags["proxy_secret_file"]) if flags["proxy_secret_file"] else "",
    )
    found.check()
    return found


def _secret(path: str) -> str:
    try:
        found = pathlib.Path(path).read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise errors.SettingsError(f"--proxy-secret-file: cannot read {path!r}: {error}") from None
    if not found:
        raise errors.SettingsError(f"--proxy-secret-file: {path!r} is empty")
    return found


def _certificate(certificate: str | None, key: str | None) -> serving_certificate.ServingCertificate | None:
    from traincrew.serving import serving_certificate

    if bool(certificate) != bool(key):
        raise errors.SettingsError("--tls-cert-file and --tls-private-key-file belong together")
    return serving_certificate.ServingCertificate(certificate, key) if certificate and key else None
