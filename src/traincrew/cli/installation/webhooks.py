"""The webhooks of the Go operators: their failure policies before and after a migration.

A webhook whose server is gone would reject every job, so its failures are ignored while traincrew serves the jobs. An annotation
keeps the policies that were changed.
"""

from __future__ import annotations

import contextlib
from typing import Any

import msgspec

from traincrew import errors
from traincrew.cli.installation import deployments
from traincrew.client import interfaces
from traincrew.model.meta import Meta, Struct
from traincrew.model.resources import Resource

PLURAL = "validatingwebhookconfigurations"
CONFIGURATIONS = Resource("admissionregistration.k8s.io", "v1", PLURAL, "ValidatingWebhookConfiguration", namespaced=False)
BEFORE = "traincrew.kubeflow.org/failure-policies-before-migration"
"""Annotation: failure policies by the name of the webhook, as JSON. Only those that were changed."""
IGNORE = "Ignore"


class Webhook(Struct):
    name: str = ""
    failure_policy: str = "Fail"


class WebhookConfiguration(Struct):
    metadata: Meta = Meta()
    webhooks: list[Webhook] = []

    @property
    def rejecting(self) -> dict[str, str]:
        """Policies of the webhooks whose failures reject jobs, by name."""
        return {each.name: each.failure_policy for each in self.webhooks if each.failure_policy != IGNORE}

    @property
    def before(self) -> dict[str, str]:
        """The policies that a migration has changed."""
        with contextlib.suppress(msgspec.DecodeError):  # somebody has edited the annotation
            return msgspec.json.decode(self.metadata.annotations.get(BEFORE, "{}"), type=dict[str, str])
        return {}


async def find(client: interfaces.Reader) -> dict[str, WebhookConfiguration]:
    """The configurations that exist, by Go operator."""
    found = {}
    for operator in deployments.other_operators():
        with contextlib.suppress(errors.NotFound):
            if operator.webhooks:
                raw = await client.get(CONFIGURATIONS, None, operator.webhooks)
                found[operator.name] = msgspec.json.decode(raw, type=WebhookConfiguration)
    return found


async def ignore_failures(client: interfaces.Client, name: str) -> None:
    raw = await client.get(CONFIGURATIONS, None, name)
    configuration = msgspec.json.decode(raw, type=WebhookConfiguration)
    changed = configuration.before | configuration.rejecting
    await _write(client, raw, dict.fromkeys(changed, IGNORE), changed)


async def restore(client: interfaces.Client, name: str) -> None:
    raw = await client.get(CONFIGURATIONS, None, name)
    await _write(client, raw, msgspec.json.decode(raw, type=WebhookConfiguration).before, {})


async def _write(client: interfaces.Client, raw: bytes, policies: dict[str, str], before: dict[str, str]) -> None:
    stored: dict[str, Any] = msgspec.json.decode(raw)
    meta = stored["metadata"]
    annotations = {key: value for key, value in (meta.get("annotations") or {}).items() if key != BEFORE}
    if before:
        annotations[BEFORE] = msgspec.json.encode(before).decode()
    hooks: list[dict[str, Any]] = stored.get("webhooks") or []
    hooks = [{**each, "failurePolicy": policies.get(each["name"], each.get("failurePolicy", "Fail"))} for each in hooks]
    body = {**stored, "metadata": {**meta, "annotations": annotations}, "webhooks": hooks}
    await client.replace(CONFIGURATIONS, None, meta["name"], msgspec.json.encode(body))
