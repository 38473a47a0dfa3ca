"""Horovod: errors of its collectives, and the report of horovodrun."""

from __future__ import annotations

from traincrew.diagnosis.recognizer import Recognizer

RECOGNIZERS: tuple[Recognizer, ...] = (
    Recognizer(
        "horovodrun",
        r"Horovod detected that one or more processes exited with non-zero status, thus causing the job to be terminated. "
        r"The first process to do so was: Process name: (?P<rank>\d+)(?:\[\d+\])? Exit code: (?P<code>\d+)",
        "Check the output of rank {rank} before this message.",
        "rank {rank} exited with code {code}",
        significance="report",
        before_exceptions=True,
    ),
    Recognizer(
        "horovodrun",
        r"Horovod detected that one or more processes exited|Gloo run failed|Horovod job failed|"
        r"Job has not been (?:started|completed)",
        "Check the output of the ranks before this message.",
        place="exception",
        significance="report",
    ),
    Recognizer(
        "horovod-mismatch",
        r"Mismatched (?P<what>[\w ]+?)(?: :|:| One)",
        "Build the same model and feed tensors of the same shape and type on all ranks.",
        place="exception",
    ),
    Recognizer(
        "horovod-peer-lost",
        r"Horovod has been shut down|HorovodInternalError|hvd\.elastic.*reset",
        "Check which rank failed or ended first, and why.",
        "Horovod was shut down because another rank failed or ended",
        place="exception",
        significance="consequence",
    ),
    Recognizer(
        "horovod-slots",
        r"not enough slots|Requested more processes .*than there are available slots|Timed out waiting for .* available slots",
        "Lower -np, or raise the number of workers or slotsPerWorker.",
        place="exception",
    ),
    Recognizer(
        "horovod-stalled",
        r"Missing ranks: (?P<ranks>\d+!?: \[[^\]\n]*\](?:\n\d+!?: \[[^\]\n]*\])*)"
        r"(?:(?!Missing ranks)[\s\S])*?One or more rank \(marked by [^)]*\) is stalled for longer than (?P<time>\d+) seconds",
        "Find out what these ranks do instead: all ranks must call the same operations in the same order.",
        "Horovod waited {time} seconds for ranks that did not take part: {ranks}",
        significance="consequence",
        before_exceptions=True,
    ),
    Recognizer(
        "horovod-stalled",
        r"One or more tensors were submitted to be reduced, gathered or broadcasted by subset of ranks",
        "Find the rank that does not take part: all ranks must call the same operations in the same order.",
        significance="consequence",
    ),
)
