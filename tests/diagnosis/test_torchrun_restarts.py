"""How often torchrun has restarted its workers, from the output of one that still runs (PyTorch 2.13)."""

from __future__ import annotations

from traincrew.diagnosis import torchrun_restarts

FAILURE = """Traceback (most recent call last):
  File "/w/elbug.py", line 4, in <module>
    raise {exception}
{exception_line}
W1119 23:27:11.232000 8482 torch/distributed/elastic/multiprocessing/api.py:1028] Sending process 8491 closing signal SIGTERM
"""
REPORT = (
    "E1119 23:27:11.233000 8482 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: {code}) local_rank: 1 "
    "(pid: 8492) of binary: /opt/torch/bin/python\n"
)


def failure(message: str) -> str:
    return FAILURE.format(exception=f"ValueError({message!r})", exception_line=f"ValueError: {message}") + REPORT.format(code=1)


def test_the_restarts_are_counted_and_the_last_failure_is_named() -> None:
    found = torchrun_restarts.find(failure("bad batch 7") + "epoch 1\n" + failure("bad batch 9") + "epoch 1\n")
    assert found is not None
    assert (found.count, found.cause, found.is_consequence) == (2, "ValueError: bad batch 9", False)
    assert "ValueError: bad batch 9" in found.evidence


def test_a_failure_without_an_exception_has_its_exit_code() -> None:
    found = torchrun_restarts.find(failure("bad batch 7") + "epoch 1\n" + REPORT.format(code=-9))
    assert found is not None
    assert (found.count, found.cause) == (2, "local rank 1 exited with code -9")


def test_workers_that_failed_because_another_has_left_are_a_consequence() -> None:
    text = "RuntimeError: [gloo/transport/tcp/pair.cc:553] Connection closed by peer [10.254.0.69]:61593."
    found = torchrun_restarts.find(FAILURE.format(exception="error", exception_line=text) + REPORT.format(code=1))
    assert found is not None
    assert found.is_consequence


def test_output_without_a_failure_has_no_restarts() -> None:
    assert torchrun_restarts.find("epoch 1\nValueError: bad batch 7\n") is None
