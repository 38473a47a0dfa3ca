"""XGBoost: the tracker, and rabit, with which ranks exchange histograms."""

from __future__ import annotations

from traincrew.diagnosis.recognizer import Recognizer

RECOGNIZERS: tuple[Recognizer, ...] = (
    Recognizer(
        "xgboost-no-tracker",
        r"Failed to (?:connect to tracker|bootstrap)|[Tt]racker.*(?:refused|timed? ?out)|failed to connect to .*tracker",
        "Check that rank 0 runs and starts the tracker: the other ranks connect to it.",
        "the tracker of XGBoost cannot be reached",
        place="exception",
        significance="consequence",
    ),
    Recognizer(
        "xgboost-peer-lost",
        r"XGBoostError: .*(?:\n.*)*?(?:rabit|collective|Connection (?:reset|refused|closed)|[Ss]ocket|[Pp]oll|Broken pipe)",
        "Check which replica failed first, and why.",
        "XGBoost lost the connection to another rank",
        place="exception",
        significance="consequence",
    ),
    Recognizer(
        "xgboost-labels",
        r"XGBoostError: .*Check failed: (?P<check>.*)",
        "Compare the numbers of rows, labels and weights in the data.",
        "XGBoost: check failed: {check}",
        place="exception",
    ),
)
