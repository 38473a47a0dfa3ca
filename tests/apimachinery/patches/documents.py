"""Random objects of several kinds, each within a small world of values, so that writers meet in the same fields."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

Object = dict[str, Any]


def some(rng: random.Random, pool: list[Any], least: int = 0) -> list[Any]:
    """Some of them, in any order."""
    return rng.sample(pool, rng.randint(least, len(pool)))


def maybe(rng: random.Random, holder: Object, key: str, value: Any, chance: float = 0.5) -> None:
    if rng.random() < chance:
        holder[key] = value


def labels(rng: random.Random) -> dict[str, str]:
    return {key: rng.choice("xyz") for key in some(rng, ["a", "b", "example.com/c"])}


def metadata(rng: random.Random) -> Object:
    found: Object = {}
    maybe(rng, found, "labels", labels(rng))
    maybe(rng, found, "annotations", labels(rng), 0.4)
    owners = [{"apiVersion": "v1", "kind": "ConfigMap", "name": f"o{each}", "uid": f"uid-{each}"} for each in "12"]
    maybe(rng, found, "ownerReferences", some(rng, owners), 0.2)
    return found


def config_map(rng: random.Random) -> Object:
    found: Object = {"metadata": metadata(rng)}
    maybe(rng, found, "data", {key: rng.choice("xyz") for key in some(rng, ["a", "b", "c", "d.e"])}, 0.8)
    maybe(rng, found, "binaryData", dict.fromkeys(some(rng, ["p", "q"]), "eA=="), 0.2)
    return found


def service(rng: random.Random) -> Object:
    ports = [
        {"name": "a", "port": 80, "targetPort": rng.choice([80, "web"])},
        {"name": "b", "port": 80, "protocol": "UDP"},
        {"name": "c", "port": rng.choice([443, 444])},
        {"name": "d", "port": 90, "protocol": "TCP"},
    ]
    spec: Object = {"ports": some(rng, ports, 1)}
    maybe(rng, spec, "selector", labels(rng))
    maybe(rng, spec, "sessionAffinity", rng.choice(["None", "ClientIP"]), 0.3)
    maybe(rng, spec, "publishNotReadyAddresses", rng.choice([True, False]), 0.3)
    return {"metadata": metadata(rng), "spec": spec}


def container(rng: random.Random, name: str) -> Object:
    found: Object = {"name": name, "image": rng.choice(["i:1", "i:2"])}
    maybe(rng, found, "args", some(rng, ["-x", "-y"]), 0.4)
    env: list[Object] = [{"name": "A", "value": rng.choice("xy")}, {"name": "B", "value": "z"}]
    env.append({"name": "C", "valueFrom": {"configMapKeyRef": {"name": "m", "key": rng.choice("kl")}}})
    maybe(rng, found, "env", some(rng, env))
    ports = [
        {"containerPort": 80},
        {"containerPort": 80, "protocol": "UDP"},
        {"containerPort": rng.choice([81, 82]), "name": "n"},
    ]
    maybe(rng, found, "ports", some(rng, ports), 0.4)
    resources: Object = {}
    maybe(rng, resources, "limits", {key: rng.choice(["1", "2"]) for key in some(rng, ["cpu", "memory"])})
    maybe(rng, found, "resources", resources, 0.4)
    mounts = [{"name": "v", "mountPath": "/a"}, {"name": "w", "mountPath": "/b", "readOnly": rng.choice([True, False])}]
    maybe(rng, found, "volumeMounts", some(rng, mounts), 0.3)
    context: Object = {}
    maybe(rng, context, "runAsUser", rng.choice([1, 2]))
    maybe(rng, context, "capabilities", {"add": some(rng, ["A", "B"])}, 0.3)
    maybe(rng, found, "securityContext", context, 0.3)
    return found


def pod_spec(rng: random.Random) -> Object:
    found: Object = {"containers": [container(rng, name) for name in some(rng, ["c1", "c2", "c3"], 1)]}
    maybe(rng, found, "nodeSelector", labels(rng), 0.3)
    tolerations = [{"key": "k", "operator": "Exists"}, {"key": "l", "operator": "Equal", "value": rng.choice("xy")}]
    maybe(rng, found, "tolerations", some(rng, tolerations), 0.3)
    volumes: list[Object] = [{"name": "v", "emptyDir": {}}, {"name": "w", "configMap": {"name": rng.choice("mn")}}]
    found["volumes"] = volumes
    maybe(rng, found, "imagePullSecrets", [{"name": each} for each in some(rng, ["s", "t"])], 0.3)
    maybe(rng, found, "hostAliases", [{"ip": "1.1.1.1", "hostnames": some(rng, ["h", "i"], 1)}], 0.2)
    context: Object = {}
    maybe(rng, context, "runAsUser", rng.choice([1, 2]))
    maybe(rng, context, "fsGroup", 3)
    maybe(rng, found, "securityContext", context, 0.3)
    maybe(rng, found, "terminationGracePeriodSeconds", rng.choice([5, 30]), 0.3)
    return found


def template(rng: random.Random) -> Object:
    return {"metadata": {"labels": {"app": "x"} | labels(rng)}, "spec": pod_spec(rng)}


def replica_set(rng: random.Random) -> Object:
    return {"metadata": metadata(rng), "spec": {"selector": {"matchLabels": {"app": "x"}}, "template": template(rng)}}


def pod(rng: random.Random) -> Object:
    """Little of a pod may be changed."""
    image = rng.choice(["i:1", "i:2"])
    spec: Object = {"containers": [{"name": "c1", "image": image}], "terminationGracePeriodSeconds": 5}
    maybe(rng, spec, "activeDeadlineSeconds", rng.choice([50, 40]), 0.3)
    return {"metadata": metadata(rng), "spec": spec}


def deployment(rng: random.Random) -> Object:
    spec: Object = {"selector": {"matchLabels": {"app": "x"}}, "template": template(rng)}
    maybe(rng, spec, "replicas", rng.choice([0, 1, 2]))
    maybe(rng, spec, "paused", rng.choice([True, False]), 0.3)
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": rng.choice([1, "50%"])}}
    strategy: Object = rng.choice([{"type": "Recreate"}, rolling])
    maybe(rng, spec, "strategy", strategy, 0.4)
    return {"metadata": metadata(rng), "spec": spec}


def pytorch_job(rng: random.Random) -> Object:
    def replicas() -> Object:
        spec = pod_spec(rng)
        for each in spec["containers"]:
            each["name"] = "pytorch"
        spec["containers"] = spec["containers"][:1]
        maybe(rng, spec, "futureField", {"x": rng.choice([1, True, "a"]), "list": [1, {"y": 2}]}, 0.3)
        found: Object = {"template": {"spec": spec}}
        maybe(rng, found, "replicas", rng.choice([1, 2]))
        maybe(rng, found, "restartPolicy", rng.choice(["Never", "OnFailure"]), 0.4)
        return found

    roles = {role: replicas() for role in some(rng, ["Worker", "Master"], 1)}
    if "Master" in roles and "replicas" in roles["Master"]:
        roles["Master"]["replicas"] = 1
    spec: Object = {"pytorchReplicaSpecs": roles}
    policy: Object = {}
    maybe(rng, policy, "suspend", rng.choice([True, False]))
    maybe(rng, policy, "backoffLimit", rng.choice([1, 2]))
    maybe(rng, policy, "schedulingPolicy", {"minAvailable": rng.choice([1, 2])}, 0.3)
    maybe(rng, spec, "runPolicy", policy)
    return {"metadata": metadata(rng), "spec": spec}


MAKERS: dict[str, Callable[[random.Random], Object]] = {
    "ConfigMap": config_map,
    "Service": service,
    "ReplicaSet": replica_set,
    "Pod": pod,
    "Deployment": deployment,
    "PyTorchJob": pytorch_job,
}
