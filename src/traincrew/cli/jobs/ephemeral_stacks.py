"""Stacks of the processes of a container, with py-spy in an ephemeral container of another image."""

from __future__ import annotations

import asyncio
import secrets
from typing import Any

import msgspec

from traincrew import errors
from traincrew.cli.jobs import container_stacks
from traincrew.cli.render import stacks
from traincrew.client import pod_logs
from traincrew.client.remote import RemoteClient
from traincrew.model import resources

TIMEOUT_SECONDS = 120.0
"""The image may have to be pulled."""
POLL_SECONDS = 0.5


def container(name: str, target: str, image: str) -> dict[str, Any]:
    """It sees the processes of the target container, and may trace them.

    As root, also if the pod has runAsUser: Linux gives the capability to no other user.
    """
    return {
        "name": name,
        "image": image,
        "command": ["sh", "-c", container_stacks.SCRIPT],
        "targetContainerName": target,
        "securityContext": {"runAsUser": 0, "runAsNonRoot": False, "capabilities": {"add": ["SYS_PTRACE"]}},
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }


async def read(client: RemoteClient, position: pod_logs.ContainerReference, image: str) -> list[stacks.ProcessStacks]:
    name = f"stacks-{secrets.token_hex(3)}"
    body = msgspec.json.encode({"spec": {"ephemeralContainers": [container(name, position.container, image)]}})
    try:
        await client.patch(
            resources.PODS, position.namespace, position.pod, body, subresource="ephemeralcontainers", type="strategic"
        )
    except errors.Forbidden as error:
        raise errors.SettingsError(
            f'you may not add an ephemeral container: the right "patch pods/ephemeralcontainers" in namespace '
            f"{position.namespace!r} is missing, or a policy forbids SYS_PTRACE ({error.message})"
        ) from None
    code, message = await _wait(client, position, name)
    log = await _log(client, position._replace(container=name))
    if code == container_stacks.NO_PY_SPY:
        raise errors.SettingsError(f"image {image} has no py-spy. Use an image that has it.")
    if code:
        raise errors.SettingsError(f"the ephemeral container failed with exit code {code}: {' '.join((log or message).split())}")
    if not (found := container_stacks.parse(log)):
        raise errors.SettingsError(
            f"the ephemeral container sees no Python process of container {position.container}. If the container has one, the "
            "node does not support targetContainerName: set shareProcessNamespace in the template of the pods."
        )
    return found


async def _wait(client: RemoteClient, position: pod_logs.ContainerReference, name: str) -> tuple[int, str]:
    """Exit code and message of the ephemeral container."""
    reason = "it has not started"
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while True:
                pod = msgspec.json.decode(await client.get(resources.PODS, position.namespace, position.pod))
                state = _state(pod, name)
                if ended := state.get("terminated"):
                    return int(ended.get("exitCode", 1)), str(ended.get("message", ""))
                if waiting := state.get("waiting"):
                    reason = f"{waiting.get('reason', '')}: {waiting.get('message', '')}".strip(": ")
                await asyncio.sleep(POLL_SECONDS)
    except TimeoutError:
        raise errors.SettingsError(f"the ephemeral container did not end within {TIMEOUT_SECONDS:.0f} s: {reason}") from None


def _state(pod: dict[str, Any], name: str) -> dict[str, Any]:
    statuses = (pod.get("status") or {}).get("ephemeralContainerStatuses") or ()
    return next((each.get("state") or {} for each in statuses if each["name"] == name), {})


async def _log(client: RemoteClient, position: pod_logs.ContainerReference) -> str:
    lines = [line async for batch in pod_logs.lines(client, position, pod_logs.PodLogOptions()) for line in batch]
    return "\n".join(line.text.decode(errors="replace") for line in lines)
