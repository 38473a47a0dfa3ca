"""`traincrew operator`: run the operator, with the flags of the Go operators."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable
from typing import Any

import click

from traincrew import errors, settings
from traincrew.app import log_format
from traincrew.app import operator as app_operator
from traincrew.cli import duration, node_options, sharing_options
from traincrew.cli.duration import Duration
from traincrew.cli.go_flags import GoFlags, ignored_flags
from traincrew.cli.option_group import add_options
from traincrew.client import kubeconfig
from traincrew.kinds import KINDS
from traincrew.kinds.kind import JobKind
from traincrew.kinds.option import Option


def _default_address(port: int) -> str:
    """All interfaces inside a pod, where probes and Prometheus connect from outside; else loopback."""
    return f":{port}" if os.environ.get("KUBERNETES_SERVICE_HOST") else f"127.0.0.1:{port}"


def _kind_option(kind: JobKind, option: Option) -> Callable[[Any], Any]:
    return click.option(
        f"--{option.flag}",
        option.flag.replace("-", "_"),
        default=option.default,
        show_default=bool(option.default),
        help=f"{kind.kind}: {option.help}.",
    )


@click.command("operator", cls=GoFlags)
@click.option(
    "--kubeconfig",
    metavar="FILE",
    help="Path of the kubeconfig. Default: $KUBECONFIG, the pod's service account, ~/.kube/config.",
)
@click.option("--context", metavar="NAME", help="Kubeconfig context to use.")
@click.option(
    "--namespace",
    multiple=True,
    metavar="NAME",
    default=lambda: os.environ.get("KUBEFLOW_NAMESPACE", "").split(","),
    help="Watch only this namespace. May be repeated. Default: $KUBEFLOW_NAMESPACE, else all namespaces.",
)
@click.option(
    "--enable-scheme", multiple=True, metavar="KIND", help="Enable only this kind. May be repeated. Default: all kinds."
)
@click.option("--leader-elect/--no-leader-elect", default=False, show_default=True, help="Enable leader election.")
@click.option(
    "--leader-election-id", default=settings.Election.name, show_default=True, help="Name of the leader election Lease."
)
@click.option(
    "--leader-election-namespace", default="", help="Namespace of the leader election Lease. Default: the operator's namespace."
)
@click.option(
    "--gang-scheduler-name",
    default="",
    help="Gang scheduler: `volcano` or the name of a scheduler of scheduler-plugins. Default: no gang scheduling.",
)
@click.option(
    "--cluster-domain", default=lambda: os.environ.get("CUSTOM_CLUSTER_DOMAIN", ""), help="Cluster domain, such as cluster.local."
)
@click.option(
    "--metrics-bind-address",
    default=lambda: _default_address(8080),
    help="Address of the metrics endpoint. Default port: 8080. 0 disables the endpoint.",
)
@click.option("--metrics-authentication", is_flag=True,
              help="Require a bearer token for /metrics (TokenReview, SubjectAccessReview). The operator needs the ClusterRole "
                   "traincrew-metrics-authentication, each client the ClusterRole traincrew-metrics-reader.")  # fmt: skip
@click.option("--metrics-cert-dir", default="", metavar="DIR",
              help="Serve the metrics over HTTPS, with tls.crt and tls.key in this directory. Default: HTTP.")  # fmt: skip
@click.option(
    "--health-probe-bind-address",
    default=lambda: _default_address(8081),
    help="Address of the health endpoint. Default port: 8081. 0 disables the endpoint.",
)
@click.option(
    "--controller-threads", default=settings.Operator.workers, show_default=True, help="Number of jobs reconciled concurrently."
)
@click.option(
    "--in-flight", default=settings.Operator.in_flight, show_default=True, help="Maximum number of concurrent API requests."
)
@click.option("--finished-job-pod-grace", type=Duration(), default=duration.text(settings.Planning.finished_job_pod_grace),
              show_default=True, metavar="DURATION",
              help="Stop pods that still run this long after their job finished, if cleanPodPolicy is not set. The pods and "
                   "their logs are kept.")  # fmt: skip
@click.option("--node-loss-grace", type=Duration(), default=duration.text(settings.Planning.node_loss_grace), show_default=True,
              metavar="DURATION",
              help="When a replica fails because it lost the connection to another one, wait this long for the loss of a node to "
                   "be noticed before the job fails. Use more than the node-monitor-grace-period of "
                   "kube-controller-manager.")  # fmt: skip
@click.option(
    "--host-ports",
    default="",
    metavar="FIRST-LAST",
    help="Assign each replica with hostNetwork a port from this range, such as 20000-29999. Default: the port of the kind.",
)
@click.option("--host-ports-for", type=click.Choice(["hostNetwork", "all"]), default="hostNetwork", show_default=True,
              help="Replicas that get a port from --host-ports. Use `all` if nodes have no pod network.")  # fmt: skip
@click.option(
    "--init-image",
    default="",
    metavar="IMAGE",
    help="Image of the init containers that the operator adds, with sh, nslookup, kubectl and traincrew-wait. "
    "Default: the image of the operator's own pod ($POD_NAME in $POD_NAMESPACE), else public images.",
)
@click.option("--ignore-other-operators", is_flag=True,
              help="Reconcile jobs also while a Go operator for the same kinds is running. Use this flag only if the two serve "
                   "different namespaces.")  # fmt: skip
@sharing_options.options
@node_options.log_options
@add_options([_kind_option(kind, option) for kind in KINDS for option in kind.options])
@ignored_flags
def operator(**flags: Any) -> None:
    """Run the operator: watch the jobs of a cluster and create their pods and services.

    Flags of the Go training and MPI operators that have no effect are accepted and reported.

    \b
    traincrew operator --kubeconfig ~/.kube/config
    traincrew operator --leader-elect --log-format json
    """
    log_format.configure(flags["log_format"], flags["log_level"])
    options = settings.Operator(
        namespaces=tuple(dict.fromkeys(name.strip() for name in flags["namespace"] if name.strip())),
        own_namespace=app_operator.own_namespace(),
        kinds=flags["enable_scheme"],
        metrics_address=flags["metrics_bind_address"],
        health_address=flags["health_probe_bind_address"],
        in_flight=flags["in_flight"],
        workers=flags["controller_threads"],
        planning=settings.Planning(
            cluster_domain=flags["cluster_domain"],
            gang_scheduler=_gang_scheduler(flags["gang_scheduler_name"]),
            finished_job_pod_grace=flags["finished_job_pod_grace"],
            node_loss_grace=flags["node_loss_grace"],
            host_ports=_parse_port_range(flags["host_ports"]),
            host_ports_for_all=flags["host_ports_for"] == "all",
            init_image=flags["init_image"],
            options={option.flag: _option_value(option, flags) for kind in KINDS for option in kind.options},
        ),
        election=settings.Election(
            enabled=flags["leader_elect"],
            name=flags["leader_election_id"],
            namespace=flags["leader_election_namespace"] or app_operator.own_namespace(),
        ),
        sharing=sharing_options.parse(flags["sharing_options"]),
        metrics_authentication=flags["metrics_authentication"],
        metrics_certificate=flags["metrics_cert_dir"],
        ignore_other_operators=flags["ignore_other_operators"],
    )
    app_operator.run(options, kubeconfig.discover(flags["kubeconfig"], flags["context"]))


def _gang_scheduler(name: str) -> str:
    """`None` is how the Go training operator says that gang scheduling is off."""
    return "" if name.lower() == "none" else name


def _parse_port_range(text: str) -> tuple[int, int] | None:
    if not text:
        return None
    first, dash, last = text.partition("-")
    if not (dash and first.isdecimal() and last.isdecimal() and 1024 <= int(first) <= int(last) <= 65535):
        raise errors.SettingsError(
            f"invalid --host-ports {text!r}: expected FIRST-LAST between 1024 and 65535, such as 20000-29999"
        )
    return int(first), int(last)


def _option_value(option: Option, flags: dict[str, Any]) -> str:
    given: str = flags[option.flag.replace("-", "_")]
    if not option.is_file:
        return given
    try:
        return pathlib.Path(given).read_text()
    except OSError:
        return ""
