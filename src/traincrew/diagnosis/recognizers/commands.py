"""Commands that cannot be started, and commands with wrong arguments."""

from __future__ import annotations

from traincrew.diagnosis.recognizer import FatalIf, Recognizer

_TMP = (
    "Move {file} out of /tmp, or mount its directory: pods have a /tmp of their own and do not see the one of the machine "
    "on which the job was submitted."
)
_MISSING = "Check that {file} exists inside the pod, and that its directory is mounted."
_SHELL = r"^(?:(?:\S*/)?(?:ba|da|a|z|k)?sh: (?:line )?(?:\d+: )?|[^\s:]+: (?:line )?\d+: )"
"""How shells begin their errors: with their own name, or with that of the script and the number of the line."""
_SCRIPTS: tuple[tuple[str, FatalIf | None], ...] = (
    (r"^\S*python[\d.]*: can't open file '(?P<file>PATH)': \[Errno 2\]", FatalIf(exit_codes=(2,))),
    (_SHELL + r"(?:cannot open |can't open )?'?(?P<file>PATH)'?: No such file", FatalIf(exit_codes=(2, 127))),
    (r'^Can\'t open perl script "(?P<file>PATH)": No such file', FatalIf(exit_codes=(2,))),
    (r"^\s*Error: Cannot find module '(?P<file>PATH)'\n", None),
)
"""How interpreters say that a script does not exist, and with which exit code."""
_PATHS = ((r"/(?:var/)?tmp/[^'\"\n:]+", _TMP), (r"[^'\"\n: ]*[/.][^'\"\n: ]*", _MISSING))
"""The path of a script, and what to do if it does not exist."""


def _missing_scripts() -> tuple[Recognizer, ...]:
    rows = ((pattern.replace("PATH", path), advice, sign) for path, advice in _PATHS for pattern, sign in _SCRIPTS)
    return tuple(
        Recognizer("missing-script", pattern, advice, before_exceptions=True, fatal_if=sign) for pattern, advice, sign in rows
    )


RECOGNIZERS: tuple[Recognizer, ...] = (
    *_missing_scripts(),
    Recognizer(
        "missing-script",
        r"^\S*python[\d.]*: can't (?:find '__main__' module in|open file) '(?P<file>[^']+)'",
        "Check the path and the permissions of {file} inside the pod.",
    ),
    Recognizer(
        "missing-module",
        r"^\S*python[\d.]*: No module named (?P<package>[\w.]+)\.__main__; '[^']+' is a package and cannot be directly executed",
        "Give `python -m` a module of the package, such as {package}.train: the package has no __main__.",
    ),
    Recognizer(
        "missing-module",
        r"^\S*python[\d.]*: (?:Error while finding module specification for '[^']+' \(\w+: )?"
        r"No module named '?(?P<module>[\w.]+)",
        "Install {module} in the environment of the image, or use another image.",
    ),
    Recognizer(
        "command-not-found",
        _SHELL + r"(?P<command>[^:\n]+): (?:command )?not found",
        "Check the name {command} and the PATH of the image's environment.",
        fatal_if=FatalIf(exit_codes=(127,)),
    ),
    Recognizer(
        "command-not-found",
        r"exec(?:utable file)?:? .*(?:not found in \$PATH|no such file or directory)",
        "Check the command and the PATH of the image's environment.",
        fatal_if=FatalIf(exit_codes=(127, 128)),
    ),
    Recognizer(
        "wrong-arguments",
        r"^(?P<program>[\w./-]+): error: (?P<message>.+)$",
        "Check the arguments of the command: {program} does not accept them.",
        fatal_if=FatalIf(exit_codes=(2,)),
    ),
    Recognizer(
        "wrong-arguments",
        r"^(?P<program>[\w./-]+): (?:unrecognized|invalid|unknown) option.*$",
        "Check the arguments of the command.",
        fatal_if=FatalIf(exit_codes=(2, 64), lines_after=1),  # "Try 'cp --help' for more information."
    ),
)
