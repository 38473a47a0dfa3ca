"""Values of environment variables that are not recorded."""

from __future__ import annotations

from typing import Any

import pytest

from traincrew.apimachinery import redaction


@pytest.mark.parametrize(
    "name", ["HF_TOKEN", "WANDB_API_KEY", "AWS_SECRET_ACCESS_KEY", "PGPASSWORD", "db_pass", "MYSQL_PWD", "GIT_CREDENTIALS", "DSN"]
)
def test_a_name_with_a_word_for_a_secret_is_secret(name: str) -> None:
    assert redaction.is_secret(name)


@pytest.mark.parametrize("name", ["MAX_TOKENS", "TOKENIZERS_PARALLELISM", "PWD", "MONKEY", "KEYBOARD", "PASSES", "AUTHOR", "LR"])
def test_an_ordinary_name_is_not(name: str) -> None:
    assert not redaction.is_secret(name)


def _container(**variable: Any) -> dict[str, Any]:
    return {"spec": {"template": {"spec": {"initContainers": [{"name": "a", "env": [variable]}]}}}}


def test_secret_values_are_replaced_wherever_containers_are() -> None:
    redacted = redaction.redact(_container(name="HF_TOKEN", value="hf_123"))
    assert redacted == _container(name="HF_TOKEN", value=redaction.REDACTED)


def test_the_password_of_an_address_is_replaced_whatever_the_name() -> None:
    redacted = redaction.redact(_container(name="DATA", value="s3://user:pa55@host/bucket?x=1"))
    assert redacted == _container(name="DATA", value="s3://<redacted>@host/bucket?x=1")


def test_references_to_secrets_and_other_values_stay() -> None:
    reference = {"secretKeyRef": {"name": "s", "key": "k"}}
    for unchanged in (_container(name="HF_TOKEN", valueFrom=reference), _container(name="MODE", value="fast"), {"env": "text"}):
        assert redaction.redact(unchanged) == unchanged


def test_the_copies_of_a_manifest_are_dropped() -> None:
    annotations = {redaction.LAST_APPLIED: '{"env":[{"name":"HF_TOKEN","value":"hf_123"}]}', "note": "kept"}
    document = {"metadata": {"name": "a", "annotations": annotations, "managedFields": [{}], "deletionTimestamp": "t"}}
    assert redaction.redact(document) == {"metadata": {"name": "a", "annotations": {"note": "kept"}}}


def test_a_secret_that_a_container_prints_is_replaced_in_the_status() -> None:
    document = {**_container(name="HF_TOKEN", value="hf_123456"), "status": {"failure": {"evidence": ["my hf_123456", 3]}}}
    assert redaction.redact(document)["status"] == {"failure": {"evidence": ["my <redacted>", 3]}}


def test_a_short_value_is_not_replaced_in_the_status() -> None:
    document = {**_container(name="HF_TOKEN", value="a"), "status": {"message": "a sentence"}}
    assert redaction.redact(document)["status"] == {"message": "a sentence"}
