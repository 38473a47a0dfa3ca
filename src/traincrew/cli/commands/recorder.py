"""`traincrew recorder`: record the history of the jobs of a cluster."""

from __future__ import annotations

import os
from typing import Any

import click

from traincrew import errors
from traincrew.cli import history_options, node_options


def _default_address() -> str:
    """All interfaces inside a pod, where probes connect from outside; else none."""
    return ":8081" if os.environ.get("KUBERNETES_SERVICE_HOST") else "0"


@click.command()
@history_options.location
@history_options.add_limits
@click.option("--namespace", multiple=True, metavar="NAME",
              help="Record only the jobs of this namespace. May be repeated. Default: all namespaces.")  # fmt: skip
@click.option("--kubeconfig", metavar="FILE",
              help="Path of the kubeconfig. Default: $KUBECONFIG, the pod's service account, ~/.kube/config.")  # fmt: skip
@click.option("--context", metavar="NAME", help="Kubeconfig context to use.")
@click.option("--health-probe-bind-address", default=_default_address, metavar="ADDRESS",
              help="Address of the health endpoint. Default: :8081 in a pod, else none.")  # fmt: skip
@node_options.log_options
def recorder(**flags: Any) -> None:
    """Record the jobs of a cluster: their specs, statuses, pods, events, usage and logs, from their first second.

    The recorder only reads from the cluster. The console and `ls --all`, `logs`, `why` and `describe` show what it has recorded
    of jobs that are deleted. Run one recorder for a cluster; the cluster of `traincrew up` has one already. Values of secret
    environment variables are not recorded.

    \b
    traincrew recorder --history history.db
    TRAINCREW_HISTORY=postgresql://user:password@host/history traincrew recorder
    """
    from traincrew.app import log_format
    from traincrew.app import recorder as app_recorder
    from traincrew.client import kubeconfig

    if not flags["history"]:
        raise errors.SettingsError("name the history: --history FILE, --history postgresql://…, or $TRAINCREW_HISTORY")
    location = history_options.checked(flags["history"])
    options = history_options.parse(flags["max_age"], flags["max_size"], flags["max_log_size"], flags["namespace"])
    log_format.configure(flags["log_format"], flags["log_level"])
    target = kubeconfig.discover(flags["kubeconfig"], flags["context"])
    app_recorder.run(location, options, flags["health_probe_bind_address"], target)
