"""PaddlePaddle: the report of its launcher, its store and its own exceptions."""

from __future__ import annotations

from traincrew.diagnosis.recognizer import Recognizer

RECOGNIZERS: tuple[Recognizer, ...] = (
    Recognizer(
        "paddle-peer-lost",
        r"tcp_(?:store|utils)\.|paddle.*TCPStore|[Bb]rpc.*(?:refused|reset)",
        "Check which replica failed first, and why.",
        place="exception",
        significance="consequence",
    ),
    Recognizer(
        "paddle-launch",
        r"^LAUNCH INFO .* Exit code -?(?P<code>[1-9]\d*)$",
        "Check the log of the trainer before this message; the launcher keeps the logs of all of them in the directory log.",
        "a trainer of paddle.distributed.launch exited with code {code}",
        significance="report",
    ),
    Recognizer(
        "shapes",
        r"\(InvalidArgument(?:Error)?\) .*(?:mul|Dims|dimension|shape)",
        "Compare the shape of the data with the layers of the model.",
        place="exception",
    ),
)
