"""The search for known faults is limited, whatever a replica prints."""

from __future__ import annotations

from traincrew.diagnosis import recognizer
from traincrew.diagnosis.recognizer import Recognizer

FAULT = Recognizer("fault", "^fault of the test$")
LIMIT = recognizer.MAX_CHARACTERS


def test_the_end_of_a_text_is_searched() -> None:
    line = "fault of the test\n"
    assert FAULT.search(line + "x" * LIMIT) is None
    assert FAULT.search("x" * LIMIT + "\n" + line) is not None
    found = FAULT.search("x\n" * LIMIT + line)
    assert found is not None
    assert found.start() == 2 * LIMIT, "the position is that in the whole text"
