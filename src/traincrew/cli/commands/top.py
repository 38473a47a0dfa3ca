"""`traincrew top`: show the CPU, memory and devices that jobs use."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import click

from traincrew.cli import cluster_target, output_options
from traincrew.cli.duration import Duration


@click.command()
@click.option("-A", "--all-namespaces", "all_namespaces", is_flag=True, help="Show the jobs of all namespaces.")
@click.option("--once", is_flag=True, help="Print one page and return. Default without a terminal.")
@click.option(
    "--interval", type=Duration(0.2), default="2s", show_default=True, metavar="DURATION", help="Time between two pages."
)
@output_options.option()
@cluster_target.options
def top(target_options: cluster_target.TargetOptions, **chosen: Any) -> None:
    """Show jobs and replicas with their CPU and memory, and GPUs and other devices with the jobs that hold them.

    On a terminal the page is kept current until q or Ctrl-C. CPU and memory come from metrics.k8s.io. A device is held by a pod
    that requests it and is scheduled to a node.

    \b
    traincrew top
    traincrew top -A --once
    traincrew top -o json
    """
    from traincrew.cli.jobs import usage_query

    sys.exit(asyncio.run(usage_query.show(usage_query.TopRequest(**chosen), target_options)))
