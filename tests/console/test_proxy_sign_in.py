"""Users whom an authenticating proxy has signed in: the console impersonates them with rights of its own."""

from __future__ import annotations

import contextlib
import ipaddress
import pathlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
import yaml
from tests.cluster.api import Api
from tests.console import users
from tests.console.console_fixture import Machine, job
from tests.console.users import RBAC, Visitor, rbac

from traincrew.console.trusted_proxies import SECRET_HEADER, TrustedProxy

SECRET = "correct horse battery"  # noqa: S105 - of this test
HERE = (ipaddress.ip_network("127.0.0.0/8"),)
LISTED = TrustedProxy("X-Forwarded-User", "X-Forwarded-Groups", frozenset({"ml"}), HERE)


@pytest.fixture(scope="module")
def service_account(machine: Machine, tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A kubeconfig of the console, which may impersonate users and the group `ml` and has no other right."""
    api, name = Api(machine.kubeconfig), "traincrew-console"
    secret = users.token_of(machine.kubeconfig, name)
    rules = [
        {"apiGroups": [""], "resources": ["users"], "verbs": ["impersonate"]},
        {"apiGroups": [""], "resources": ["groups"], "resourceNames": ["ml"], "verbs": ["impersonate"]},
    ]
    api.call("POST", f"{RBAC}/clusterroles", rbac("ClusterRole", name, rules=rules))
    subjects = [{"kind": "ServiceAccount", "name": name, "namespace": "default"}]
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
    api.call("POST", f"{RBAC}/clusterrolebindings", rbac("ClusterRoleBinding", name, subjects=subjects, roleRef=reference))
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "ml"}
    view = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"}
    body = rbac("RoleBinding", "ml", subjects=[subject], roleRef=view)
    api.call("POST", f"{RBAC}/namespaces/default/rolebindings", body)
    path = tmp_path_factory.mktemp("proxy") / "kubeconfig"
    path.write_text(yaml.safe_dump(users.kubeconfig_with(machine.kubeconfig, token=secret)))
    return path


@contextlib.asynccontextmanager
async def proxied(config: pathlib.Path, directory: pathlib.Path, proxy: TrustedProxy = LISTED) -> AsyncIterator[Visitor]:
    async with users.console(config, directory / "page", proxy=proxy) as (origin, _), users.visitor(origin) as found:
        yield found


def named(user: str, groups: str = "ml") -> dict[str, str]:
    return {"X-Forwarded-User": user, "X-Forwarded-Groups": groups}


async def call(visitor: Visitor, headers: dict[str, str], method: str, path: str, body: Any = None) -> tuple[int, Any]:
    return await visitor.call(method, path, body, **{name.replace("-", "_"): value for name, value in headers.items()})


async def test_the_user_of_the_proxy_acts_with_the_rights_of_user_and_groups(
    service_account: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    async with proxied(service_account, tmp_path) as ana:
        assert await ana.get("sign-in") == {"methods": ["proxy"]}
        status, found = await ana.post_session(named("ana@example.com", "ml,system:masters"))
        assert (status, found["user"], found["groups"], found["method"]) == (200, "ana@example.com", ["ml"], "proxy")
        headers = named("ana@example.com")
        status, created = await call(ana, headers, "POST", "jobs", yaml.safe_dump(job("proxied", "true")))
        assert status == 200, created
        assert (await call(ana, headers, "DELETE", "jobs/default/jaxjob/proxied"))[0] == 200
        status, error = await call(ana, headers, "GET", "nodes")
        assert (status, error["missingRight"]["user"], error["missingRight"]["resource"]) == (403, "ana@example.com", "nodes")


async def test_the_session_of_one_user_is_not_that_of_the_next_at_the_same_browser(
    service_account: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    async with proxied(service_account, tmp_path) as browser:
        assert (await browser.post_session(named("ana")))[0] == 200
        assert (await call(browser, named("ana"), "GET", "jobs"))[0] == 200
        for headers in (named("eve"), named("ana", ""), {}):
            status, error = await call(browser, headers, "GET", "jobs")
            assert (status, error["reason"]) == (401, "SignInRequired")
        assert (
            "the session is that of ana, and the proxy names eve"
            in (await call(browser, named("eve"), "GET", "jobs"))[1]["message"]
        )


async def test_the_header_does_not_count_from_an_address_that_is_not_the_proxy(
    service_account: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    elsewhere = TrustedProxy("X-Forwarded-User", addresses=(ipaddress.ip_network("10.0.3.7/32"),))
    async with proxied(service_account, tmp_path, elsewhere) as eve:
        status, error = await eve.post_session({**named("ana"), "X-Forwarded-For": "10.0.3.7"})
        assert (status, error["reason"]) == (401, "SignInRequired")
        assert "comes from 127.0.0.1, which is not the proxy" in error["message"]
        assert "through its proxy" in error["nextStep"]


async def test_the_header_does_not_count_without_the_secret_of_the_proxy(
    service_account: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    async with proxied(service_account, tmp_path, TrustedProxy("X-Forwarded-User", secret=SECRET)) as browser:
        for headers in (named("ana"), {**named("ana"), SECRET_HEADER: "guess"}):
            assert (await browser.post_session(headers))[0] == 401
        right = {**named("ana"), SECRET_HEADER: SECRET}
        assert (await browser.post_session(right))[0] == 200
        assert (await call(browser, right, "GET", "jobs"))[0] == 200
        assert (await call(browser, named("ana"), "GET", "jobs"))[0] == 401


async def test_a_user_of_kubernetes_itself_is_not_impersonated(service_account: pathlib.Path, tmp_path: pathlib.Path) -> None:
    async with proxied(service_account, tmp_path) as eve:
        status, error = await eve.post_session(named("system:admin"))
        assert (status, "which the console does not impersonate" in error["message"]) == (401, True)


async def test_credentials_are_not_taken_in_this_mode(service_account: pathlib.Path, tmp_path: pathlib.Path) -> None:
    async with proxied(service_account, tmp_path) as eve:
        status, error = await eve.post_session(named("ana"), token=SECRET)
        assert (status, "takes no credentials" in error["message"]) == (422, True)


async def test_without_the_right_to_impersonate_the_sign_in_names_it(machine: Machine, tmp_path: pathlib.Path) -> None:
    secret = users.token_of(machine.kubeconfig, "no-impersonation")
    config = tmp_path / "kubeconfig"
    config.write_text(yaml.safe_dump(users.kubeconfig_with(machine.kubeconfig, token=secret)))
    async with proxied(config, tmp_path) as ana:
        status, error = await ana.post_session(named("ana"))
        assert (status, error["missingRight"]["verb"], error["missingRight"]["resource"]) == (403, "impersonate", "users")
