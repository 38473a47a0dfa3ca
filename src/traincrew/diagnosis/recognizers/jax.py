"""JAX: the coordination service, and collectives between processes."""

from __future__ import annotations

from traincrew.diagnosis.recognizer import Recognizer

RECOGNIZERS: tuple[Recognizer, ...] = (
    Recognizer(
        "jax-not-all-joined",
        r"JAX distributed service detected fatal errors[^\n]*DEADLINE_EXCEEDED[^\n]*\n(?:[^\n]*\n)?RPC: \S*RegisterTask",
        "Check that all replicas run and call jax.distributed.initialize with the same number of processes.",
        "not all processes joined the JAX coordination service in time",
        significance="consequence",
        before_exceptions=True,
    ),
    Recognizer(
        "jax-coordinator-lost",
        r"JAX distributed service detected fatal errors[^\n]*(?:leader task was preempted/died|UNAVAILABLE)",
        "Check how the replica with process 0 ended: it runs the coordination service.",
        "the JAX coordination service of process 0 was lost",
        significance="consequence",
        before_exceptions=True,
    ),
    Recognizer(
        "jax-peer-lost",
        r"JAX distributed service detected fatal errors",
        "Check which replica failed first, and why.",
        "the JAX coordination service reports that another process died",
        significance="consequence",
        before_exceptions=True,
    ),
    Recognizer(
        "jax-peer-lost",
        r"(?:XlaRuntimeError|JaxRuntimeError|RuntimeError|ValueError): "
        r"(?:UNAVAILABLE|DEADLINE_EXCEEDED|ABORTED|CANCELLED|UNKNOWN: Gloo)",
        "Check which replica failed first, and why.",
        place="exception",
        significance="consequence",
    ),
    Recognizer(
        "jax-out-of-memory",
        r"RESOURCE_EXHAUSTED: (?P<message>.*)",
        "Use a smaller batch, or set XLA_PYTHON_CLIENT_MEM_FRACTION.",
        place="exception",
    ),
    Recognizer(
        "jax-backend",
        r"Unable to initialize backend|assert _default_backend is not None|No GPU/TPU found|Unknown backend",
        "Install jax for the devices of the node, or set JAX_PLATFORMS=cpu.",
        place="exception",
    ),
    Recognizer(
        "shapes",
        r"dot_general requires contracting dimensions to have the same shape|Incompatible shapes for broadcasting",
        "Compare the shapes of the arrays.",
        place="exception",
    ),
)
