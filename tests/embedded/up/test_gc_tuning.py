from __future__ import annotations

import gc

from traincrew.embedded import gc_tuning


def test_cycles_are_not_collected_while_a_cluster_starts_and_less_often_when_it_runs() -> None:
    before = gc.get_threshold()
    gc_tuning.pause()
    try:
        assert not gc.isenabled()
        with gc_tuning.tuned():
            assert gc.isenabled()
            assert gc.get_threshold() == gc_tuning.THRESHOLDS
        assert gc.isenabled()
        assert gc.get_threshold() == before
    finally:
        gc.enable()
