"""RBAC decisions, errors and lists, compared with the real API server."""

from __future__ import annotations

import asyncio
import json
import random
import urllib.parse
from collections.abc import AsyncIterator, Iterator

import pytest
from tests.cluster.api import Api, Object, eventually
from tests.cluster.rbac_client import (
    RBAC,
    REVIEWS,
    Caller,
    calling,
    collection,
    impersonated,
    reasonless,
    reasons,
    review,
    sentinels,
    subject_review,
)
from tests.embedded.apiserver.auth import rbac_generator
from tests.embedded.apiserver.auth.rbac_generator import RbacGenerator

from traincrew.apimachinery import api_errors
from traincrew.embedded.apiserver.authn.users import User
from traincrew.embedded.apiserver.authz import access_reviews, attributes, bootstrap_policy, escalation
from traincrew.embedded.apiserver.authz.attributes import Attributes
from traincrew.embedded.apiserver.authz.rbac import KINDS, RBACPolicy

OBJECTS, QUESTIONS, ESCALATIONS, SEED = 60, 800, 150, 7


@pytest.fixture
async def caller(api: Api) -> AsyncIterator[Caller]:
    async with calling(api) as found:
        yield found


@pytest.fixture
def world(api: Api, namespace: str) -> Iterator[RbacGenerator]:
    """Generated roles and bindings, on the API server and at work there."""
    found = RbacGenerator(namespace, SEED)
    made = found.objects(OBJECTS) + sentinels(namespace)
    for each in made:
        api.call("POST", collection(each), each)
    eventually(
        lambda: api.call("POST", f"{REVIEWS}/subjectaccessreviews", review(f"{namespace}-guard", namespace))["status"]["allowed"]
    )
    eventually(lambda: api.call("POST", f"{REVIEWS}/subjectaccessreviews", review(f"{namespace}-guard", ""))["status"]["allowed"])
    yield found
    for each in made:
        if "namespace" not in each["metadata"]:
            api.call("DELETE", f"{collection(each)}/{each['metadata']['name']}")


@pytest.fixture
def policy(api: Api, world: RbacGenerator) -> RBACPolicy:
    """All that the API server holds, as it holds it."""
    found = RBACPolicy()
    for kind in KINDS:
        for each in api.call("GET", f"{RBAC}/{kind.lower()}s")["items"]:
            found.put(each | {"kind": kind})
    return found


async def test_several_hundred_questions_get_the_same_decision(caller: Caller, world: RbacGenerator, policy: RBACPolicy) -> None:
    async def disagreement(user: User, asked: Attributes) -> str:
        posted = subject_review(user, asked)
        _, answer = await caller.call("POST", f"{REVIEWS}/subjectaccessreviews", posted)
        ours, theirs = access_reviews.subject_access(posted, policy)["status"], answer["status"]
        decisions.append(theirs["allowed"])
        same = ours["allowed"] == theirs["allowed"] and (ours["allowed"] or reasons(ours) == reasons(theirs))
        return "" if same else f"{posted['spec']}: ours {ours}, theirs {theirs}"

    decisions: list[bool] = []
    found = await asyncio.gather(*(disagreement(*each) for each in world.requests(QUESTIONS)))
    assert [each for each in found if each] == []
    assert min(decisions.count(True), decisions.count(False)) > QUESTIONS / 5, "the questions are too easy to show anything"


REQUESTS = (
    ("GET", "/api/v1/pods"), ("GET", "/api/v1/namespaces/NS/pods"), ("GET", "/api/v1/namespaces/NS/pods/a"),
    ("GET", "/api/v1/namespaces/NS/pods?watch=1&timeoutSeconds=1"), ("GET", "/api/v1/namespaces"),
    ("GET", "/api/v1/watch/namespaces/NS/pods?timeoutSeconds=1"),
    ("GET", "/api/v1/namespaces/NS/pods?fieldSelector=metadata.name%3Da,status.phase%3DRunning"),
    ("GET", "/api/v1/namespaces/NS"), ("HEAD", "/api/v1/nodes"),
    ("PUT", "/api/v1/namespaces/NS/status"), ("PUT", "/api/v1/namespaces/NS/finalize"), ("DELETE", "/api/v1/namespaces/NS/pods"),
    ("DELETE", "/api/v1/namespaces/NS/pods/a"), ("POST", "/api/v1/namespaces/NS/pods/a/exec?command=x"),
    ("POST", "/api/v1/namespaces/NS/pods"), ("PATCH", "/apis/batch/v1/namespaces/NS/jobs/a/status"), ("GET", "/metrics"),
    ("GET", "/apis/batch/v1/namespaces/NS/jobs/b"), ("GET", "/logs/x"), ("GET", "/api/v1/namespaces/NS/pods/a/log?follow=true"),
    ("POST", "/apis/kubeflow.org/v1/namespaces/NS/mpijobs"), ("GET", "/apis/nobody.example.com/v1/things/a/b/c"),
    ("GET", "/api/v1/namespaces/NS/pods/%3Cscript%3E"), ("OPTIONS", "/api/v1/pods"), ("DELETE", "/metrics"), ("GET", "/nowhere/"),
)  # fmt: skip


