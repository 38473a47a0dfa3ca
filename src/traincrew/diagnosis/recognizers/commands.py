"""Commands that cannot be started, and commands with wrong arguments."""

from __future__ import annotations

from traincrew.diagnosis.recognizer import Recognizer

_TMP = (
    "Move {file} out of /tmp, or mount its directory: pods have a /tmp of their own and do not see the one of the machine "
    "on which the job was submitted."
)

RECOGNIZERS: tuple[Recognizer, ...] = (
    Recognizer(
        "missing-script",
        r"^\S*python[\d.]*: can't open file '(?P<file>/(?:var/)?tmp/[^']+)': \[Errno 2\]",
        _TMP,
        before_exceptions=True,
    ),
    Recognizer(
        "missing-script",
        r"^\S*sh: (?:line )?(?:\d+: )?(?:cannot open )?(?P<file>/(?:var/)?tmp/[^:\n]+): (?:No such file|not found|cannot open)",
        _TMP,
    ),
    Recognizer(
        "missing-script",
        r"^\S*python[\d.]*: can't open file '(?P<file>[^']+)': \[Errno 2\]",
        "Check that {file} exists inside the pod, and that its directory is mounted.",
        before_exceptions=True,
    ),
    Recognizer(
        "missing-script",
        r"^\S*python[\d.]*: can't (?:find '__main__' module in|open file) '(?P<file>[^']+)'",
        "Check the path and the permissions of {file} inside the pod.",
    ),
    Recognizer(
        "missing-module",
        r"^\S*python[\d.]*: (?:Error while finding module specification for '[^']+' \(.*\)|No module named (?P<module>[\w.]+))",
        "Install {module} in the environment of the image, or use another image.",
    ),
    Recognizer(
        "command-not-found",
        r"^(?:\S*/)?(?:ba|da|a|z|k)?sh: (?:line )?(?:\d+: )?(?P<command>[^:\n]+): (?:command )?not found",
        "Check the name {command} and the PATH of the image's environment.",
    ),
    Recognizer(
        "command-not-found",
        r"exec(?:utable file)?:? .*(?:not found in \$PATH|no such file or directory)",
        "Check the command and the PATH of the image's environment.",
    ),
    Recognizer(
        "wrong-arguments",
        r"^(?P<program>[\w./-]+): error: (?P<message>.+)$",
        "Check the arguments of the command: {program} does not accept them.",
    ),
    Recognizer(
        "wrong-arguments",
        r"^(?P<program>[\w./-]+): (?:unrecognized|invalid|unknown) option.*$",
        "Check the arguments of the command.",
    ),
)
