"""The image of the operator's own pod, which the init containers that the operator adds use as well."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Mapping

import msgspec

from traincrew import errors
from traincrew.client import interfaces
from traincrew.model.operator_pod import OperatorPod
from traincrew.model.resources import PODS

log = logging.getLogger(__name__)

CONTAINER = "traincrew"
POD_NAME, POD_NAMESPACE = "POD_NAME", "POD_NAMESPACE"
"""Variables that the Deployment sets by the downward API."""
RETRY_SECONDS = 2.0


async def find(client: interfaces.Reader, namespace: str, stop: asyncio.Event, env: Mapping[str, str] = os.environ) -> str:
    """The image of the container `traincrew`, else of the first one. Empty: not in a pod, or the pod cannot be read."""
    name = env.get(POD_NAME, "")
    if not name:
        log.info("POD_NAME is not set: init containers use public images. Set --init-image to use another one.")
        return ""
    while not stop.is_set():
        try:
            pod = msgspec.json.decode(await client.get(PODS, env.get(POD_NAMESPACE) or namespace, name), type=OperatorPod)
        except errors.TemporaryError as error:
            log.warning("cannot read the operator's pod yet", extra={"pod": name, "error": str(error)})
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), RETRY_SECONDS)
        except errors.ApiError as error:
            message = "cannot read the operator's pod: init containers use public images. Set --init-image to use another one."
            log.warning(message, extra={"pod": name, "error": str(error)})
            return ""
        else:
            own = next((each for each in pod.spec.containers if each.name == CONTAINER), pod.spec.containers[0])
            log.info("init containers use the operator's image", extra={"image": own.image})
            return own.image
    return ""
