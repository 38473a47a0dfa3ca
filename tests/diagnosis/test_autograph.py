"""An exception inside of a tf.function is that of the user's own file, not that of the code which TensorFlow generated."""

from __future__ import annotations

import pytest
from tests.diagnosis import case_files

from traincrew.diagnosis import cause
from traincrew.diagnosis.replica_end import ReplicaEnd

OUTPUT = case_files.load(case_files.CASES / "tensorflow-function.yaml").ends[0].output
FIRST_LINE = "ValueError: in user code:"


@pytest.mark.parametrize(
    "output",
    [
        pytest.param(OUTPUT, id="whole"),
        pytest.param(OUTPUT[OUTPUT.index(FIRST_LINE) :], id="without the traceback"),
        pytest.param(OUTPUT[OUTPUT.index(FIRST_LINE) + len(FIRST_LINE) + 2 :], id="without the first line"),
        pytest.param("".join(f"    {line}\n" for line in OUTPUT.splitlines()), id="indented"),
        pytest.param(f"{OUTPUT}\nthe pod is stopped\n", id="a line behind"),
    ],
)
def test_the_advice_names_the_line_of_the_user(output: str) -> None:
    found = cause.examine(ReplicaEnd("Worker 0", output, 1))
    assert (found.cause, found.advice) == (
        "ValueError: destinations can not be empty",
        "Check line 8 of /workspace/program.py.",
    )
    assert found.evidence == (
        'File "/workspace/program.py", line 8, in average',
        '  raise ValueError("destinations can not be empty")',
        "ValueError: destinations can not be empty",
    )


def test_an_error_while_the_graph_runs_is_not_attributed_to_generated_code() -> None:
    """The frames before the message, as TensorFlow prints them without the user's code."""
    found = cause.examine(ReplicaEnd("Worker 0", OUTPUT.partition(FIRST_LINE)[0] + "ValueError: bad batch\n", 1))
    assert found.advice == "Check line 20 of /workspace/program.py."
