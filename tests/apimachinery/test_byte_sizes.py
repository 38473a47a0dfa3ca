"""Numbers of bytes as people read them."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from traincrew.apimachinery import byte_sizes

GIB, MIB = 2**30, 2**20


@pytest.mark.parametrize(
    ("count", "formats", "expected"),
    [
        pytest.param(0, byte_sizes.EXACT, "0 B", id="nothing"),
        pytest.param(1023, byte_sizes.EXACT, "1023 B", id="below the second unit"),
        pytest.param(256 * MIB, byte_sizes.EXACT, "256 MiB", id="a limit"),
        pytest.param(7.8125 * GIB, byte_sizes.EXACT, "7.812 GiB", id="four digits"),
        pytest.param(2**60, byte_sizes.EXACT, "1.049e+06 TiB", id="more than the largest unit"),
        pytest.param(1000, byte_sizes.MEASURED_MEMORY, "0 MiB", id="less than the smallest unit"),
        pytest.param(GIB - 1, byte_sizes.MEASURED_MEMORY, "1024 MiB", id="just below a unit"),
        pytest.param(1.5 * GIB, byte_sizes.MEASURED_MEMORY, "1.5 GiB", id="memory"),
        pytest.param(-GIB, byte_sizes.MEASURED_MEMORY, "-1024 MiB", id="negative"),
        pytest.param(512, byte_sizes.FILE_SIZE, "0.5 KiB", id="a small file"),
        pytest.param(2 * GIB, byte_sizes.FILE_SIZE, "2048.0 MiB", id="a large file"),
    ],
)
def test_a_size_is_written_in_the_largest_unit_of_its_formats(count: float, formats: Mapping[str, str], expected: str) -> None:
    assert byte_sizes.text(count, formats) == expected
