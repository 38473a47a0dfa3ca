"""docs/elastic.md shows the job of the example as it is."""

from __future__ import annotations

import pathlib
import re

ROOT = pathlib.Path(__file__).parents[2]


def test_the_job_of_horovod_elastic_is_that_of_the_example() -> None:
    shown = re.findall(r"^```yaml\n(.*?)^```", (ROOT / "docs" / "elastic.md").read_text(), re.DOTALL | re.MULTILINE)
    assert (ROOT / "examples" / "mpi" / "horovod-elastic" / "job.yaml").read_text() in shown
