"""Random objects of several kinds, from small sets of values, so that writers change the same fields."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

Object = dict[str, Any]


def some(rng: random.Random, pool: list[Any], least: int = 0) -> list[Any]:
    """A random subset, in random order."""
    return rng.sample(pool, rng.randint(least, len(pool)))


def maybe(rng: random.Random, holder: Object, key: str, value: Any, chance: float = 0.5) -> None:
    if rng.random() < chance:
        holder[key] = value


def labels(rng: random.Random) -> dict[str, str]:
    return {key: rng.choice("xyz") for key in some(rng, ["a", "b", "example.com/c"])}


def metadata(rng: random.Random) -> Object:
    result: Object = {}
    maybe(rng, result, "labels", labels(rng))
    maybe(rng, result, "annotations", labels(rng), 0.4)
    owners = [{"apiVersion": "v1", "kind": "ConfigMap", "name": f"o{each}", "uid": f"uid-{each}"} for each in "12"]
    maybe(rng, result, "ownerReferences", some(rng, owners), 0.2)
    return result


def config_map(rng: random.Random) -> Object:
    manifest: Object = {"metadata": metadata(rng)}
    maybe(rng, manifest, "data", {key: rng.choice("xyz") for key in some(rng, ["a", "b", "c", "d.e"])}, 0.8)
    maybe(rng, manifest, "binaryData", dict.fromkeys(some(rng, ["p", "q"]), "eA=="), 0.2)
    return manifest


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
    result: Object = {"name": name, "image": rng.choice(["i:1", "i:2"])}
    maybe(rng, result, "args", some(rng, ["-x", "-y"]), 0.4)
    env: list[Object] = [{"name": "A", "value": rng.choice("xy")}, {"name": "B", "value": "z"}]
    env.append({"name": "C", "valueFrom": {"configMapKeyRef": {"name": "m", "key": rng.choice("kl")}}})
    maybe(rng, result, "env", some(rng, env))
    ports = [
        {"containerPort": 80},
        {"containerPort": 80, "protocol": "UDP"},
        {"containerPort": rng.choice([81, 82]), "name": "n"},
    ]
    maybe(rng, result, "ports", some(rng, ports), 0.4)
    resources: Object = {}
    maybe(rng, resources, "limits", {key: rng.choice(["1", "2"]) for key in some(rng, ["cpu", "memory"])})
    maybe(rng, result, "resources", resources, 0.4)
    mounts = [{"name": "v", "mountPath": "/a"}, {"name": "w", "mountPath": "/b", "readOnly": rng.choice([True, False])}]
    maybe(rng, result, "volumeMounts", some(rng, mounts), 0.3)
    context: Object = {}
    maybe(rng, context, "runAsUser", rng.choice([1, 2]))
    maybe(rng, context, "capabilities", {"add": some(rng, ["A", "B"])}, 0.3)
    maybe(rng, result, "securityContext", context, 0.3)
    return result


def pod_spec(rng: random.Random) -> Object:
    spec: Object = {"containers": [container(rng, name) for name in some(rng, ["c1", "c2", "c3"], 1)]}
    maybe(rng, spec, "nodeSelector", labels(rng), 0.3)
    tolerations = [{"key": "k", "operator": "Exists"}, {"key": "l", "operator": "Equal", "value": rng.choice("xy")}]
    maybe(rng, spec, "tolerations", some(rng, tolerations), 0.3)
    volumes: list[Object] = [{"name": "v", "emptyDir": {}}, {"name": "w", "configMap": {"name": rng.choice("mn")}}]
    spec["volumes"] = volumes
    maybe(rng, spec, "imagePullSecrets", [{"name": each} for each in some(rng, ["s", "t"])], 0.3)
    maybe(rng, spec, "hostAliases", [{"ip": "1.1.1.1", "hostnames": some(rng, ["h", "i"], 1)}], 0.2)
    context: Object = {}
    maybe(rng, context, "runAsUser", rng.choice([1, 2]))
    maybe(rng, context, "fsGroup", 3)
    maybe(rng, spec, "securityContext", context, 0.3)
    maybe(rng, spec, "terminationGracePeriodSeconds", rng.choice([5, 30]), 0.3)
    return spec


def template(rng: random.Random) -> Object:
    return {"metadata": {"labels": {"app": "x"} | labels(rng)}, "spec": pod_spec(rng)}


def replica_set(rng: random.Random) -> Object:
    return {"metadata": metadata(rng), "spec": {"selector": {"matchLabels": {"app": "x"}}, "template": template(rng)}}


def pod(rng: random.Random) -> Object:
    """Most fields of a pod are immutable."""
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
        replica_spec: Object = {"template": {"spec": spec}}
        maybe(rng, replica_spec, "replicas", rng.choice([1, 2]))
        maybe(rng, replica_spec, "restartPolicy", rng.choice(["Never", "OnFailure"]), 0.4)
        return replica_spec

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


GENERATORS: dict[str, Callable[[random.Random], Object]] = {
    "ConfigMap": config_map,
    "Service": service,
    "ReplicaSet": replica_set,
    "Pod": pod,
    "Deployment": deployment,
    "PyTorchJob": pytorch_job,
}