async def test_rejections_have_the_same_message(caller: Caller, world: RbacGenerator, policy: RBACPolicy) -> None:
    chance, refused, found = random.Random(SEED), 0, []
    for verb, template in REQUESTS:
        for _ in range(6):
            user, target = world.user(chance), template.replace("NS", world.prefix)
            code, answer = await caller.call(verb, target, {} if verb in ("POST", "PUT", "PATCH") else None, user)
            acting = impersonated(user)
            asked = of_target(verb, target)
            allowed, reason = policy.allowed(acting, asked)
            if allowed != (code != 403):
                found.append(f"{verb} {target} as {user.name} {user.groups}: ours {allowed}, theirs {code} {answer}")
            elif not allowed and verb != "HEAD":
                refused += 1
                ours = attributes.forbidden(acting, asked, reason).status()
                same = reasonless(ours) == reasonless(answer)
                found += [] if same else [f"{verb} {target}: ours {ours}, theirs {answer}"]
    assert found == []
    assert refused > len(REQUESTS) * 2


def of_target(verb: str, target: str) -> Attributes:
    path, _, query = target.partition("?")
    asked = dict(urllib.parse.parse_qsl(query))
    return attributes.of_request(verb, urllib.parse.unquote(path), "watch" in asked, asked.get("fieldSelector", ""))


async def test_rules_reviews_list_the_same(caller: Caller, world: RbacGenerator, policy: RBACPolicy) -> None:
    chance = random.Random(SEED)
    for _ in range(20):
        user = world.user(chance)
        for namespace in (world.prefix, "default"):
            posted = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview", "spec": {"namespace": namespace}}
            acting = impersonated(user)
            code, theirs = await caller.call("POST", f"{REVIEWS}/selfsubjectrulesreviews", posted, user)
            if code == 403:
                continue
            assert sorted_rules(access_reviews.self_subject_rules(posted, acting, policy)) == sorted_rules(theirs)


def sorted_rules(document: Object) -> Object:
    status = document["status"]
    for name in ("resourceRules", "nonResourceRules"):
        status[name] = sorted(json.dumps(each, sort_keys=True) for each in status[name])
    if "evaluationError" in status:
        status["evaluationError"] = sorted(status["evaluationError"].strip("[]").split(", "))
    return document


async def test_privilege_escalation_is_rejected_on_both(
    caller: Caller, world: RbacGenerator, policy: RBACPolicy, api: Api
) -> None:
    """Roles and bindings written, without effect, by people who may write them but hold only some rights."""
    writer = f"{world.prefix}-writer"
    for each in rights_to_write(world.prefix, writer):
        api.call("POST", collection(each), each)
        policy.put(each)
    question = {
        "user": writer,
        "resourceAttributes": {"verb": "update", "group": rbac_generator.RBAC, "resource": "clusterroles"},
    }
    asked = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": question}
    eventually(lambda: api.call("POST", f"{REVIEWS}/subjectaccessreviews", asked)["status"]["allowed"])
    try:
        outcomes = await asyncio.gather(*(escalated(caller, world, policy, seed) for seed in range(ESCALATIONS)))
    finally:
        api.call("DELETE", f"{RBAC}/clusterroles/{writer}")
        api.call("DELETE", f"{RBAC}/clusterrolebindings/{writer}")
    assert [difference for difference, _ in outcomes if difference] == []
    assert {code for _, code in outcomes} >= {201, 403, 404}


