"""Asks a Prometheus what the pods of a job use: network and GPUs, which the API server does not know.

Prometheus knows no users: the console asks the API server first whether the user may list the pods of the namespace.
"""

from __future__ import annotations

import time
import urllib.parse

import aiohttp

from traincrew import errors
from traincrew.client.remote import RemoteClient
from traincrew.console import access
from traincrew.console.job_reader import JobAddress
from traincrew.console.view import prometheus_queries
from traincrew.console.view.prometheus_queries import PodSample, QueryFailed
from traincrew.inspection import log_files
from traincrew.model import resources

TIMEOUT_SECONDS = 4.0
MAX_ANSWER = 16 * 1024 * 1024
"""Bytes. A pod has about a kilobyte."""
ALLOWED_SECONDS = 60.0


class PrometheusReader:
    def __init__(self, client: RemoteClient, url: str) -> None:
        """url: empty: there is none."""
        self._client, self._url = client, url
        self._allowed: dict[str, float] = {}
        """When the user was allowed to list the pods of a namespace."""

    async def read(self, job: JobAddress) -> dict[str, PodSample]:
        """By name of the pod. Raise QueryFailed, with what to say to the user, or ApiError."""
        if not self._url or not await self._may_read(job.namespace):
            return {}
        found = prometheus_queries.samples(await self._answer(prometheus_queries.expression(job.namespace, job.name)))
        return {pod: each for pod, each in found.items() if log_files.is_replica(pod, job.kind, job.name)}

    async def _may_read(self, namespace: str) -> bool:
        now = time.monotonic()
        if now - self._allowed.get(namespace, float("-inf")) < ALLOWED_SECONDS:
            return True
        allowed = await access.review(self._client, "list", resources.PODS, namespace)
        if allowed:
            self._allowed[namespace] = now
        return allowed

    async def _answer(self, query: str) -> bytes:
        url = f"{self._url.rstrip('/')}/api/v1/query"
        timeout = aiohttp.ClientTimeout(total=TIMEOUT_SECONDS)
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout) as http,
                http.post(url, data={"query": query}, allow_redirects=False) as response,
            ):
                answer = await response.content.read(MAX_ANSWER)
                if response.status >= 300 and not answer.startswith(b"{"):
                    raise QueryFailed(f"it answers with the status {response.status}")
                while chunk := await response.content.read(MAX_ANSWER - len(answer)):
                    answer += chunk
                return answer
        except (aiohttp.ClientError, TimeoutError) as error:
            raise QueryFailed(str(error) or "it does not respond") from None


def checked(url: str) -> str:
    """The address of a Prometheus as the user wrote it. Raise SettingsError."""
    parts = urllib.parse.urlsplit(url)
    if url and (parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment):
        raise errors.SettingsError("--prometheus needs an address such as http://prometheus.monitoring:9090")
    return url
