"""Kinds by the names that users write."""

from __future__ import annotations

import pytest

from traincrew import errors
from traincrew.app import operator
from traincrew.kinds import KINDS, lookup
from traincrew.kinds.kind import JobKind


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.singular)
def test_a_kind_has_all_names_that_kubectl_accepts(kind: JobKind) -> None:
    for name in (kind.kind, kind.plural, f"{kind.plural}.kubeflow.org", *kind.crd.short_names, kind.framework.upper()):
        assert lookup.find(name) is kind


def test_an_unknown_kind_has_one_message() -> None:
    assert lookup.unknown_kind("TfJob") == "unknown kind 'TfJob'; did you mean 'TFJob'?"
    known = "TFJob, PyTorchJob, MPIJob, XGBoostJob, PaddleJob, JAXJob"
    assert lookup.unknown_kind("Deployment") == f"unknown kind 'Deployment'. Known kinds: {known}"
    with pytest.raises(errors.SettingsError, match=r"unknown kind 'Deployment'\. Known kinds"):
        operator.chosen_kinds(("pytorchjob", "Deployment"))
