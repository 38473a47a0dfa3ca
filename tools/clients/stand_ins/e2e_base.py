"""In place of `e2e_test/base.py` of the official client, which its source distribution lacks: how to reach the cluster."""

from __future__ import annotations

import os
from typing import Any


def get_e2e_configuration() -> Any:
    from kubernetes import client, config

    found = client.Configuration()
    config.load_kube_config(os.environ["KUBECONFIG"], client_configuration=found)
    return found
