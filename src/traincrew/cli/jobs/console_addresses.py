"""Where the console is that has the history, and what the user signs in with."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import dataclasses
from collections.abc import AsyncIterator

import msgspec

from traincrew import errors
from traincrew.cli import cluster_target
from traincrew.cli.jobs import console_service, port_forward
from traincrew.cli.jobs.console_service import ConsolePod, ServiceReference
from traincrew.cli.local_cluster import console_records
from traincrew.client import kubeconfig
from traincrew.client.remote import RemoteClient
from traincrew.console import origins

OPTION = "--console (or $TRAINCREW_CONSOLE)"
NO_RECORDER = "Deleted jobs are not recorded: the cluster runs with --no-console. Start it again without this option."
THROUGH = "Deleted jobs are read through the console of the cluster"
NAME_ONE = f"set {OPTION} to the address of a console that has the history of this cluster, or to NAMESPACE/SERVICE"


class NoConsole(errors.UserError):
    """There is no console with the credentials of the user."""


@dataclasses.dataclass(frozen=True)
class ConsoleAddress:
    address: str
    sign_in: dict[str, str] = dataclasses.field(repr=False)
    """The body of the sign-in: a token or a kubeconfig."""
    forwarded: bool = False
    """The connections go through the API server, which says to which pod. Its certificate is for another name."""
    problems: list[str] = dataclasses.field(default_factory=list)
    """Why connections could not be forwarded."""


@contextlib.asynccontextmanager
async def found(
    target_options: cluster_target.HistoryTargetOptions, target: cluster_target.ClusterTarget
) -> AsyncIterator[ConsoleAddress]:
    """The named console, else that of the cluster, else one of this machine with the same credentials. Raise NoConsole."""
    wanted = target_options.console
    reference = _service(wanted) if wanted else ServiceReference()
    async with contextlib.AsyncExitStack() as stack:
        if reference is None:
            yield ConsoleAddress(_checked(wanted), await _credentials(target, target.connection.server))
        elif wanted:
            yield await stack.enter_async_context(_in_cluster(target, reference))
        else:
            yield await _default(stack, target_options, target, reference)


async def _default(
    stack: contextlib.AsyncExitStack,
    target_options: cluster_target.TargetOptions,
    target: cluster_target.ClusterTarget,
    reference: ServiceReference,
) -> ConsoleAddress:
    """Raise NoConsole."""
    reason = ""
    if target.local is None:
        try:
            return await stack.enter_async_context(_in_cluster(target, reference))
        except NoConsole as error:
            reason = str(error)
    return await _own_console(target_options, target, reason)


def _service(wanted: str) -> ServiceReference | None:
    namespace, slash, name = wanted.partition("/")
    return ServiceReference(namespace, name) if slash and namespace and name and "/" not in name and ":" not in wanted else None


@contextlib.asynccontextmanager
async def _in_cluster(target: cluster_target.ClusterTarget, reference: ServiceReference) -> AsyncIterator[ConsoleAddress]:
    """Raise NoConsole."""
    async with RemoteClient(target.connection, component="cli") as client:
        pod = await _pod(client, reference)
        problems: list[str] = []
        forwarded = port_forward.ForwardedPod(client, pod.namespace, pod.name, problems.append)
        sign_in = await _credentials(target, kubeconfig.IN_CLUSTER_ADDRESS)
        async with forwarded.listening(port_forward.PortMapping(0, pod.port)) as port:
            scheme = "https" if pod.encrypted else "http"
            yield ConsoleAddress(f"{scheme}://127.0.0.1:{port}", sign_in, forwarded=True, problems=problems)


async def _pod(client: RemoteClient, reference: ServiceReference) -> ConsolePod:
    try:
        found = await console_service.find(client, reference)
    except (errors.Forbidden, errors.Unreachable) as error:
        right = "Ask for this right" if isinstance(error, errors.Forbidden) else "Look at it"
        raise NoConsole(f"{THROUGH}: {error.message.rstrip('.')}. {right}, or {NAME_ONE}.") from None
    if found is None:
        service = f"a Service with the label {console_service.LABELS} in the namespace {reference.namespace}"
        raise NoConsole(f"{THROUGH}, and it has none ({service}). Install console and recorder, or {NAME_ONE}.")
    return found


def _checked(url: str) -> str:
    """Credentials are sent there. Raise SettingsError unless it is encrypted, or an address of this machine."""
    try:
        return origins.public_origin(url)
    except errors.SettingsError as error:
        raise errors.SettingsError(str(error).replace("--public-url", OPTION)) from None


async def _credentials(target: cluster_target.ClusterTarget, server: str) -> dict[str, str]:
    """The token of the user, else the client certificate: what a person signs in with. server: as the console knows it."""
    access = await target.connection.identity.read()
    if access.authorization.startswith("Bearer "):
        return {"token": access.authorization.removeprefix("Bearer ")}
    if not access.certificate:
        raise errors.SettingsError(
            "the kubeconfig has neither a token nor a client certificate to sign in to the console with. Use another one."
        )
    encoded = {
        name: base64.b64encode(value).decode()
        for name, value in (("client-certificate-data", access.certificate), ("client-key-data", access.key))
    }
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "own",
        "clusters": [{"name": "own", "cluster": {"server": server}}],
        "users": [{"name": "own", "user": encoded}],
        "contexts": [{"name": "own", "context": {"cluster": "own", "user": "own"}}],
    }
    return {"kubeconfig": msgspec.json.encode(config).decode()}


async def _own_console(
    target_options: cluster_target.TargetOptions, target: cluster_target.ClusterTarget, reason: str
) -> ConsoleAddress:
    """A console of this machine. Raise NoConsole. reason: why that of the cluster is not used."""
    path = cluster_target.kubeconfig_path(target_options, target)
    data = target_options.data_directory.data
    link = await asyncio.to_thread(console_records.running_link, data, path, target_options.context, None)
    if not link:
        raise NoConsole(_no_console(target, path, reason))
    address, _, token = link.partition("/#token=")
    return ConsoleAddress(address, {"token": token})


def _no_console(target: cluster_target.ClusterTarget, path: str, reason: str) -> str:
    if reason:
        return reason
    assert target.local is not None  # else there is a reason
    own = str(target.local.kubeconfig)
    if any(each.kubeconfig == own for each in console_records.records(target.local.data)):
        return f"To find deleted jobs, run a console with these credentials first: `traincrew console --kubeconfig {path}`."
    return NO_RECORDER
