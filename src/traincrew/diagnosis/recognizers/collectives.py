"""Errors of Gloo and NCCL. Most are consequences: another rank ended, and its connections were closed."""

from __future__ import annotations

from traincrew.diagnosis.recognizer import PLACES, FatalIf, Recognizer

_FIRST = "Check which replica failed first, and why."

_WARNING = FatalIf(exceptions=r"NCCL|\bnccl[A-Z]\w+", lines_after=10)
"""NCCL warns also of what it can work without."""

RECOGNIZERS: tuple[Recognizer, ...] = (
    Recognizer(
        "nccl-peer-lost",
        r"ncclRemoteError|remote process exited or there was a network error|NCCL communicator was aborted|"
        r"(?:Net :|socketProgress:) Connection closed by remote peer",
        _FIRST,
        "NCCL lost the connection to another rank",
        place="exception",
        significance="consequence",
    ),
    Recognizer(
        "gloo-peer-lost",
        r"(?:Connection (?:closed|reset) by (?:remote )?peer|Broken pipe|Socket closed|Application timeout caused pair closure)",
        _FIRST,
        place="exception",
        significance="consequence",
    ),
    Recognizer(
        "gloo-timeout",
        r"Timed out waiting \d+ms for (?:recv|send) operation|TIMEOUT self_rank",
        "Find the replica that does not take part: `traincrew stacks` shows where each rank is.",
        place="exception",
        significance="consequence",
    ),
    Recognizer(
        "gloo-connect",
        r"[Gg]loo connectFullMesh failed|gloo/transport/tcp/.*(?:Connection refused|timed out|SO_ERROR)",
        "Check that all replicas run, and that pods reach each other: network policies, GLOO_SOCKET_IFNAME.",
        place="exception",
        significance="consequence",
    ),
    Recognizer(
        "nccl-duplicate-gpu",
        r"Duplicate GPU detected : rank (?P<rank>\d+) and rank (?P<other>\d+) both on CUDA device (?P<device>\w+)",
        "Give each process its own GPU: torch.cuda.set_device(int(os.environ['LOCAL_RANK'])), and as many GPUs as processes.",
        "ranks {rank} and {other} use the same GPU ({device})",
        place="exception",
    ),
    *(
        Recognizer(
            "nccl-timeout",
            r"Watchdog caught collective operation timeout: WorkNCCL\(.*OpType=(?P<operation>\w+).*?ran for (?P<time>\d+) "
            r"milliseconds",
            "Find the rank that does not take part: `traincrew stacks` shows where each rank is. "
            "TORCH_NCCL_TRACE_BUFFER_SIZE=2000 records the last operations of each rank.",
            "NCCL {operation} timed out after {time} ms: not all ranks took part",
            place=place,
            significance="consequence",
        )
        for place in PLACES
    ),
    Recognizer(
        "nccl-interface",
        r"NCCL WARN (?P<message>Bootstrap : no socket interface found.*)$",
        "Set NCCL_SOCKET_IFNAME to the network interface of the pods, such as eth0, or do not set it.",
        "NCCL found no network interface that NCCL_SOCKET_IFNAME allows",
        before_exceptions=True,
        fatal_if=_WARNING,
    ),
    Recognizer(
        "nccl-warning",
        r"NCCL WARN (?P<message>(?!.*(?:[Cc]losed by|reset by|peer|[Tt]imeout|timed out|[Aa]bort)).+)$",
        "Check the GPUs and the driver of the node, and the network and the shared memory (/dev/shm) of the pods: NCCL could not "
        "work with them.",
        "NCCL: {message}",
        before_exceptions=True,
        fatal_if=_WARNING,
    ),
    Recognizer(
        "nccl-system",
        r"ncclSystemError|unhandled system error|ncclUnhandledCudaError|unhandled cuda error|ncclInvalidUsage|"
        r"NCCL Error \d+: (?:unhandled|invalid|internal)",
        "Set NCCL_DEBUG=WARN and check the lines with NCCL WARN. Shared memory is often too small: mount an emptyDir with "
        "medium Memory at /dev/shm.",
        place="exception",
    ),
    Recognizer(
        "connection-lost",
        r"^(?:\w+\.)*(?:ConnectionResetError|ConnectionRefusedError|BrokenPipeError|ConnectionAbortedError|EOFError)\b",
        "Check that the other side runs: another replica, or the server that the program uses.",
        place="exception",
        significance="consequence",
    ),
)
