"""Compatibility with the command lines of the Go operators: their spelling, and flags without effect."""

from __future__ import annotations

import logging
from typing import Any

import click

from traincrew.cli.render import terminal
from traincrew.kinds import KINDS

log = logging.getLogger(__name__)

IGNORED = {
    "webhook-server-port": "traincrew has no webhook",
    "webhook-service-name": "traincrew has no webhook",
    "webhook-secret-name": "traincrew has no webhook",
    "qps": "requests are not rate-limited; HTTP 429 from the API server is honoured",
    "burst": "requests are not rate-limited",
    "kube-api-qps": "requests are not rate-limited",
    "kube-api-burst": "requests are not rate-limited",
    "controller-queue-rate-limit": "requests are not rate-limited",
    "controller-queue-burst": "requests are not rate-limited",
    "resyc-period": "informers do not resync",
    "resync-period": "informers do not resync",
    "zap-devel": "see --log-level",
    "zap-encoder": "see --log-format",
    "zap-log-level": "see --log-level",
    "zap-stacktrace-level": "see --log-level",
    "zap-time-encoding": "timestamps are always RFC 3339",
    "json-log-format": "see --log-format",
    "enable-gang-scheduling": "see --gang-scheduler-name",
    "master": "see --kubeconfig",
    "monitoring-port": "see --metrics-bind-address",
}

RENAMED = {
    "kubeConfig": "kubeconfig",
    "threadiness": "controller-threads",
    "gang-scheduling": "gang-scheduler-name",
    "lock-namespace": "leader-election-namespace",
    **{option.former_flag: option.flag for kind in KINDS for option in kind.options if option.former_flag},
}


class GoFlags(click.Command):
    """Accepts `-flag`, `--flag=true` and `--flag=false`, as Go's flag package does."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, [_normalize(arg) for arg in args])


def _normalize(arg: str) -> str:
    if not arg.startswith("-") or len(arg.lstrip("-")) < 2:
        return arg
    name, sign, value = arg.lstrip("-").partition("=")
    name = RENAMED.get(name, name)
    if name == "leader-elect" and sign:
        return "--leader-elect" if value.lower() in ("true", "1", "t") else "--no-leader-elect"
    return f"--{name}{sign}{value}"


def ignored_flags(command: Any) -> Any:
    for flag in IGNORED:
        command = click.option(
            f"--{flag}", hidden=True, expose_value=False, callback=_report_ignored, is_flag=False, flag_value=""
        )(command)
    return command


def _report_ignored(ctx: click.Context, parameter: click.Parameter, value: object) -> None:
    if value is not None:
        flag = parameter.opts[0]
        terminal.echo(f"flag {flag} is ignored: {IGNORED[flag.lstrip('-')]}", err=True)
