"""Failures of ssh and of `kubectl exec`, with which launchers start processes on workers."""

from __future__ import annotations

from traincrew.diagnosis.recognizer import FatalIf, Recognizer

_SSH = FatalIf(exit_codes=(255,))
"""Scripts try again until the workers accept connections."""

RECOGNIZERS: tuple[Recognizer, ...] = (
    Recognizer(
        "ssh-unknown-host",
        r"^ssh: Could not resolve hostname (?P<host>[^\s:]+): .*$",
        "Check that the host list names workers of the job, and that {host} runs: its name resolves only while its pod exists.",
        fatal_if=_SSH,
    ),
    Recognizer(
        "ssh-unreachable",
        r"^ssh: connect to host (?P<host>\S+) port (?P<port>\d+): (?P<error>.*)$",
        "Check that sshd runs in {host} on port {port}: its command must be `sshd -De` or similar.",
        fatal_if=_SSH,
    ),
    Recognizer(
        "ssh-no-host-keys",
        r"^(?:\S+: )?no hostkeys available -- exiting\.",
        "Generate SSH host keys, which the image does not have: run `ssh-keygen -A` in the image, or before sshd in the command "
        "of the workers, or give sshd a key file with `-h FILE`. Or use apiVersion kubeflow.org/v1, which needs no sshd.",
    ),
    Recognizer(
        "ssh-host-key",
        r"^Host key verification failed\.?",
        "Let ssh accept the keys of new pods: set StrictHostKeyChecking to no in the image, or in plm_rsh_args.",
        fatal_if=_SSH,
    ),
    Recognizer(
        "ssh-refused",
        r"^(?P<who>\S*)?:? ?Permission denied \((?:publickey|password)[^)]*\)\.?",
        "Check that the keys are mounted at spec.sshAuthMountPath of the user that runs sshd, and their permissions.",
        fatal_if=_SSH,
    ),
    Recognizer(
        "ssh-closed",
        r"^(?:kex_exchange_identification: .*|Connection (?:closed|reset) by (?:remote host|\S+ port \d+).*)$",
        "Check the log of the worker: sshd ended or refused the connection.",
        fatal_if=_SSH,
    ),
    Recognizer(
        "exec-forbidden",
        r'^Error from server \(Forbidden\): pods "(?P<pod>[^"]+)" is forbidden: .*cannot create resource "pods/exec".*$',
        "Check the host list: the launcher may only start processes in the workers of its own job, and {pod} is none of them.",
        "the launcher may not start processes in pod {pod}",
    ),
    Recognizer(
        "exec-failed",
        r"^(?:Error from server(?: \((?P<reason>\w+)\))?: |error: (?=Internal error occurred|unable to upgrade connection|"
        r"cannot exec into))(?P<message>.*)$",
        "Check that the worker runs: the launcher cannot start a process in it.",
        significance="report",
    ),
)
