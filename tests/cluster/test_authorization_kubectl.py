"""Unmodified kubectl authenticates, and its output for access reviews is compared with the real API server.

It is one that posts JSON: the gate behind which the reviews stand here reads nothing else.
"""

from __future__ import annotations

import asyncio
import pathlib
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator

import pytest
from tests.cluster.api import Api, Object, eventually
from tests.cluster.rbac_client import RBAC, REVIEWS, collection, review, sentinels
from tests.embedded.apiserver.auth.rbac_generator import RbacGenerator
from tests.embedded.apiserver.auth.rbac_objects import ObjectLookup, stored_object
from tests.embedded.apiserver.auth.review_server import ReviewServer, serve
from tools.kube import build, cluster

from traincrew.embedded import admin_kubeconfig
from traincrew.embedded.apiserver.authn.authentication import Authenticator
from traincrew.embedded.apiserver.authn.service_account_tokens import Tokens
from traincrew.embedded.apiserver.authz.rbac import KINDS, RBACPolicy

ADMIN_TOKEN = "the-admins"  # noqa: S105
Kubectl = Callable[..., Coroutine[None, None, tuple[int, str, str]]]


@pytest.fixture
def world(api: Api, namespace: str) -> Iterator[RbacGenerator]:
    """Without references to roles that are not there, which kubectl reports in any order."""
    found = RbacGenerator(namespace, 11)
    roles = found.objects(12)
    names = {(each["kind"], each["metadata"]["name"]) for each in roles}
    sound = [each for each in roles if "roleRef" not in each or (each["roleRef"]["kind"], each["roleRef"]["name"]) in names]
    made = sound + sentinels(namespace)
    for each in made:
        api.call("POST", collection(each), each)
    for place in (namespace, ""):
        felt(api, review(f"{namespace}-guard", place))
    yield found
    for each in made:
        if "namespace" not in each["metadata"]:
            api.call("DELETE", f"{collection(each)}/{each['metadata']['name']}")


def felt(api: Api, asked: Object) -> None:
    eventually(lambda: api.call("POST", f"{REVIEWS}/subjectaccessreviews", asked)["status"]["allowed"])


@pytest.fixture
async def ours(api: Api, world: RbacGenerator, tmp_path: pathlib.Path) -> AsyncIterator[Kubectl]:
    """kubectl on our own gate, which holds the same roles and bindings."""
    policy = RBACPolicy()
    for kind in KINDS:
        for each in api.call("GET", f"{RBAC}/{kind.lower()}s")["items"]:
            policy.put(each | {"kind": kind})
    tokens = Tokens(b"k" * 32, ObjectLookup(serviceaccounts=[stored_object("robot", world.prefix)]))
    async with serve(ReviewServer(Authenticator(ADMIN_TOKEN, tokens), tokens, policy), tmp_path / "pki") as (server, pki):
        config = tmp_path / "kubeconfig"
        admin_kubeconfig.write(config, server, pki.authority, ADMIN_TOKEN)
        yield kubectl_with(config)


def kubectl_with(config: pathlib.Path) -> Kubectl:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KUBE", "1.27")
        patch.delenv("KUBEBUILDER_ASSETS", raising=False)
        program = str(build.program("kubectl"))
    cache = config.with_name("kubectl-cache")

    async def run(*arguments: str) -> tuple[int, str, str]:
        command = [program, f"--kubeconfig={config}", f"--cache-dir={cache}", *arguments]
        process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
        out, err = await process.communicate()
        return process.returncode or 0, out.decode(), err.decode()

    return run


async def test_can_i_lists_the_same(kube: cluster.Cluster, ours: Kubectl, world: RbacGenerator) -> None:
    theirs = kubectl_with(kube.kubeconfig)
    for person in ("ann", "bob", f"system:serviceaccount:{world.prefix}:robot"):
        for group in ((), ("--as-group=red",), ("--as-group=blue", "--as-group=system:authenticated")):
            asked = ("auth", "can-i", "--list", f"--namespace={world.prefix}", f"--as={person}", *group)
            (code, mine, wrong), (their_code, real, _) = await asyncio.gather(ours(*asked), theirs(*asked))
            assert code == their_code == 0, wrong
            assert words(mine) == words(real)
            assert mine.count("\n") > 10


def words(table: str) -> list[list[str]]:
    """The real server goes through bindings in any order, and so through verbs that several of them grant."""
    return sorted(sorted(line.replace("[", " ").replace("]", " ").split()) for line in table.splitlines())


@pytest.mark.parametrize("path", ["/metrics", "/metrics/x", "/logs/a", "/version", "/apis"])
async def test_can_i_says_yes_and_no_the_same(kube: cluster.Cluster, ours: Kubectl, path: str) -> None:
    theirs = kubectl_with(kube.kubeconfig)
    for person in ("ann", "bob"):
        asked = ("auth", "can-i", "get", path, f"--as={person}")
        assert (await ours(*asked))[:2] == (await theirs(*asked))[:2]


async def test_a_service_account_authenticates_with_a_token_of_kubectl(ours: Kubectl, world: RbacGenerator) -> None:
    account = f"system:serviceaccount:{world.prefix}:robot"
    code, token, wrong = await ours("create", "token", "robot", f"--namespace={world.prefix}")
    assert code == 0, wrong
    listed = ("auth", "can-i", "--list", f"--namespace={world.prefix}")
    code, out, wrong = await ours(*listed, f"--token={token.strip()}")
    assert code == 0, wrong
    assert out == (await ours(*listed, f"--as={account}"))[1]
    assert out != (await ours(*listed))[1]


async def test_a_wrong_token_is_reported_in_kubectls_words(ours: Kubectl) -> None:
    code, _, wrong = await ours("auth", "can-i", "--list", "--token=wrong")
    assert code == 1
    assert "You must be logged in to the server (Unauthorized)" in wrong


async def test_who_lacks_a_right_is_reported(ours: Kubectl, world: RbacGenerator) -> None:
    code, _, wrong = await ours("create", "token", "robot", f"--namespace={world.prefix}", "--as=nobody")
    assert code == 1
    who = 'serviceaccounts "robot" is forbidden: User "nobody" cannot create resource "serviceaccounts/token"'
    assert f'{who} in API group "" in the namespace "{world.prefix}"' in wrong
