"""`traincrew operator`, with the flags of the Go operators."""

from __future__ import annotations

import os
import pathlib
from typing import Any

import click

from traincrew import errors, settings
from traincrew.app import log_format
from traincrew.app import operator as app_operator
from traincrew.cli.commands.go_flags import GoFlags, unneeded
from traincrew.kinds import KINDS
from traincrew.kinds.kind import Option


def _default_address(port: int) -> str:
    """Every interface inside a pod, where probes and Prometheus come from elsewhere; else this machine only."""
    return f":{port}" if os.environ.get("KUBERNETES_SERVICE_HOST") else f"127.0.0.1:{port}"


def _kind_options(command: Any) -> Any:
    for kind in reversed(KINDS):
        for option in reversed(kind.options):
            name = option.flag.replace("-", "_")
            command = click.option(
                f"--{option.flag}", name, default=option.default, show_default=True, help=f"{kind.kind}: {option.help}."
            )(command)
    return command


@click.command("operator", cls=GoFlags)
@click.option("--kubeconfig", metavar="FILE", help="Default: $KUBECONFIG, then the pod's own account, then the user's file.")
@click.option("--context", metavar="NAME", help="The kubeconfig context to use.")
@click.option("--namespace", default=lambda: os.environ.get("KUBEFLOW_NAMESPACE", ""), help="Only this one; default: all.")
@click.option("--enable-scheme", multiple=True, metavar="KIND", help="Run only this kind; may be repeated. Default: all.")
@click.option("--leader-elect/--no-leader-elect", default=False, show_default=True, help="Act only while holding a Lease.")
@click.option("--leader-election-id", default=settings.Election.name, show_default=True, help="Name of that Lease.")
@click.option("--leader-election-namespace", default="", help="Where it lives; default: the operator's own namespace.")
@click.option("--gang-scheduler-name", default="", help="`volcano`, or the scheduler of scheduler-plugins; default: no gangs.")
@click.option("--cluster-domain", default=lambda: os.environ.get("CUSTOM_CLUSTER_DOMAIN", ""), help="Such as cluster.local.")
@click.option("--metrics-bind-address", default=lambda: _default_address(8080), help="Default port 8080; 0 turns it off.")
@click.option("--health-probe-bind-address", default=lambda: _default_address(8081), help="Default port 8081; 0: off.")
@click.option("--controller-threads", default=settings.Operator.workers, show_default=True, help="Jobs worked on at once.")
@click.option("--in-flight", default=settings.Operator.in_flight, show_default=True, help="Requests under way at once.")
@click.option("--leftover-grace", default=settings.Planning.leftover_grace, show_default=True, metavar="SECONDS",
              help="Pods that still run this long after a job's end are ended, where cleanPodPolicy was left out.")  # fmt: skip
@click.option(
    "--host-ports",
    default="",
    metavar="FIRST-LAST",
    help="Give replicas with hostNetwork a port of these each, such as 20000-29999. Default: they share their kind's.",
)
@click.option("--host-ports-for", type=click.Choice(["hostNetwork", "all"]), default="hostNetwork", show_default=True,
              help="all: replicas that do not say hostNetwork, too, where nodes have no other network.")  # fmt: skip
@click.option("--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--log-level", type=click.Choice(["debug", "info", "warning", "error"]), default="info", show_default=True)
@_kind_options
@unneeded
def operator(**flags: Any) -> None:
    """Run the operator: watch jobs on a cluster and make their pods, services and the rest.

    Flags of the Go training and MPI operators that have no use here are accepted and named in the log.
    """
    log_format.configure(flags["log_format"], flags["log_level"])
    options = settings.Operator(
        namespace=flags["namespace"],
        kinds=flags["enable_scheme"],
        metrics_address=flags["metrics_bind_address"],
        health_address=flags["health_probe_bind_address"],
        in_flight=flags["in_flight"],
        workers=flags["controller_threads"],
        planning=settings.Planning(
            cluster_domain=flags["cluster_domain"],
            gang_scheduler=flags["gang_scheduler_name"],
            leftover_grace=flags["leftover_grace"],
            host_ports=_range(flags["host_ports"]),
            host_ports_for_all=flags["host_ports_for"] == "all",
            options={option.flag: _value(option, flags) for kind in KINDS for option in kind.options},
        ),
        election=settings.Election(
            enabled=flags["leader_elect"],
            name=flags["leader_election_id"],
            namespace=flags["leader_election_namespace"] or app_operator.own_namespace(),
        ),
    )
    app_operator.run_operator(options, app_operator.connect(flags["kubeconfig"], flags["context"]))


def _range(text: str) -> tuple[int, int] | None:
    if not text:
        return None
    first, dash, last = text.partition("-")
    if not (dash and first.isdecimal() and last.isdecimal() and 1024 <= int(first) <= int(last) <= 65535):
        raise errors.SettingsError(f"--host-ports {text!r} is not FIRST-LAST within 1024-65535, such as 20000-29999")
    return int(first), int(last)


def _value(option: Option, flags: dict[str, Any]) -> str:
    given: str = flags[option.flag.replace("-", "_")]
    if not option.is_file:
        return given
    try:
        return pathlib.Path(given).read_text()
    except OSError:
        return ""
