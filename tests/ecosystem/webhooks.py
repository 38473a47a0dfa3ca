"""Webhooks of other projects' controllers that run as processes beside the API server."""

from __future__ import annotations

import base64
import pathlib
from collections.abc import Collection
from typing import Any

import yaml
from tests.cluster import installed_operators, operators
from tools.kube import certificates, cluster


class WebhookServer:
    """The address and the certificate of a controller's webhook server."""

    def __init__(self, directory: pathlib.Path) -> None:
        self.directory, self.port = directory, operators.free_port()
        self._authority = certificates.Authority(directory)
        certificate, key = self._authority.server("tls")
        assert (certificate.name, key.name) == ("tls.crt", "tls.key"), "the names that controller-runtime looks for"

    def register(self, kube: cluster.Cluster, manifests: pathlib.Path, groups: Collection[str]) -> None:
        """Creates the project's own webhook configurations for these API groups, with the address of the process in place of
        that of a Service."""
        bundle = base64.b64encode(self._authority.path.read_bytes()).decode()
        documents: list[dict[str, Any]] = list(yaml.safe_load_all(manifests.read_text()))
        for document in documents:
            document["webhooks"] = [each for each in document["webhooks"] if set(each["rules"][0]["apiGroups"]) <= set(groups)]
            for webhook in document["webhooks"]:
                path = webhook["clientConfig"]["service"]["path"]
                webhook["clientConfig"] = {"url": f"https://127.0.0.1:{self.port}{path}", "caBundle": bundle}
        installed_operators.apply(kube, *documents)