def rights_to_write(prefix: str, writer: str) -> list[Object]:
    kinds = ["roles", "clusterroles", "rolebindings", "clusterrolebindings"]
    rules = [
        {"verbs": ["create", "update"], "apiGroups": [rbac_generator.RBAC], "resources": kinds},
        {"verbs": ["bind"], "apiGroups": [rbac_generator.RBAC], "resources": ["clusterroles"], "resourceNames": [f"{prefix}-0"]},
        {"verbs": ["get", "list", "create"], "apiGroups": ["", "batch"], "resources": ["pods", "*/status", "*/log"]},
        {"verbs": ["*"], "apiGroups": ["kubeflow.org"], "resources": ["*"], "resourceNames": ["a"]},
        {"verbs": ["*"], "nonResourceURLs": ["/metrics*"]},
    ]
    role = {"apiVersion": f"{rbac_generator.RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": writer}, "rules": rules}
    subjects = [{"kind": "User", "name": writer, "apiGroup": rbac_generator.RBAC}]
    reference = {"kind": "ClusterRole", "name": writer, "apiGroup": rbac_generator.RBAC}
    return [role, {**role, "kind": "ClusterRoleBinding", "roleRef": reference, "subjects": subjects}]


async def escalated(caller: Caller, world: RbacGenerator, policy: RBACPolicy, seed: int) -> tuple[str, int]:
    user = User(f"{world.prefix}-writer", ("system:authenticated",))
    written = grant(world, random.Random(seed))
    path = collection(written)
    code, answer = await caller.call("POST", f"{path}?dryRun=All", written, user)
    try:
        escalation.check(policy, user, attributes.of_request("POST", path), written)
        ours: Object = {}
    except api_errors.StatusError as refused:
        ours = refused.status()
    same = code == 201 if not ours else reasonless(ours) == reasonless(answer)
    return "" if same else f"{written}:\nours {ours}\ntheirs {code} {answer}", code


def grant(world: RbacGenerator, chance: random.Random) -> Object:
    kind = chance.choice(KINDS)
    clustered = kind.startswith("Cluster")
    metadata = {"name": f"{world.prefix}-new"} | ({} if clustered else {"namespace": world.prefix})
    document: Object = {"apiVersion": f"{rbac_generator.RBAC}/v1", "kind": kind, "metadata": metadata}
    if kind.endswith("Binding"):
        index = chance.randrange(OBJECTS + 2)
        referred = "ClusterRole" if clustered or index % 2 == 0 else "Role"
        subjects = [{"kind": "User", "name": "eve", "apiGroup": rbac_generator.RBAC}]
        reference = {"kind": referred, "name": f"{world.prefix}-{index}", "apiGroup": rbac_generator.RBAC}
        return document | {"roleRef": reference, "subjects": subjects}
    document["rules"] = [light_rule(chance, clustered) for _ in range(chance.randint(1, 2))]
    if clustered and chance.random() < 0.1:
        document["aggregationRule"] = {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}
    return document


def light_rule(chance: random.Random, urls: bool) -> Object:
    """Often one that the writer holds."""
    if chance.random() < 0.4:
        return rbac_generator.rule(chance, urls)
    verbs = chance.sample(("get", "list", "create", "watch"), chance.randint(1, 2))
    resources = chance.sample(("pods", "jobs/status", "pods/log", "secrets"), chance.randint(1, 2))
    return {"verbs": verbs, "apiGroups": ["", "batch"][: chance.randint(1, 2)], "resources": resources}


def test_default_roles_and_bindings_are_the_real_ones(api: Api) -> None:
    """But for the rules of those that gather, which a controller fills in."""
    there = {}
    for kind in ("ClusterRole", "ClusterRoleBinding"):
        for each in api.call("GET", f"{RBAC}/{kind.lower()}s")["items"]:
            there[kind, each["metadata"]["name"]] = each
    for ours in bootstrap_policy.objects():
        theirs = there[ours["kind"], ours["metadata"]["name"]]
        kept = {key: theirs["metadata"][key] for key in ("name", "labels", "annotations")}
        assert ours["metadata"] == kept
        assert ours.get("roleRef") == theirs.get("roleRef")
        assert ours.get("subjects") == theirs.get("subjects")
        assert ours.get("aggregationRule") == theirs.get("aggregationRule")
        if "aggregationRule" not in ours:
            assert ours.get("rules") == theirs.get("rules")
