"""Commands that cannot be started, and commands with wrong arguments."""

from __future__ import annotations

from traincrew.diagnosis.recognizer import Recognizer

_TMP = (
    "Move {file} out of /tmp, or mount its directory: pods have a /tmp of their own and do not see the one of the machine "
    "on which the job was submitted."
)
_MISSING = "Check that {file} exists inside the pod, and that its directory is mounted."
_SCRIPTS = (
    r"^\S*python[\d.]*: can't open file '(?P<file>PATH)': \[Errno 2\]",
    r"^(?:\S*/)?(?:ba|da|a|z|k)?sh: (?:line )?(?:\d+: )?(?:cannot open |can't open )?'?(?P<file>PATH)'?: No such file",
    r'^Can\'t open perl script "(?P<file>PATH)": No such file',
    r"^\S*ruby\S*: No such file or directory -- (?P<file>PATH) \(LoadError\)",
    r"^Fatal error: cannot open file '(?P<file>PATH)': No such file",
    r"^\s*Error: Cannot find module '(?P<file>PATH)'\n",
)
"""How interpreters say that a script does not exist."""
_PATHS = ((r"/(?:var/)?tmp/[^'\"\n:]+", _TMP), (r"[^'\"\n: ]*[/.][^'\"\n: ]*", _MISSING))
"""The path of a script, and what to do if it does not exist."""


def _missing_scripts() -> tuple[Recognizer, ...]:
    rows = ((pattern.replace("PATH", path), advice) for path, advice in _PATHS for pattern in _SCRIPTS)
    return tuple(Recognizer("missing-script", pattern, advice, before_exceptions=True) for pattern, advice in rows)


RECOGNIZERS: tuple[Recognizer, ...] = (
    *_missing_scripts(),
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
