"""How a container ended, from its exit code and from the reasons of Kubernetes, if its output says nothing."""

from __future__ import annotations

import re

from traincrew.diagnosis.recognizer import RecognizedFault, Significance
from traincrew.diagnosis.replica_end import ReplicaEnd

_SIGNALS: dict[int, tuple[str, str, Significance]] = {
    1: ("SIGHUP", "Check who closed the terminal of the process.", "report"),
    2: ("SIGINT", "Start the job again: the process was interrupted.", "report"),
    4: ("SIGILL", "Use a build for this CPU: it does not support an instruction of the program.", "cause"),
    6: ("SIGABRT", "Check the last lines of the process: it aborted.", "report"),
    7: ("SIGBUS", "Give the pod more shared memory: mount an emptyDir with medium Memory at /dev/shm.", "cause"),
    8: ("SIGFPE", "Check the inputs of the program: native code divided by zero.", "cause"),
    9: ("SIGKILL", "Find out what killed the process: a user, a liveness probe, or the kernel because the machine ran out of "
        "memory (`dmesg` on the node).", "cause"),
    11: ("SIGSEGV", "Check that the native libraries are built for this machine and fit each other. "
         "`python -X faulthandler` prints where the process crashed.", "cause"),
    15: ("SIGTERM", "Check which replica failed first, and whether the pod was deleted, evicted or reached a deadline.",
         "consequence"),
}  # fmt: skip
_CODES = {
    126: "Check the mode and the first line of the command: it is not executable.",
    127: "Check the name of the command and the PATH of the image's environment: it was not found.",
}
_REASONS: dict[str, tuple[str, str]] = {
    "OOMKilled": ("out of memory: the container exceeded its memory limit",
                  "Raise resources.limits.memory, or use a smaller batch or fewer data loader workers."),
    "Evicted": ("evicted", "Check the resources of the node, and the limits of the pod's ephemeral storage."),
    "DeadlineExceeded": ("the deadline of the pod was exceeded", "Raise activeDeadlineSeconds."),
    "ContainerCannotRun": ("the container cannot run",
                           "Check the command and that it is in the PATH of the image's environment."),
    "StartError": ("the container cannot be started",
                   "Check the command and that it is in the PATH of the image's environment."),
    "ContainerStatusUnknown": ("the node lost the container", "Check the node: `kubectl describe node`."),
}  # fmt: skip
REASONS = tuple(_REASONS)
START_ERRORS = (
    (r"The ENTRYPOINT of image (?P<image>\S+) is unknown here",
     "Set `command` in the manifest, or the ENTRYPOINT: `traincrew image set {image} --command 'PROGRAM'`."),
    (r'exec:? "?(?P<file>[^":]+\.py)"?: permission denied',
     "Name its interpreter, as in `python {file}`, or make {file} executable (`chmod +x {file}`)."),
    (r'exec:? "?(?P<file>[^":]+)"?: permission denied',
     "Make {file} executable (`chmod +x {file}`), or name its interpreter, such as `bash {file}`."),
    (r"exec (?P<file>[^:]+): exec format error",
     "Begin {file} with the line of its interpreter, such as #!/bin/bash, or name the interpreter in the command. "
     "A program must be built for the CPU of the node."),
    (r"exec (?P<file>[^:]+): no such file or directory",
     "Check the first line of {file}: the pod does not have the interpreter that it names. "
     "If the file has line ends of Windows (CRLF), convert them: `sed -i 's/\\r$//' {file}`."),
)  # fmt: skip
"""By the message of the runtime: what cannot be executed, and why."""


def by_reason(end: ReplicaEnd) -> RecognizedFault | None:
    """A reason that explains more than the output of the container."""
    if end.reason not in _REASONS:
        return None
    if end.reason == "OOMKilled" and end.container:
        return _out_of_memory(end)
    cause, advice = _REASONS[end.reason]
    # Without output of a program, the message is that of the kubelet.
    message = next((line.strip() for line in end.output.splitlines() if line.strip()), "")
    reported = end.reason in ("ContainerCannotRun", "StartError", "Evicted") and message
    text = f"{cause}: {without_details(message)}" if reported else cause
    return RecognizedFault(end.reason, text, (), _start_advice(message) or advice)


def without_details(message: str) -> str:
    """A message of the kubelet without the directories that it searched, and without the remedy, which the advice has."""
    return re.sub(r" \(looked in [^)]*\)|(?<=was run as the command\.) Run .*", "", message)


def _start_advice(message: str) -> str:
    """Empty: the message does not say why the file cannot be executed."""
    found = ((re.search(pattern, message), advice) for pattern, advice in START_ERRORS)
    return next((advice.format(**match.groupdict()) for match, advice in found if match is not None), "")


def _out_of_memory(end: ReplicaEnd) -> RecognizedFault:
    """The kernel kills a process when the memory of its container reaches the limit: usage and limit are the same then."""
    if end.memory_limit:
        cause = f"out of memory: container {end.container} used all of its memory limit of {end.memory_limit}"
        return RecognizedFault("OOMKilled", cause, (), _REASONS["OOMKilled"][1])
    cause = f"out of memory: container {end.container}, for which the job sets no memory limit"
    advice = "Set resources.limits.memory, and use a smaller batch, fewer data loader workers or a node with more memory."
    return RecognizedFault("OOMKilled", cause, (), advice)


def by_signal(end: ReplicaEnd) -> RecognizedFault | None:
    """Of the signal, else of an exit code that stands for one."""
    number = end.signal or (end.exit_code or 0) - 128
    if number not in _SIGNALS:
        return None
    name, advice, significance = _SIGNALS[number]
    if end.signal == 0:
        return RecognizedFault(name, _RETURNED.format(name), (), _RETURNED_ADVICE.format(end.exit_code), significance)
    verb = "killed" if number in (9, 15, 2) else "ended"
    return RecognizedFault(name, f"the process was {verb} by {name}", (), advice, significance)


_RETURNED = "the process returned this code itself, as a shell does if {} ends its command"
_RETURNED_ADVICE = "Find where the program exits with code {}, and what ended the commands that it runs."


def advice(code: int | None, *, silent: bool = False) -> str:
    """silent: the process has printed nothing."""
    if code in _CODES:
        return _CODES[code]
    if silent and code:
        return f"Find where the program exits with code {code}, and print the reason there. Output in files is not in the log."
    return "Check the log of the replica."
